import { PackageOpen, Search } from "lucide-react";
import { useMemo } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { ToolInfo } from "../../../../src/contracts/tools.ts";
import { useApi } from "../../api.ts";
import { pathPart } from "../../hash-location.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { DecisionBadge, KindBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { useToolText } from "../../parts/tool-text.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Select } from "../../parts/select.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { ToolDetail } from "./tool-detail.tsx";
import "./tools.css";

const words = defineWords({
  title: ["Tools", "工具"],
  lead: (count: number) => [
    `${countOf(count, "tool")}. Every call goes through the same gate.`,
    `${count} 个工具。每次调用都经过同一道检查。`,
  ],
  own: ["tools of your own", "自己的工具"],
  search: ["Search tools", "搜索工具"],
  all: ["All groups", "全部分组"],
  none: ["No tool fits", "没有匹配的工具"],
  noneLead: ["Search for another word, or show all groups.", "换个词搜索，或显示全部分组。"],
  empty: ["No tools yet", "还没有工具"],
  emptyLead: [
    "Start Haft in a folder with `haft serve`, or add a plugin with your own tools.",
    "在文件夹中运行 `haft serve`，或用插件添加自己的工具。",
  ],
  unknown: (name: string) => [`There is no tool "${name}"`, `没有工具“${name}”`],
  back: ["All tools", "全部工具"],
});

export default function ToolsView() {
  const w = useWords(words);
  const [location] = useLocation();
  const chosen = pathPart(location, 2);
  const [filter, setFilter] = useSearchParams();
  const search = filter.get("search") ?? "";
  const group = filter.get("group") ?? "";
  const toolText = useToolText();
  const query = useApi("tools", "list", []);
  const { data } = query;
  const set = (name: string, value: string): void =>
    setFilter(
      (now) => {
        if (value === "") now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  const tools = useMemo(() => data?.items ?? [], [data]);
  const groups = useMemo(() => [...new Set(tools.flatMap((tool) => tool.groups))].sort(), [tools]);
  const shown = tools.filter(
    (tool) => fits(tool, toolText(tool), search) && (group === "" || tool.groups.includes(group)),
  );
  const tool = tools.find(({ name }) => name === chosen);
  const kept = filter.size > 0 ? `?${filter.toString()}` : "";
  if (!data) {
    return (
      <PageFrame title={w.title}>
        <Loaded query={query} lines={8}>
          {() => null}
        </Loaded>
      </PageFrame>
    );
  }
  return (
    <PageFrame title={w.title} lead={w.lead(tools.length)}>
      {tools.length === 0 ? (
        <Empty icon={PackageOpen} title={w.empty} lead={w.emptyLead} />
      ) : (
        <div className={chosen === "" ? "tools-all" : tool ? "split has-detail" : "split"}>
          <section className="panel list" aria-label={w.title}>
            <header>
              <SearchBox className="grow" label={w.search} value={search} onChange={(value) => set("search", value)} />
              <Select
                label={w.all}
                value={group}
                options={[["", w.all], ...groups.map((name) => [name, name.replace(/^group:/, "")] as const)]}
                onChoose={(name) => set("group", name)}
              />
            </header>
            <div className="tool-sections">
              {sectionsOf(shown).map(([name, some]) => (
                <section key={name}>
                  <h2 className="tool-group">{name === "" ? w.own : name}</h2>
                  <ul className="stack rows">
                    {some.map((one) => (
                      <li key={one.name}>
                        <Link href={`/tools/${encodeURIComponent(one.name)}${kept}`} aria-current={one.name === chosen}>
                          <span className="row">
                            <VisibleText as="strong" className="mono grow cut" text={one.name} />
                            <KindBadge kind={one.kind} />
                            {one.verdict && one.verdict.decision !== "allow" ? (
                              <DecisionBadge verdict={one.verdict} />
                            ) : null}
                          </span>
                          <VisibleText className="muted small two-lines" text={toolText(one).short} />
                        </Link>
                      </li>
                    ))}
                  </ul>
                </section>
              ))}
            </div>
            {shown.length === 0 ? <Empty icon={Search} title={w.none} lead={w.noneLead} /> : null}
          </section>
          {tool ? (
            <ToolDetail key={tool.name} tool={tool} back={`/tools${kept}`} />
          ) : chosen === "" ? null : (
            <Empty isPanel icon={Search} title={w.unknown(chosen)}>
              <Button text={w.back} href={`/tools${kept}`} />
            </Empty>
          )}
        </div>
      )}
    </PageFrame>
  );
}

/** By their most special group, each with its tools. */
function sectionsOf(tools: readonly ToolInfo[]): [group: string, tools: ToolInfo[]][] {
  const sections = new Map<string, ToolInfo[]>();
  for (const tool of tools) {
    const group = tool.groups.at(-1)?.replace(/^group:/, "") ?? "";
    sections.set(group, [...(sections.get(group) ?? []), tool]);
  }
  return [...sections];
}

function fits(
  { name, title, aliases, description, tags }: ToolInfo,
  text: { title: string; short: string },
  search: string,
): boolean {
  const all = [name, title, ...aliases, ...tags, description.short, text.title, text.short].join("\n").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

import { SlidersHorizontal, X } from "lucide-react";
import { useMemo, useState } from "react";
import { RiskLevel } from "../../../../src/contracts/basics.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { useRiskNames } from "../../parts/risk-badge.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { Select } from "../../parts/select.tsx";
import { PHONE, Sheet } from "../../parts/sheet.tsx";
import { useMedia } from "../../parts/use-media.ts";
import type { QueueItem, QueueView } from "./queue.ts";

const words = defineWords({
  search: ["Search", "搜索"],
  filters: ["Filters", "筛选"],
  sort: ["Order", "排序"],
  sorts: { risk: ["Risk first", "风险优先"], age: ["Oldest first", "最早优先"] },
  group: ["By session", "按会话"],
  anyRisk: ["Any risk", "任何风险"],
  anyTool: ["Any tool", "任何工具"],
  anySession: ["Any session", "任何会话"],
  clear: ["Clear filters", "清除筛选"],
});

const MAX_CHOICES = 200;

export function QueueFilters(props: {
  view: QueueView;
  all: readonly QueueItem[];
  onChange: (changes: Partial<QueueView>) => void;
}) {
  const { view, all, onChange } = props;
  const w = useWords(words);
  const names = useRiskNames();
  const tools = useMemo(() => valuesOf(all, ({ toolName }) => toolName), [all]);
  const sessions = useMemo(() => valuesOf(all, ({ caller }) => caller.session), [all]);
  const isPhone = useMedia(PHONE);
  const [isOpen, setOpen] = useState(false);
  const isFiltered = [view.risk, view.tool, view.session, view.text].some((value) => value !== "");
  const choices = (
    <div className="row queue-choices">
      <Select
        className="narrow small"
        label={w.sort}
        value={view.sort}
        options={[
          ["risk", w.sorts.risk],
          ["age", w.sorts.age],
        ]}
        onChoose={(sort) => onChange({ sort: sort === "age" ? "age" : "risk" })}
      />
      <Select
        className="narrow small"
        label={w.anyRisk}
        value={view.risk}
        options={[["", w.anyRisk], ...RiskLevel.options.map((level) => [level, names[level]] as const)]}
        onChoose={(risk) => onChange({ risk })}
      />
      {tools.length > 1 || view.tool !== "" ? (
        <Select
          className="narrow small"
          label={w.anyTool}
          value={view.tool}
          options={[["", w.anyTool], ...tools.map((tool) => [tool, tool] as const)]}
          onChoose={(tool) => onChange({ tool })}
        />
      ) : null}
      {sessions.length > 1 || view.session !== "" ? (
        <Select
          className="narrow small"
          label={w.anySession}
          value={view.session}
          options={[["", w.anySession], ...sessions.map((session) => [session, session] as const)]}
          onChoose={(session) => onChange({ session })}
        />
      ) : null}
      <label className="inline diff-check small">
        <input
          type="checkbox"
          checked={view.bySession}
          onChange={({ target }) => onChange({ bySession: target.checked })}
        />
        {w.group}
      </label>
      {isFiltered ? (
        <Button look="plain small" icon={X} onClick={() => onChange({ risk: "", tool: "", session: "", text: "" })}>
          {w.clear}
        </Button>
      ) : null}
    </div>
  );
  const search = <SearchBox label={w.search} value={view.text} onChange={(text) => onChange({ text })} />;
  if (!isPhone) {
    return (
      <div className="stack queue-filters">
        {search}
        {choices}
      </div>
    );
  }
  const count = [view.risk, view.tool, view.session].filter((value) => value !== "").length;
  return (
    <div className="line queue-filters">
      {search}
      <Button icon={SlidersHorizontal} aria-expanded={isOpen} onClick={() => setOpen(true)}>
        {w.filters}
        {count > 0 ? <span className="count">{count}</span> : null}
      </Button>
      {isOpen ? (
        <Sheet title={w.filters} onClose={() => setOpen(false)}>
          {choices}
        </Sheet>
      ) : null}
    </div>
  );
}

/** The most frequent first. */
function valuesOf(items: readonly QueueItem[], read: (item: QueueItem) => string | undefined): string[] {
  const counts = new Map<string, number>();
  for (const item of items) {
    const value = read(item);
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_CHOICES)
    .map(([value]) => value);
}

import { Pencil, Scale, Undo2 } from "lucide-react";
import { useSearchParams } from "wouter";
import type { PolicyInfo, RuleInfo } from "../../../../src/contracts/policy.ts";
import { api } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { DecisionBadge } from "../../parts/badges.tsx";
import { SessionLink } from "../../parts/caller-name.tsx";
import { Button, SureButton } from "../../parts/button.tsx";
import { Choices } from "../../parts/choices.tsx";
import { Empty } from "../../parts/empty.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { countOf, formatNumber } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useRowKeys } from "../../parts/use-row-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { RuleForm } from "./rule-form.tsx";

const words = defineWords({
  rules: ["Rules in force", "生效的规则"],
  search: ["Search rules", "搜索规则"],
  decision: ["Decision", "裁决"],
  decisions: {
    all: ["All", "全部"],
    deny: ["Deny", "拒绝"],
    ask: ["Ask", "询问"],
    allow: ["Allow", "允许"],
    unused: ["Never used", "从未使用"],
  },
  hits: (count: string) => [`decided ${count}`, `裁决了 ${count} 次`],
  last: ["last", "最近"],
  never: ["never used", "从未使用"],
  counted: (calls: string) => [`Counted in the newest ${countOf(calls, "call")}.`, `统计范围：最近 ${calls} 次调用。`],
  session: ["granted for the session", "为会话授权"],
  edit: ["Edit", "编辑"],
  revoke: ["Revoke", "撤销"],
  sure: ["Really revoke?", "确定撤销？"],
  byHand: ["Copy its place", "复制其位置"],
  add: ["Add a rule", "添加规则"],
  save: ["Save", "保存"],
  saveNew: ["Add", "添加"],
  saved: (file: string) => [`It is saved in ${file}.`, `保存在 ${file}。`],
  none: ["No rules yet", "还没有规则"],
  noneLead: [
    "Add one, approve a call with Always, or write permissions in haft.config.yml. Without a rule, each tool decides whether it needs approval.",
    "添加一条，处理请求时选“总是”，或在 haft.config.yml 中写入 permissions。没有规则时，由每个工具决定是否需要批准。",
  ],
  noneOf: ["No rule matches", "没有符合条件的规则"],
});

const FILTERS = ["all", "deny", "ask", "allow", "unused"] as const;

/** The rules with their files, lines and hits; saved ones can be changed and revoked in place. */
export function RuleList({ policy, canChange }: { policy: PolicyInfo; canChange: boolean }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [search, setSearch] = useSearchParams();
  const list = useRowKeys<HTMLUListElement>();
  const filter = FILTERS.find((each) => each === search.get("decision")) ?? "all";
  const text = search.get("q") ?? "";
  const choose = (change: { decision?: string; q?: string }): void => {
    const wanted = { decision: filter === "all" ? "" : filter, q: text, ...change };
    setSearch(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== "")), { replace: true });
  };
  const shown = policy.rules.filter(
    ({ rule, decision, hits, origin }) =>
      (filter === "all" || (filter === "unused" ? hits === 0 : decision === filter)) &&
      `${rule} ${origin}`.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <Panel
      title={w.rules}
      isBare
      actions={<SearchBox className="rule-search" label={w.search} value={text} onChange={(q) => choose({ q })} />}
    >
      {search.get("add") === "yes" && canChange ? (
        <RuleForm
          label={w.add}
          saveText={w.saveNew}
          note={policy.file === undefined ? undefined : w.saved(policy.file)}
          onDone={() => setSearch({})}
          save={(rule) => api.policy.addRule(rule)}
        />
      ) : null}
      {policy.rules.length === 0 ? (
        <Empty icon={Scale} title={w.none} lead={w.noneLead} />
      ) : (
        <>
          <div className="row rule-filters">
            <Choices
              label={w.decision}
              chosen={filter}
              choices={FILTERS.map((each) => [each, w.decisions[each]] as const)}
              onChoose={(each) => choose({ decision: each === "all" ? "" : each })}
            />
            <span className="small muted">{w.counted(formatNumber(policy.calls, language))}</span>
          </div>
          {shown.length === 0 ? <p className="muted rule-none">{w.noneOf}</p> : null}
          <ul ref={list} className="plain-list">
            {shown.map((rule) => (
              <RuleRow
                key={keyOf(rule)}
                rule={rule}
                file={rule.origin === "local" ? policy.file : undefined}
                canChange={canChange && rule.canEdit}
              />
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function RuleRow(props: {
  rule: RuleInfo;
  /** Of a rule that was saved while the server runs. */
  file: string | undefined;
  canChange: boolean;
}) {
  const { rule, canChange } = props;
  const w = useWords(words);
  const place = originOf({ origin: props.file ?? rule.origin, line: rule.line });
  const { language } = useLanguage();
  const [search, setSearch] = useSearchParams();
  const [failure, act] = useAction("policy");
  const name = keyOf(rule);
  const { decision, origin, session } = rule;
  const change = { rule: rule.rule, decision, origin, session };
  const revoke = (): void => act(api.policy.changeRule(change));
  if (canChange && search.get("edit") === name) {
    return (
      <li>
        <RuleForm
          label={w.edit}
          saveText={w.save}
          rule={rule}
          onDone={() => setSearch({})}
          save={(to) => api.policy.changeRule({ ...change, to })}
        />
      </li>
    );
  }
  return (
    <li className={rule.hits === 0 ? "list-row rule-row unused" : "list-row rule-row"} aria-label={rule.rule}>
      <DecisionBadge verdict={{ decision }} text={w.decisions[decision]} />
      <code data-row tabIndex={-1} className="rule-text">
        <VisibleText text={rule.rule} />
      </code>
      <span className="rule-hits small">
        {rule.hits === 0 ? w.never : w.hits(formatNumber(rule.hits, language))}
        {rule.lastHitAt === undefined ? null : (
          <>
            {" "}
            · {w.last} <TimeAgo at={rule.lastHitAt} />
          </>
        )}
      </span>
      <span className="rule-origin small muted" title={place}>
        {session === undefined ? (
          place
        ) : (
          <>
            {w.session} <SessionLink session={session} />
          </>
        )}
      </span>
      <span className="row rule-actions">
        {canChange ? (
          <>
            <Button look="small" icon={Pencil} text={w.edit} onClick={() => setSearch({ edit: name })} />
            <SureButton look="small danger" icon={Undo2} text={w.revoke} sure={w.sure} onSure={revoke} />
          </>
        ) : rule.canEdit ? null : (
          <CopyButton text={place} label={w.byHand} />
        )}
      </span>
      {failure}
    </li>
  );
}

function keyOf({ decision, rule, origin, session }: RuleInfo): string {
  return [decision, rule, session ?? origin].join(" ");
}

/** The file and the line, as editors link it. */
export function originOf({ origin, line }: { origin: string; line?: number }): string {
  return line === undefined ? origin : `${origin}:${line}`;
}

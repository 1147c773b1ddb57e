import { ArrowLeft, ChevronDown, ChevronUp } from "lucide-react";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { AuditEntry } from "../../../../src/contracts/audit.ts";
import { useApi } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { DecisionBadge, StatusBadge } from "../../parts/badges.tsx";
import { Button } from "../../parts/button.tsx";
import { callerText } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Facts } from "../../parts/facts.tsx";
import { formatDateTime, formatDuration, formatNumber } from "../../parts/format.ts";
import { JsonView } from "../../parts/json-view.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Panel } from "../../parts/panel.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { useFieldNames, useTypeNames } from "./entry-words.ts";

const words = defineWords({
  title: (id: string) => [`Entry ${id}`, `记录 ${id}`],
  back: ["All entries", "全部记录"],
  call: ["The call", "该调用"],
  link: ["Copy link", "复制链接"],
  older: ["Older entry", "更早的记录"],
  newer: ["Newer entry", "更新的记录"],
  when: ["When", "时间"],
  tool: ["Tool", "工具"],
  caller: ["Caller", "调用者"],
  session: ["Session", "会话"],
  state: ["State", "状态"],
  verdict: ["Verdict", "裁决"],
  took: ["Took", "用时"],
  waited: ["Waited for a person", "等待审批"],
  input: ["Input", "输入"],
  raw: ["Raw entry", "原始记录"],
  hash: ["Hash of the entry", "记录的哈希"],
});

/** One entry of the log, field by field. */
export function EntryView({ id }: { id: string }) {
  const w = useWords(words);
  const [, go] = useLocation();
  const typeName = useTypeNames();
  const query = useApi("audit", "get", [id]);
  const entry = query.data;
  const number = Number(id);
  const at = (other: number): string | undefined => (other > 0 ? `/audit/${other}` : undefined);
  const move = (to: string | undefined): void => {
    if (to !== undefined) go(to);
  };
  useKeys({
    j: { label: w.older, run: () => move(at(number - 1)) },
    k: { label: w.newer, run: () => move(at(number + 1)) },
    Escape: { label: w.back, run: () => go("/audit") },
  });
  return (
    <PageFrame
      title={w.title(id)}
      lead={entry ? typeName(entry.type) : undefined}
      actions={
        <>
          <Button look="plain" icon={ArrowLeft} text={w.back} href="/audit" />
          <Button icon={ChevronDown} label={w.older} href={at(number - 1) ?? "/audit"} />
          <Button icon={ChevronUp} label={w.newer} href={at(number + 1) ?? "/audit"} />
          <CopyButton text={location.href} label={w.link} />
          {entry && entry.callId !== "" ? (
            <Button text={w.call} href={`/work/${encodeURIComponent(entry.callId)}`} />
          ) : null}
        </>
      }
    >
      <Loaded query={query}>{(loaded) => <EntryFacts entry={loaded} />}</Loaded>
    </PageFrame>
  );
}

function EntryFacts({ entry }: { entry: AuditEntry }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const fieldName = useFieldNames();
  const { subject, caller, verdict } = entry;
  const facts: [label: string, value: ReactNode][] = [[w.when, formatDateTime(entry.at, language)]];
  const add = (label: string, value: ReactNode): void => {
    if (value !== undefined && value !== "") facts.push([label, value]);
  };
  add(w.tool, entry.toolName === "" ? undefined : <span className="mono">{entry.toolName}</span>);
  add(w.caller, callerText(caller, ""));
  add(w.session, caller.session && <VisibleText text={caller.session} />);
  add(
    w.state,
    entry.status ? (
      <span className="row">
        <StatusBadge status={entry.status} />
        {entry.errorCode ? <span className="badge bad mono">{entry.errorCode}</span> : null}
      </span>
    ) : undefined,
  );
  add(
    w.verdict,
    verdict ? (
      <>
        <DecisionBadge verdict={verdict} /> <VisibleText text={verdict.reason} />{" "}
        {verdict.rule ? <code>{verdict.rule}</code> : null}{" "}
        {verdict.origin ? <span className="muted small">{verdict.origin}</span> : null}
      </>
    ) : undefined,
  );
  add(w.took, entry.durationMs === undefined ? undefined : formatDuration(entry.durationMs));
  add(w.waited, entry.waitedMs === undefined ? undefined : formatDuration(entry.waitedMs));
  for (const [name, value] of Object.entries(Object(entry.result) as Record<string, unknown>)) {
    add(fieldName(name), <FieldValue name={name} value={value} />);
  }
  add(w.hash, entry.hash && <span className="mono small">{entry.hash}</span>);
  return (
    <>
      <section className="panel">
        {subject ? (
          <header>
            <span className="grow">
              <CallSubject subject={subject} />
            </span>
            {entry.risk ? <RiskBadge level={entry.risk} /> : null}
          </header>
        ) : null}
        <div className="body">
          <Facts facts={facts} />
        </div>
      </section>
      {entry.input === undefined ? null : (
        <Panel title={w.input}>
          <JsonView value={entry.input} />
        </Panel>
      )}
      <details>
        <summary className="muted">{w.raw}</summary>
        <JsonView value={entry} />
      </details>
    </>
  );
}

const TIMES: ReadonlySet<string> = new Set([
  "startedAt",
  "completedAt",
  "askedAt",
  "begunAt",
  "at",
  "until",
  "expiresAt",
]);

/** Times as dates, durations with their unit, everything else as text. */
function FieldValue({ name, value }: { name: string; value: unknown }) {
  const { language } = useLanguage();
  if (typeof value === "number" && TIMES.has(name)) return formatDateTime(value, language);
  if (typeof value === "number" && name.endsWith("Ms")) return formatDuration(value);
  if (typeof value === "number") return formatNumber(value, language);
  if (typeof value === "string" && name === "approvalId") {
    return <Link href={`/approvals/${encodeURIComponent(value)}`}>{value}</Link>;
  }
  if (typeof value === "string") return <VisibleText text={value} />;
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return <VisibleText text={value.join(", ")} />;
  }
  if (isRecord(value) && Object.values(value).every((each) => typeof each !== "object")) {
    return (
      <VisibleText
        text={Object.entries(value)
          .map(([key, each]) => `${key}: ${String(each)}`)
          .join(" · ")}
      />
    );
  }
  return <JsonView value={value} />;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { useState } from "react";
import { Link } from "wouter";
import type { CallInfo, CallTree } from "../../../../src/contracts/calls.ts";
import { defineWords, useWords } from "../../language.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { formatDuration } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { useMedia } from "../../parts/use-media.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { useCardOf } from "../../needs-you.ts";
import { callPath } from "./call-actions.ts";
import { useNow } from "../../parts/time-ago.tsx";

const words = defineWords({
  title: ["Timeline", "时间轴"],
  parts: { waiting: ["waiting for a person", "等待审批"], queued: ["queued", "排队"], running: ["running", "运行"] },
  open: ["not ended", "未结束"],
  review: ["Review", "查看"],
  partial: ["Only the first 500 calls are shown.", "只显示前 500 次调用。"],
  skip: ["Leave out waiting", "略去等待"],
  took: (name: string, time: string) => [`${name}: ${time}`, `${name}：${time}`],
});

type PartName = "waiting" | "queued" | "running";

interface Part {
  name: PartName;
  from: number;
  to: number;
  /** It goes on: nobody knows yet how long it takes. */
  isOpen: boolean;
}

interface Bar {
  call: CallInfo;
  depth: number;
  parts: readonly Part[];
  card?: string;
}

/** A call and everything it made, with a time axis: when each waited for a person, was queued and ran. */
export function CallTimeline({ tree, callId }: { tree: CallTree; callId: string }) {
  const w = useWords(words);
  const [isShort, setShort] = useState(false);
  const isNarrow = useMedia("(max-width: 900px)");
  const hasOpen = tree.calls.some(({ completedAt }) => completedAt === undefined);
  const now = useNow(hasOpen ? 500 : undefined);
  const bars = barsOf(tree, now);
  const cardOf = useCardOf();
  const parts = bars.flatMap((bar) => bar.parts);
  const start = Math.min(...bars.map(({ call }) => call.requestedAt));
  const end = Math.max(start + 1, ...parts.map(({ to }) => to));
  const waits = isShort ? unionOf(parts.filter(({ name }) => name === "waiting")) : [];
  const skipped = (time: number): number =>
    waits.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(time, to) - from), 0);
  const at = (time: number): number => time - start - skipped(time);
  const length = Math.max(1, at(end));
  const percent = (value: number): string => `${(value / length) * 100}%`;
  return (
    <Panel
      className="timeline"
      title={w.title}
      isBare
      actions={
        <>
          {(["waiting", "queued", "running"] as const).map((name) => (
            <span key={name} className={`inline timeline-legend ${name}`}>
              {w.parts[name]}
            </span>
          ))}
          {parts.some(({ name }) => name === "waiting") ? (
            <label className="row small">
              <input type="checkbox" checked={isShort} onChange={({ target }) => setShort(target.checked)} />
              {w.skip}
            </label>
          ) : null}
        </>
      }
    >
      <div className="timeline-body">
        <div className="timeline-row timeline-axis" aria-hidden>
          <span />
          <span className="timeline-track">
            {ticksOf(length, isNarrow ? 2 : 5).map((tick) => (
              <span key={tick} className="timeline-tick" style={{ left: percent(tick) }}>
                {tick === 0 ? "0" : formatDuration(tick)}
              </span>
            ))}
          </span>
          <span />
        </div>
        <ol className="plain-list">
          {bars.map(({ call, depth, parts: own, card = cardOf(call) }) => (
            <li key={`${call.callId} ${call.caller.session ?? ""}`}>
              <Link
                className="timeline-row"
                href={card ?? callPath(call.callId)}
                aria-current={call.callId === callId ? "true" : undefined}
              >
                <span className="line timeline-name" style={{ paddingLeft: `${Math.min(depth, 8) * 16}px` }}>
                  <VisibleText className="mono" text={call.toolName} />
                  {call.subject ? <CallSubject subject={call.subject} /> : null}
                </span>
                <span className="timeline-track">
                  {own.map((part) => {
                    const { name, from, to, isOpen } = part;
                    const isLeftOut = isShort && name === "waiting";
                    const time = `${formatDuration(lengthOf(call, part))}${isOpen ? ` (${w.open})` : ""}`;
                    return (
                      <span
                        key={name}
                        role="img"
                        aria-label={w.took(w.parts[name], time)}
                        title={w.took(w.parts[name], time)}
                        className={`timeline-bar ${name} ${isOpen ? "open" : ""} ${name === "running" ? call.status : ""}`}
                        style={{
                          left: percent(at(from)),
                          width: isLeftOut ? "3px" : `max(3px, ${percent(at(to) - at(from))})`,
                        }}
                      />
                    );
                  })}
                </span>
                {card === undefined ? (
                  <span className="mono small muted timeline-time">{totalOf(call, own)}</span>
                ) : (
                  <span className="badge warn">{w.review}</span>
                )}
              </Link>
            </li>
          ))}
        </ol>
        {tree.isPartial ? <p className="small muted">{w.partial}</p> : null}
      </div>
    </Panel>
  );
}

/** Of a call that has ended what its page says: the gate's work before a question is a part of its run. */
function lengthOf({ runMs }: CallInfo, { name, from, to, isOpen }: Part): number {
  return name === "running" && !isOpen ? (runMs ?? to - from) : to - from;
}

function totalOf(call: CallInfo, parts: readonly Part[]): string {
  const running = parts.filter(({ name }) => name === "running");
  const shown = running.length > 0 ? running : parts;
  return formatDuration(shown.reduce((sum, part) => sum + lengthOf(call, part), 0));
}

/** Each call below its parent, in the order of their requests. */
function barsOf({ root, calls }: CallTree, now: number): Bar[] {
  const byParent = new Map<string | undefined, CallInfo[]>();
  for (const call of calls) {
    const parent = call.callId === root ? undefined : call.parentId;
    const known = byParent.get(parent);
    if (known) known.push(call);
    else byParent.set(parent, [call]);
  }
  const bars: Bar[] = [];
  const seen = new Set<CallInfo>();
  const add = (call: CallInfo, depth: number): void => {
    if (seen.has(call)) return;
    seen.add(call);
    bars.push({ call, depth, parts: partsOf(call, now) });
    const made = byParent.get(call.callId) ?? [];
    for (const child of made.toSorted((a, b) => a.requestedAt - b.requestedAt)) add(child, depth + 1);
  };
  for (const call of byParent.get(undefined) ?? []) add(call, 0);
  return bars;
}

function partsOf(call: CallInfo, now: number): Part[] {
  const { requestedAt, askedAt, answeredAt, startedAt, completedAt, queuedMs, status } = call;
  const parts: Part[] = [];
  const isOpen = completedAt === undefined && status !== "failed" && status !== "completed";
  const end = Math.max(completedAt ?? (isOpen ? now : (startedAt ?? requestedAt)), requestedAt);
  const push = (name: PartName, from: number, to: number, goesOn: boolean): void => {
    if (to > from || parts.length === 0) parts.push({ name, from, to: Math.max(from, to), isOpen: goesOn });
  };
  const isAsked = askedAt !== undefined && answeredAt === undefined && isOpen;
  if (askedAt !== undefined) push("waiting", askedAt, answeredAt ?? end, isAsked);
  if (isAsked) return parts;
  const readyAt = Math.max(requestedAt, answeredAt ?? requestedAt);
  if (startedAt === undefined && isOpen) {
    push("queued", readyAt, end, true);
    return parts;
  }
  // The gate's own work before the tool is a part of the run.
  const began = queuedMs === undefined ? readyAt : Math.max(readyAt, startedAt ?? readyAt);
  if (queuedMs !== undefined) push("queued", Math.max(readyAt, began - queuedMs), began, false);
  if (startedAt !== undefined || parts.length === 0)
    push(call.questionId === undefined ? "running" : "waiting", began, end, isOpen);
  return parts;
}

/** Overlapping times as few separate ones. */
function unionOf(parts: readonly Part[]): [from: number, to: number][] {
  const union: [number, number][] = [];
  for (const { from, to } of parts.toSorted((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else union.push([from, to]);
  }
  return union;
}

const STEPS = [1, 2, 5];

/** Round times: zero and at most `max` others. */
function ticksOf(length: number, max: number): number[] {
  let step = 1;
  for (let power = 1; length / step > max; power *= 10) {
    step = STEPS.map((factor) => factor * power).find((each) => length / each <= max) ?? 10 * power;
  }
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

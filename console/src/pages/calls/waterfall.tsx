import { useLocation } from "wouter";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { defineWords, useWords } from "../../language.tsx";
import { formatDuration } from "../../parts/format.ts";

const words = defineWords({
  en: { title: "Timeline", waiting: "waiting for a person", running: "running", queued: "before it ran" },
  zh: { title: "时间线", waiting: "等待许可", running: "运行", queued: "运行之前" },
});

/** A longer pause is drawn as a gap of this length, so one old call does not compress the others. */
const MAX_PAUSE_MS = 2_000;

interface Bar {
  call: CallInfo;
  depth: number;
  from: number;
  parts: { kind: "queued" | "waiting" | "running"; from: number; to: number }[];
  to: number;
}

/** When each call started, and how long it waited for a person, queued and ran. */
export function Waterfall({ calls }: { calls: readonly CallInfo[] }) {
  const w = useWords(words);
  const [, go] = useLocation();
  const { bars, length } = layOut(calls);
  const percent = (value: number): string => `${(value / Math.max(length, 1)) * 100}%`;
  return (
    <section className="panel waterfall" aria-label={w.title}>
      <header>
        <h3 className="grow">{w.title}</h3>
        <span className="legend queued">{w.queued}</span>
        <span className="legend waiting">{w.waiting}</span>
        <span className="legend running">{w.running}</span>
      </header>
      <div className="bars">
        {bars.map(({ call, depth, from, to, parts }) => (
          <button
            key={call.callId}
            className="bar-row"
            style={{ paddingLeft: `${8 + depth * 14}px` }}
            onClick={() => go(`/calls/${encodeURIComponent(call.callId)}`)}
          >
            <span className="mono cut name">{call.toolName}</span>
            <span className="track">
              {parts.map((part) => (
                <span
                  key={part.kind}
                  className={`bar ${part.kind} ${part.kind === "running" ? call.status : ""}`}
                  style={{ left: percent(part.from), width: `max(3px, ${percent(part.to - part.from)})` }}
                />
              ))}
            </span>
            <span className="mono small muted time">{formatDuration(to - from)}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

function layOut(calls: readonly CallInfo[]): { bars: Bar[]; length: number } {
  const byId = new Map(calls.map((call) => [call.callId, call]));
  const depthOf = (call: CallInfo): number => {
    const parent = call.parentId === undefined ? undefined : byId.get(call.parentId);
    return parent ? depthOf(parent) + 1 : 0;
  };
  const now = Date.now();
  const endOf = ({ completedAt, answeredAt, startedAt, askedAt, requestedAt, status }: CallInfo): number =>
    completedAt ??
    (status === "running" || status === "pending" ? now : (answeredAt ?? startedAt ?? askedAt ?? requestedAt));
  const ordered = [...calls].sort((a, b) => a.requestedAt - b.requestedAt || a.callId.localeCompare(b.callId));
  // Long pauses are cut out of the time axis.
  let skipped = 0;
  let busyUntil = ordered[0]?.requestedAt ?? 0;
  const start = busyUntil;
  const bars = ordered.map((call): Bar => {
    const pause = call.requestedAt - busyUntil;
    if (pause > MAX_PAUSE_MS) skipped += pause - MAX_PAUSE_MS;
    const end = Math.max(endOf(call), call.requestedAt);
    busyUntil = Math.max(busyUntil, end);
    const at = (time: number): number => time - start - skipped;
    const parts: Bar["parts"] = [];
    const began = call.startedAt ?? end;
    const requested = call.askedAt;
    if (requested !== undefined) parts.push({ kind: "waiting", from: at(requested), to: at(call.answeredAt ?? end) });
    const queuedFrom = requested === undefined ? call.requestedAt : (call.answeredAt ?? end);
    if (began - queuedFrom > 1) parts.push({ kind: "queued", from: at(queuedFrom), to: at(began) });
    if (call.startedAt !== undefined) parts.push({ kind: "running", from: at(began), to: at(end) });
    if (parts.length === 0) parts.push({ kind: "running", from: at(call.requestedAt), to: at(end) });
    return { call, depth: depthOf(call), from: call.requestedAt, to: end, parts };
  });
  return { bars, length: busyUntil - start - skipped };
}

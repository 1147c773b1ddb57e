import { useMemo } from "react";
import type { CallInfo } from "../../../../src/contracts/calls.ts";
import { type CallStream, keyOf } from "./use-call-stream.ts";

/** A call, calls that ended the same way again and again (with the newest), or a session above its calls. */
export type Line =
  | { call: CallInfo; repeats?: { key: string; count: number }; isRepeat?: boolean }
  | { session: string | undefined; calls: readonly CallInfo[] };

export interface Lines {
  length: number;
  at(index: number): Line | undefined;
  /** The line with this key, or -1. */
  indexOf(key: string): number;
}

/** From so many on, equal ends are one line. */
const MIN_REPEATS = 3;
/** Older rows are not searched for repeats: there may be very many. */
const MAX_FOLDED = 5000;

export function lineKey(line: Line | undefined): string {
  if (!line) return "";
  if (!("call" in line)) return `session ${line.session ?? ""}`;
  return line.repeats ? line.repeats.key : keyOf(line.call);
}

/** Equal for calls that are repeats of each other: what failed or was denied, and runs of one schedule. */
function repeatKey({ toolName, caller, status, errorCode, subject }: CallInfo): string | undefined {
  if (status !== "failed" && status !== "denied" && !(status === "completed" && caller.task !== undefined)) return;
  const { user, agent, session, task } = caller;
  return `repeat ${JSON.stringify([toolName, user, agent, session, task, status, errorCode, subject?.text])}`;
}

function fold(items: readonly CallInfo[], open: ReadonlySet<string>): Line[] {
  const groups = new Map<string, CallInfo[]>();
  const keys = items.map(repeatKey);
  for (const [at, call] of items.entries()) {
    const key = keys[at];
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group) group.push(call);
    else groups.set(key, [call]);
  }
  const lines: Line[] = [];
  for (const [at, call] of items.entries()) {
    const key = keys[at];
    const group = key === undefined ? undefined : groups.get(key);
    if (key === undefined || !group || group.length < MIN_REPEATS) lines.push({ call });
    else if (group[0] === call) {
      lines.push({ call, repeats: { key, count: group.length } });
      if (open.has(key)) lines.push(...group.map((each) => ({ call: each, isRepeat: true })));
    }
  }
  return lines;
}

/**
 * The loaded calls with repeats folded, or each session with its calls below it: the session that was used last is first.
 * `waiting`: what needs a person. It is above the list, or with its session at the top of it.
 */
export function useLines(
  stream: CallStream,
  { isGrouped, waiting, open }: { isGrouped: boolean; waiting: readonly CallInfo[]; open: ReadonlySet<string> },
): Lines {
  const version = stream.version();
  const waitingKeys = waiting.map(keyOf).join("\n");
  return useMemo(() => {
    const without = new Set(waitingKeys.split("\n"));
    const { items } = stream;
    if (isGrouped) {
      const others = items.filter((call) => !without.has(keyOf(call)));
      return linesOf(bySession([...waiting, ...others], open), [], stream);
    }
    const newest = items.slice(0, MAX_FOLDED).filter((call) => !without.has(keyOf(call)));
    return linesOf(fold(newest, open), items, stream);
    // The list is changed in place: its version tells when.
  }, [stream, version, isGrouped, waitingKeys, open]);
}

/** `head`, and after it the items that were not folded, without a copy. */
function linesOf(head: readonly Line[], items: readonly CallInfo[], stream: CallStream): Lines {
  const rest = Math.max(0, items.length - MAX_FOLDED);
  const at = (index: number): Line | undefined => {
    if (index < head.length) return head[index];
    const call = items[MAX_FOLDED + index - head.length];
    return call && { call };
  };
  const indexOf = (key: string): number => {
    const found = head.findIndex((line) => lineKey(line) === key);
    const later = found < 0 && rest > 0 ? stream.indexOf(key) : -1;
    return later < MAX_FOLDED ? found : head.length + later - MAX_FOLDED;
  };
  return { length: head.length + rest, at, indexOf };
}

function bySession(items: readonly CallInfo[], open: ReadonlySet<string>): Line[] {
  const sessions = new Map<string | undefined, CallInfo[]>();
  for (const call of items) {
    const { session } = call.caller;
    const known = sessions.get(session);
    if (known) known.push(call);
    else sessions.set(session, [call]);
  }
  return Array.from(sessions, ([session, calls]): Line[] => [{ session, calls }, ...fold(calls, open)]).flat();
}

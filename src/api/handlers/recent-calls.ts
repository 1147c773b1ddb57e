import type { Page } from "../../contracts/basics.ts";
import type { CallFilter, CallInfo, CallPage, CallStatus } from "../../contracts/calls.ts";
import type { CallFacets, FacetCount } from "../../gate/audit-log.ts";
import type { ToolEvent, Update } from "../../core/events.ts";
import { failedState } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";

export interface RecentCall extends CallInfo {
  input?: unknown;
  updates: Update[];
  result?: ToolResult;
  /** The input has masked secrets, so it cannot be used again. */
  isMasked?: boolean;
  /** The newest call has the highest. */
  number: number;
  characters: number;
}

/** `asking`: ids of running calls whose tool waits for an answer of a person. */
type Asking = { asking?: readonly string[] };

export interface CallQuery extends CallFilter, Asking {
  /** Only of this caller. */
  caller?: RecentCall["caller"];
  limit: number;
  cursor?: string;
}

/** Where the calls that are shown come from. */
export interface CallSource {
  /** If several callers used this id: the call of `user`, or the newest. */
  find(callId: string, user?: string): MaybePromise<RecentCall | undefined>;
  /** Newest first. */
  list(query: CallQuery): MaybePromise<Page<RecentCall> & Pick<CallPage, "unsearched">>;
  facets(filter: CallFilter & Asking): MaybePromise<CallFacets>;
  /** Those around a call, each after its parent. Undefined if there is no such call. */
  tree(callId: string, user?: string): MaybePromise<RecentTree | undefined>;
}

export interface RecentTree {
  root: string;
  calls: RecentCall[];
  isPartial: boolean;
}

export const MAX_UPDATES = 50;

/** Without a store: the last calls with their input and result, read from the events. The oldest are dropped first; unfinished ones are kept. */
export class RecentCalls implements CallSource {
  readonly #calls = new Map<string, RecentCall>();
  readonly #maxCalls: number;
  readonly #maxCharacters: number;
  #characters = 0;
  #number = 0;

  constructor({ maxCalls = 2000, maxCharacters = 32 * 1024 * 1024 } = {}) {
    this.#maxCalls = maxCalls;
    this.#maxCharacters = maxCharacters;
  }

  /** If several callers used this id: the call of `user`, or the newest. */
  find(callId: string, user?: string): RecentCall | undefined {
    let found: RecentCall | undefined;
    for (const call of this.#calls.values()) {
      if (call.callId !== callId) continue;
      const isBetter = Number(call.caller.user === user) - Number(found?.caller.user === user);
      if (!found || isBetter > 0 || (isBetter === 0 && call.number > found.number)) found = call;
    }
    return found;
  }

  /** Newest first. */
  list({ caller, limit, cursor, ...filter }: CallQuery): Page<RecentCall> {
    const before = cursor === undefined ? Infinity : Number(cursor);
    const items: RecentCall[] = [];
    for (const call of [...this.#calls.values()].sort((a, b) => b.number - a.number)) {
      if (call.number >= before || !matches(call, filter)) continue;
      if (caller && keyOf(call) !== keyOf({ callId: call.callId, caller })) continue;
      if (items.length === limit) return { items, next: String(items.at(-1)?.number) };
      items.push(call);
    }
    return { items };
  }

  facets(filter: CallFilter): CallFacets {
    const found = [...this.#calls.values()].filter((call) => matches(call, filter));
    const by = (valueOf: (call: RecentCall) => string | undefined): FacetCount[] => {
      const counts = new Map<string, number>();
      for (const call of found) {
        const value = valueOf(call);
        if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      return Array.from(counts, ([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
    };
    return {
      tool: by(({ toolName }) => toolName),
      status: by(({ status }) => status),
      session: by(({ caller }) => caller.session),
      user: by(({ caller }) => caller.user),
      agent: by(({ caller }) => caller.agent),
      kind: by(({ kind }) => kind),
      risk: by(({ risk }) => risk),
      counted: found.length,
      isPartial: false,
      isToolWhole: true,
    };
  }

  tree(callId: string, user?: string): RecentTree | undefined {
    let root = this.find(callId, user);
    if (!root) return undefined;
    for (let parent = parentOf(this, root); parent; parent = parentOf(this, root)) root = parent;
    const calls = [root];
    const all = [...this.#calls.values()].sort((a, b) => a.number - b.number);
    for (const above of calls) {
      for (const call of all) {
        if (call.parentId === above.callId && call.caller.user === above.caller.user && !calls.includes(call))
          calls.push(call);
      }
    }
    return { root: root.callId, calls, isPartial: false };
  }

  /** `characters` is the estimated length of the event. */
  note(event: ToolEvent, characters: number): void {
    if (!("callId" in event)) return;
    const call = this.#calls.get(keyOf(event)) ?? this.#open(event);
    call.characters += characters;
    this.#characters += characters;
    switch (event.type) {
      case "tool_call_requested":
        call.status = "waiting";
        call.caller = event.caller;
        call.input = event.input;
        forgetResult(call);
        break;
      case "permission_requested":
        call.askedAt = event.at;
        call.approvalId = event.approvalId;
        break;
      case "permission_resolved":
        call.answeredAt = event.at;
        break;
      case "tool_call_started":
        forgetResult(call);
        call.status = "running";
        // As the tool's own names and units say it, like the name.
        call.input = event.input ?? call.input;
        call.startedAt = event.at;
        call.toolName = event.toolName;
        break;
      case "tool_call_updated":
        call.updates.push(event.update);
        if (call.updates.length > MAX_UPDATES) call.updates.shift();
        break;
      case "tool_call_pending":
      case "tool_call_completed":
      case "tool_call_failed":
        this.#close(call, event.result, event.at);
        break;
      case "tool_call_settled_late":
        if (event.result) this.#close(call, event.result, event.at);
        break;
      default:
        break;
    }
    this.#dropOldest();
  }

  #open({
    callId,
    toolName,
    caller,
    at,
    parentId,
  }: ToolEvent & { callId: string; toolName: string; caller: RecentCall["caller"]; parentId?: string }): RecentCall {
    const call: RecentCall = {
      callId,
      parentId,
      toolName,
      caller,
      status: "waiting",
      requestedAt: at,
      updates: [],
      number: ++this.#number,
      characters: 0,
    };
    this.#calls.set(keyOf(call), call);
    return call;
  }

  #close(call: RecentCall, result: ToolResult, at: number): void {
    call.status = statusOf(result);
    call.toolName = result.toolName;
    call.result = result;
    call.display = result.display;
    if (result.status === "failed") call.errorCode = result.error.code;
    if (result.status === "pending") return;
    call.completedAt = result.completedAt ?? at;
    call.durationMs = result.durationMs;
  }

  #dropOldest(): void {
    if (this.#calls.size <= this.#maxCalls && this.#characters <= this.#maxCharacters) return;
    for (const [key, call] of this.#calls) {
      if (this.#calls.size <= this.#maxCalls && this.#characters <= this.#maxCharacters) return;
      if (call.status === "waiting" || call.status === "running") continue;
      this.#calls.delete(key);
      this.#characters -= call.characters;
    }
  }
}

function parentOf(calls: RecentCalls, { parentId, caller }: RecentCall): RecentCall | undefined {
  return parentId === undefined ? undefined : calls.find(parentId, caller.user);
}

function matches(call: RecentCall, filter: CallFilter): boolean {
  const { tool, status, kind, risk, session, user, agent, parent, search, from = 0, to = Infinity } = filter;
  const { caller } = call;
  const isEqual = (wanted: string | undefined, value: string | undefined) => wanted === undefined || wanted === value;
  return (
    isEqual(tool, call.toolName) &&
    isEqual(session, caller.session) &&
    isEqual(user, caller.user) &&
    isEqual(agent, caller.agent) &&
    isEqual(parent, call.parentId) &&
    (!status?.length || status.includes(call.status)) &&
    (!kind?.length || (call.kind !== undefined && kind.includes(call.kind))) &&
    (!risk?.length || (call.risk !== undefined && risk.includes(call.risk))) &&
    call.requestedAt >= from &&
    call.requestedAt <= to &&
    (!search || hasText(call, search))
  );
}

function hasText({ callId, toolName, input, display }: RecentCall, search: string): boolean {
  const text = JSON.stringify([callId, toolName, input, display]).toLowerCase();
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(JSON.stringify(word).slice(1, -1)));
}

/** The state that lists show. */
export function statusOf(result: ToolResult): CallStatus {
  return result.status === "failed" ? failedState(result.error.code) : result.status;
}

/** Two callers may use the same id. */
function keyOf({ callId, caller: { session, agent, user } }: Pick<RecentCall, "callId" | "caller">): string {
  // With their lengths, so no two callers have the same key. Made for every event, and JSON would cost more.
  return `${session?.length} ${agent?.length} ${user?.length} ${session}${agent}${user}${callId}`;
}

/** A row of the list, without the fields that only the detail has. */
export function rowOf({
  input: _input,
  updates: _updates,
  result: _result,
  isMasked: _isMasked,
  number: _number,
  characters: _characters,
  ...row
}: RecentCall): CallInfo {
  return row;
}

/** Of an earlier pass: the call waited for an answer and runs now, or is made again with its id. */
function forgetResult(call: RecentCall): void {
  call.result = undefined;
  call.errorCode = undefined;
  call.display = undefined;
  call.completedAt = undefined;
  call.durationMs = undefined;
}

import type { Page } from "../../contracts/basics.ts";
import type { CallInfo, CallStatus } from "../../contracts/calls.ts";
import type { ToolEvent, Update } from "../../core/events.ts";
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

export interface CallQuery {
  tool?: string;
  status?: readonly CallStatus[];
  session?: string;
  user?: string;
  parent?: string;
  /** Words of the call. */
  search?: string;
  from?: number;
  to?: number;
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
  list(query: CallQuery): MaybePromise<Page<RecentCall>>;
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
  list({ tool, status, session, user, parent, search, from, to, caller, limit, cursor }: CallQuery): Page<RecentCall> {
    const before = cursor === undefined ? Infinity : Number(cursor);
    const items: RecentCall[] = [];
    for (const call of [...this.#calls.values()].sort((a, b) => b.number - a.number)) {
      if (call.number >= before) continue;
      if (tool !== undefined && call.toolName !== tool) continue;
      if (status && !status.includes(call.status)) continue;
      if (session !== undefined && call.caller.session !== session) continue;
      if (user !== undefined && call.caller.user !== user) continue;
      if (parent !== undefined && call.parentId !== parent) continue;
      if (call.requestedAt < (from ?? 0) || call.requestedAt > (to ?? Infinity)) continue;
      if (search && !hasText(call, search)) continue;
      if (caller && keyOf(call) !== keyOf({ callId: call.callId, caller })) continue;
      if (items.length === limit) return { items, next: String(items.at(-1)?.number) };
      items.push(call);
    }
    return { items };
  }

  /** `characters` is the estimated length of the event. */
  note(event: ToolEvent, characters: number): void {
    if (!("callId" in event)) return;
    const call = this.#calls.get(keyOf(event)) ?? this.#open(event);
    call.characters += characters;
    this.#characters += characters;
    switch (event.type) {
      case "tool_call_requested":
        this.#reopen(call, event);
        break;
      case "permission_requested":
        call.askedAt = event.at;
        call.approvalId = event.approvalId;
        break;
      case "permission_resolved":
        call.answeredAt = event.at;
        break;
      case "tool_call_started":
        call.status = "running";
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
  }: ToolEvent & { callId: string; caller: RecentCall["caller"]; parentId?: string }): RecentCall {
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

  /** A waiting call is made again with its id. Its approval is kept. */
  #reopen(call: RecentCall, event: Extract<ToolEvent, { type: "tool_call_requested" }>): void {
    call.status = "waiting";
    call.caller = event.caller;
    call.input = event.input;
    call.result = undefined;
    call.errorCode = undefined;
    call.display = undefined;
    call.completedAt = undefined;
    call.durationMs = undefined;
  }

  #close(call: RecentCall, result: ToolResult, at: number): void {
    const status: CallStatus = result.status;
    call.status = status;
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

function hasText({ callId, toolName, input, display }: RecentCall, search: string): boolean {
  const text = JSON.stringify([callId, toolName, input, display]).toLowerCase();
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(JSON.stringify(word).slice(1, -1)));
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

import type { ChangeEntry } from "../calls/call-store.ts";
import type { Call, Caller, Verdict } from "../core/call.ts";
import type { RiskLevel } from "../core/call-summary.ts";
import type { ErrorCode } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

export type AuditKind =
  /** Written before the effect. */
  | "call_begun"
  | "call_ended"
  /** Refused before the tool ran. */
  | "call_refused"
  /** Answered `pending`: it waits for a person, a job or a client. */
  | "call_waiting"
  /** Answered with a known result, without running again. */
  | "call_known"
  /** It was running in a process that is gone: whether it happened is unknown. */
  | "call_lost"
  /** It had ended as `unknown_outcome`; this is how it ended really. */
  | "call_corrected"
  | "approval_asked"
  | "approval_answered"
  | "rule_added"
  | "rule_removed"
  /** A grant was given, extended, used up, revoked or has expired: `data.change`. */
  | "grant"
  | "undo"
  | "config_changed"
  | "trust"
  | "note"
  /** The oldest entries were deleted: `data` has the range, the hash of its last entry and the rule. */
  | "log_pruned"
  /** Entries were lost because the store could not be written; `data.count` is how many. */
  | "gap";

export const AUDIT_KINDS = [
  "call_begun",
  "call_ended",
  "call_refused",
  "call_waiting",
  "call_known",
  "call_lost",
  "call_corrected",
  "approval_asked",
  "approval_answered",
  "rule_added",
  "rule_removed",
  "grant",
  "undo",
  "config_changed",
  "trust",
  "note",
  "log_pruned",
  "gap",
] as const satisfies readonly AuditKind[];

export function isAuditKind(name: string): name is AuditKind {
  return (AUDIT_KINDS as readonly string[]).includes(name);
}

/** The status of an answered call; `unknown` if the call was lost. */
export type AuditStatus = "completed" | "failed" | "pending" | "unknown";

/** An event as it is given to the log. */
export interface AuditFact {
  kind: AuditKind;
  callId?: string | undefined;
  parentId?: string | undefined;
  toolName?: string | undefined;
  caller?: Partial<Caller> | undefined;
  verdict?: Verdict["decision"] | undefined;
  status?: AuditStatus | undefined;
  /** Everything else. Secrets are masked and long text is cut before storing. */
  data?: Record<string, unknown> | undefined;
}

/** A stored event: numbered without gaps, and chained to the entry before it by its hash. */
export interface AuditEntry extends AuditFact {
  seq: number;
  /** Unix milliseconds. */
  at: number;
  /** The process that wrote it. */
  owner: string;
  data: Record<string, unknown>;
  /** Covers the hash of the entry before. */
  hash: string;
}

export interface AuditQuery {
  kind?: AuditKind | readonly AuditKind[];
  tool?: string;
  session?: string;
  agent?: string;
  user?: string;
  verdict?: Verdict["decision"];
  /** What was denied, or whose outcome is unknown, has not `failed`. */
  status?: AuditStatus | "denied";
  errorCode?: ErrorCode;
  callId?: string;
  parentId?: string;
  /** Unix milliseconds, both included. */
  since?: number;
  until?: number;
  /**
   * Words of the tool, the call id or a value of `data`: entries that have all of them, each as the beginning of a word, in
   * upper or lower case. With other characters between or around them, such as in a path, the entry has exactly this text.
   */
  text?: string;
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  /** Cursor of the next page, stable while entries are added. Absent on the last page. */
  cursor?: string;
  /** How many of the entries a search for text has not looked at: the newest while the index is behind, or the oldest. */
  unsearched?: number;
}

/** `parentId`: only calls that this call made. `text`: words of any entry of the call. */
export interface CallFilter extends Pick<
  AuditQuery,
  "tool" | "session" | "user" | "agent" | "parentId" | "text" | "since" | "until"
> {
  /** Only with one of these. Calls that were denied, or whose outcome is unknown, have not `failed`. */
  status?: readonly ("waiting" | "running" | "completed" | "failed" | "denied" | "unknown" | "pending")[];
  /** Only with one of these. */
  kind?: readonly ("readonly" | "write" | "execute")[];
  risk?: readonly RiskLevel[];
  /** Ids of running calls that wait for a person's answer to their tool: they are `waiting`. */
  asking?: readonly string[];
}

/** Counts of calls by what they are filtered by, highest first. */
export interface CallFacets {
  tool: FacetCount[];
  /** Of `CallFilter.status`. */
  status: FacetCount[];
  session: FacetCount[];
  user: FacetCount[];
  agent: FacetCount[];
  kind: FacetCount[];
  risk: FacetCount[];
  /** The number of calls that were counted: at most the newest 5,000 that match. */
  counted: number;
  /** There are more that match. */
  isPartial: boolean;
  /** `tool` and `status` have all calls, also if the others are partial. */
  isToolWhole: boolean;
}

/** A call, the calls above it and everything that these made. */
export interface CallTree {
  /** The outermost call. */
  root: string;
  /** Entries of each call, oldest first. */
  calls: { callId: string; parentId?: string | undefined; entries: AuditEntry[] }[];
  /** Some calls were left out. */
  isPartial: boolean;
}

/** Counts of answered calls, highest first. */
export interface AuditFacets {
  tool: FacetCount[];
  verdict: FacetCount[];
  status: FacetCount[];
  /** Only the newest 5,000 that match were counted. Never with a filter by tool, kind, status, verdict, code or time only. */
  isPartial?: boolean;
}

export interface FacetCount {
  value: string;
  count: number;
}

/** Entries of a minute or an hour that are equal in kind, tool, status and error code. */
export interface AuditCounts {
  /** The start of the minute or hour, in Unix milliseconds. */
  at: number;
  kind: AuditKind;
  toolName: string;
  status?: AuditStatus | undefined;
  errorCode?: ErrorCode | undefined;
  count: number;
  /** Of all of them together. */
  durationMs: number;
  bytes: number;
  /** In which they waited for a person, together. Not in `durationMs`. */
  waitedMs: number;
  /** How many of them took about how many milliseconds, within 7 %. */
  durations: readonly (readonly [ms: number, count: number])[];
}

/** Results of a caller in a minute or an hour: of an agent, or of a user without one. */
export interface CallerCounts extends Omit<AuditCounts, "kind" | "toolName"> {
  caller: string;
}

/** Everything known about one call id. */
export interface CallHistory {
  callId: string;
  /** Oldest first. */
  entries: AuditEntry[];
  /** Ids of its nested calls. */
  nested: string[];
}

/** The end of the chain. A copy kept elsewhere shows later whether earlier entries were changed. */
export interface AuditHead {
  count: number;
  hash: string;
}

export interface VerifyOptions {
  /** Continues behind the last entry that an earlier check found sound. Default: checks all entries. */
  sinceCheckpoint?: boolean;
  /** Called every few thousand entries. `of` is the number of entries when the check began. */
  onProgress?: (checked: number, of: number) => void;
}

/** The limits of the retention that entries exceeded. */
export interface PruningRule {
  auditDays?: number;
  maxMb?: number;
}

export interface AuditReport {
  ok: boolean;
  /** How many entries were checked. */
  count: number;
  /** The entries up to this one were checked before: with `sinceCheckpoint`. */
  checkpoint?: { seq: number; at: number };
  head: AuditHead;
  /** The oldest entries that were deleted, as entry `seq` says. The rule is missing if an earlier version deleted them. */
  pruned?: { upTo: number; at: number; seq: number; rule?: PruningRule };
  /** At most a thousand. */
  problems: AuditProblem[];
}

export interface AuditProblem {
  /** The entry, or the first of several. */
  seq: number;
  problem: "altered" | "missing" | "inserted" | "unlinked" | "head";
  /** One sentence for a person. */
  message: string;
}

/** All pages of a query, the newest entries first. */
export async function* pagesOf(
  log: Pick<AuditLog, "query">,
  query: AuditQuery & { limit: number },
): AsyncGenerator<AuditPage> {
  let page: AuditPage | undefined;
  do {
    page = await log.query({ ...query, cursor: page?.cursor });
    yield page;
  } while (page.cursor !== undefined);
}

/**
 * An append-only log. `begun` of a tool that writes or executes resolves when its entry is committed, and rejects if it
 * cannot be; entries of read-only tools are committed in groups a few milliseconds later, without waiting.
 */
export interface AuditLog extends CallLog {
  /** Resolves when the entry is committed. Rejects if it cannot be; then nothing is stored. */
  append(fact: AuditFact, options?: { synced?: boolean }): Promise<void>;
  /** Matching entries, newest first, in pages. */
  query(filter?: AuditQuery & { limit?: number; cursor?: string }): Promise<AuditPage>;
  /** Counts of entries by tool, status and other fields. */
  facets(filter?: AuditQuery): Promise<AuditFacets>;
  /** Counts by minute or hour, of the hours or minutes that begin within this time. */
  counts(range: { since: number; until: number; by: "minute" | "hour" }): Promise<AuditCounts[]>;
  /** The same by caller. */
  callerCounts(range: { since: number; until: number; by: "minute" | "hour" }): Promise<CallerCounts[]>;
  /** Calls of all processes, newest first, each by its last entry: `call_begun` while it runs, for example. */
  calls(filter?: CallFilter & { limit?: number; cursor?: string }): Promise<AuditPage>;
  /** The entries, with the input of the call where only an earlier entry has it. */
  withInputs(entries: readonly AuditEntry[]): Promise<AuditEntry[]>;
  /** How many calls match, by tool, status, caller and so on. */
  callFacets(filter?: CallFilter): Promise<CallFacets>;
  /** The calls around one, with their entries. Undefined if there is no such call. */
  tree(callId: string, options?: { user?: string; maxCalls?: number }): Promise<CallTree | undefined>;
  /** Everything about one call. */
  call(callId: string): Promise<CallHistory | undefined>;
  /** Oldest first, in chain order; with `follow`, also new entries until the signal aborts. */
  entries(options?: { after?: number; follow?: boolean; signal?: AbortSignal }): AsyncIterable<AuditEntry>;
  /** The end of the chain, for a later `verify`. */
  head(): Promise<AuditHead>;
  /** Checks the whole chain. With an earlier head it also finds truncation and rewriting since then. */
  verify(anchor?: AuditHead, options?: VerifyOptions): Promise<AuditReport>;
  /** Records calls of processes that are gone as lost; returns the new entries. */
  lost(): Promise<AuditEntry[]>;
  /** Commits pending entries. Rejects if that fails. */
  flush(): Promise<void>;
}

/** The log of calls. */
export interface CallLog {
  /** The tool runs next. If it rejects, because the log cannot write, a tool that changes things does not run. */
  begun(call: Call): MaybePromise<void>;
  /** The entry that `begun` would write, to be written together with the call's row. Then `begun` does nothing. */
  beginEntry?(call: Call): ChangeEntry;
  /** The call was answered. Without an earlier `begun` it was refused or is pending. */
  closed(call: Call, result: ToolResult): MaybePromise<void>;
  /** The entry of `closed` or `corrected`, to be written with the call's state; the other method then does nothing. */
  endEntry?(call: Call, result: ToolResult, isLate: boolean): ChangeEntry;
  /** The real result of a call that was closed as `unknown_outcome`. */
  corrected?(call: Call, result: ToolResult): MaybePromise<void>;
  /** The whole result of a call that was one of the last in this process. The log itself keeps no content. */
  resultOf?(callId: string, user: string | undefined): ToolResult | undefined;
  /** Newest last. */
  recent(limit?: number): MaybePromise<readonly CallRecord[]>;
}

export interface CallRecord {
  callId: string;
  parentId?: string | undefined;
  toolName: string;
  caller: Caller;
  startedAt: number;
  status: ToolResult["status"];
  durationMs?: number | undefined;
  errorCode?: ErrorCode | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** Keeps the latest calls in memory, without their content. */
export class MemoryCallLog implements CallLog {
  readonly #records: CallRecord[] = [];
  #next = 0;

  constructor(readonly capacity = 1000) {}

  /** The log ends with the process, so there are no lost calls to find. */
  begun(): void {}

  closed(call: Call, result: ToolResult): void {
    // A new object each time: writing to an old one costs a garbage collector write barrier per field.
    this.#records[this.#next] = recordOf(call, result);
    this.#next = this.#next + 1 === this.capacity ? 0 : this.#next + 1;
  }

  corrected(call: Call, result: ToolResult): void {
    const isSame = ({ callId, startedAt }: CallRecord) => callId === call.id && startedAt === call.startedAt;
    const at = this.#records.findIndex(isSame);
    if (at >= 0) this.#records[at] = recordOf(call, result);
  }

  recent(limit = this.capacity): readonly CallRecord[] {
    return [...this.#records.slice(this.#next), ...this.#records.slice(0, this.#next)].slice(-limit);
  }
}

function recordOf(call: Call, result: ToolResult): CallRecord {
  return {
    callId: call.id,
    parentId: call.parent?.id,
    toolName: result.toolName,
    caller: call.caller,
    startedAt: call.startedAt,
    status: result.status,
    durationMs: result.durationMs,
    errorCode: result.status === "failed" ? result.error.code : undefined,
    metadata: call.facts,
  };
}

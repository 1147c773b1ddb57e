import type { Call, Caller, Verdict } from "../core/call.ts";
import type { ErrorCode } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";

export type AuditKind =
  /** Written before the effect. */
  | "call_begun"
  | "call_ended"
  /** Answered before it began, with no. */
  | "call_refused"
  /** Answered `pending`: a person, a job or a client has the next word. */
  | "call_waiting"
  /** Answered with what was known already, without running again. */
  | "call_known"
  /** It had begun in a process that is gone: nobody knows whether it happened. */
  | "call_lost"
  | "approval_asked"
  | "approval_answered"
  | "rule_added"
  | "undo"
  | "config_changed"
  | "trust"
  | "note"
  /** Entries that could not be kept while the store could not be written; `data.count` says how many. */
  | "gap";

/** Of a call that was answered; `unknown` of one that was lost. */
export type AuditStatus = "completed" | "failed" | "pending" | "unknown";

/** Something that happened, as it is given to the log. */
export interface AuditFact {
  kind: AuditKind;
  callId?: string | undefined;
  parentId?: string | undefined;
  toolName?: string | undefined;
  caller?: Partial<Caller> | undefined;
  verdict?: Verdict["decision"] | undefined;
  status?: AuditStatus | undefined;
  /** Everything else. Secrets are hidden and long text is cut before it is kept. */
  data?: Record<string, unknown> | undefined;
}

/** A fact as it is kept: numbered without holes, and bound to the entry before it by its hash. */
export interface AuditEntry extends AuditFact {
  seq: number;
  /** Unix milliseconds. */
  at: number;
  /** Of the process that wrote it. */
  owner: string;
  data: Record<string, unknown>;
  previous: string;
  hash: string;
}

export interface AuditQuery {
  kind?: AuditKind | readonly AuditKind[];
  tool?: string;
  session?: string;
  agent?: string;
  user?: string;
  verdict?: Verdict["decision"];
  status?: AuditStatus;
  callId?: string;
  /** Unix milliseconds, both included. */
  since?: number;
  until?: number;
  /** Somewhere in what was kept, without regard to upper and lower case (of ASCII letters). */
  text?: string;
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  /** For the next page; entries that are added meanwhile move nothing. Absent on the last one. */
  cursor?: string;
}

/** How many calls were answered, most frequent first. */
export interface AuditFacets {
  tool: FacetCount[];
  verdict: FacetCount[];
  status: FacetCount[];
}

export interface FacetCount {
  value: string;
  count: number;
}

/** Everything known of one call id. */
export interface CallHistory {
  callId: string;
  /** Oldest first. */
  entries: AuditEntry[];
  /** Ids of the calls that it made itself. */
  nested: string[];
}

/** The end of the chain. Noted elsewhere, it shows later whether anything up to there was changed. */
export interface AuditHead {
  count: number;
  hash: string;
}

export interface AuditReport {
  ok: boolean;
  /** Entries looked at. */
  count: number;
  head: AuditHead;
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

/**
 * What happened, append-only. `begun` of a tool that writes or executes resolves when its entry is committed, and rejects
 * when it cannot be; entries of read-only tools are committed in groups a few milliseconds later, and nobody waits.
 */
export interface AuditLog extends CallLog {
  /** Resolves when it is committed, rejects when it cannot be, and then it is not kept either. */
  append(fact: AuditFact, options?: { synced?: boolean }): Promise<void>;
  /** Entries that fit, newest first, page by page. */
  query(filter?: AuditQuery & { limit?: number; cursor?: string }): Promise<AuditPage>;
  /** How many entries there are by tool, status and so on. */
  facets(filter?: AuditQuery): Promise<AuditFacets>;
  /** Everything about one call. */
  call(callId: string): Promise<CallHistory | undefined>;
  /** Oldest first, in the order of the chain; with `follow`, also what is added, until the signal is aborted. */
  entries(options?: { after?: number; follow?: boolean; signal?: AbortSignal }): AsyncIterable<AuditEntry>;
  /** The end of the chain, to compare with later. */
  head(): Promise<AuditHead>;
  /** Reads everything. With a head that was noted before, also what was cut off or rewritten since is found. */
  verify(anchor?: AuditHead): Promise<AuditReport>;
  /** Says of calls that had begun in processes which are gone that they are lost; returns what it said. */
  lost(): Promise<AuditEntry[]>;
  /** Commits what is waiting. Rejects where that is not possible. */
  flush(): Promise<void>;
}

/** Where calls are remembered. */
export interface CallLog {
  /**
   * Every stage before the effect has been passed: the tool runs next. A log that cannot write rejects, and a
   * tool that changes things does not run.
   */
  begun(call: Call): MaybePromise<void>;
  /** The call was answered; without `begun` before, it was refused or waits. */
  closed(call: Call, result: ToolResult): MaybePromise<void>;
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

/** Remembers the last calls in memory, without their content. */
export class MemoryCallLog implements CallLog {
  readonly #records: CallRecord[] = [];
  #next = 0;

  constructor(readonly capacity = 1000) {}

  /** Nothing outlives this process: calls that never end need not be found again. */
  begun(): void {}

  closed(call: Call, result: ToolResult): void {
    // A new object each time: filling an old one makes the garbage collector remember every field of it.
    this.#records[this.#next] = {
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
    this.#next = this.#next + 1 === this.capacity ? 0 : this.#next + 1;
  }

  recent(limit = this.capacity): readonly CallRecord[] {
    return [...this.#records.slice(this.#next), ...this.#records.slice(0, this.#next)].slice(-limit);
  }
}

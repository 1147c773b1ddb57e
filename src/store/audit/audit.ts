import { hash as hashText } from "node:crypto";
import type { ChangeEntry } from "../../calls/call-store.ts";
import { callKey } from "../../calls/calls.ts";
import { type Call, elapsedMs } from "../../core/call.ts";
import { definitionHash } from "../../core/definition.ts";
import { type RedactLimits, redactSecrets, secretNames } from "../../core/secrets/mask-secrets.ts";
import { hideAnswers, type ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type {
  AuditCounts,
  AuditEntry,
  AuditFacets,
  AuditFact,
  AuditHead,
  AuditKind,
  AuditLog,
  AuditPage,
  AuditQuery,
  AuditReport,
  CallerCounts,
  CallFacets,
  CallFilter,
  CallHistory,
  CallRecord,
  CallTree,
  VerifyOptions,
} from "../../gate/audit-log.ts";
import { audit, AUDIT_MIGRATIONS, auditHead, column, toEntry } from "./audit-chain.ts";
import { CallReader } from "./audit-calls.ts";
import { AuditIndex } from "./audit-index.ts";
import { AuditReader, toCallRecord } from "./audit-query.ts";
import { verifyAudit } from "./audit-verify.ts";
import { findLost } from "./lost-calls.ts";
import type { AuditWrite, GroupTransaction, GroupWriter, RunningCall } from "../group-writer.ts";
import type { StoreContext, StoreModule } from "../table.ts";

export const auditModule: StoreModule<SqlAuditLog> = {
  migrations: AUDIT_MIGRATIONS,
  async open(context) {
    const log = new SqlAuditLog(context);
    const lost = await log.lost();
    if (lost.length > 0) context.warn(describeLost(lost));
    log.index.start();
    return log;
  },
  close: (log) => log.index.close(),
};

const PAGE = 500;
/** Commits of other processes wake those who follow, those of this process do not. */
const FOLLOW_MS = 100;

/** What the log knows about a call that has begun. */
interface Recorded extends RunningCall {
  /** The entry of the beginning, until it is written. If the call ends before, it becomes the entry of both. */
  waiting?: AuditWrite | undefined;
  /** The end, and a correction of it, were written together with the state of the call. */
  isEndWritten: boolean;
  isCorrectionWritten: boolean;
}

const MAX_RESULTS = 200;
const MAX_RESULT_CHARACTERS = 16 * 1024 * 1024;

/** The last results of this process, for those who watch. */
class RecentResults {
  #newest: { user: string | undefined; result: ToolResult; characters: number }[] = [];
  #characters = 0;

  add(user: string | undefined, result: ToolResult): void {
    let characters = result.display.length;
    for (const part of result.content)
      characters += part.type === "text" ? part.text.length : JSON.stringify(part).length;
    this.#newest.push({ user, result, characters });
    this.#characters += characters;
    // Seldom, because the rest is copied.
    if (this.#newest.length < 2 * MAX_RESULTS && this.#characters < MAX_RESULT_CHARACTERS) return;
    this.#newest = this.#newest.slice(-MAX_RESULTS);
    while (this.#sum() > MAX_RESULT_CHARACTERS / 2 && this.#newest.length > 1) this.#newest.shift();
    this.#characters = this.#sum();
  }

  find(callId: string, user: string | undefined): ToolResult | undefined {
    return this.#newest.findLast((kept) => kept.result.callId === callId && kept.user === user)?.result;
  }

  #sum(): number {
    return this.#newest.reduce((sum, { characters }) => sum + characters, 0);
  }
}

export class SqlAuditLog implements AuditLog {
  readonly #context: StoreContext;
  readonly #writer: GroupWriter;
  readonly #redact: Redact;
  readonly #results = new RecentResults();
  readonly #recorded = new WeakMap<Call, Recorded>();
  readonly #reader: AuditReader;
  readonly #calls: CallReader;
  /** Its counters and words. */
  readonly index: AuditIndex;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#writer = context.writer;
    this.index = new AuditIndex(context.database, async () => (await this.#head()).count);
    this.#reader = new AuditReader(context.database, this.index);
    this.#calls = new CallReader(context.database, this.index, this.#reader);
    const names = secretNames(context.secretNames ?? []);
    this.#redact = (value, limits) => redactSecrets(value, { ...limits, names });
  }

  begun(call: Call): MaybePromise<void> {
    if (this.#recorded.get(call)) return;
    if (!call.tool?.isReadOnly) return this.#begin(call, async () => true).then(nothing);
    const recorded = this.#newRecord();
    this.#recorded.set(call, recorded);
    const at = this.#context.clock.now();
    const waiting: AuditWrite = {
      opens: recorded,
      draft: () => {
        recorded.waiting = undefined;
        return this.#writer.draft(describeBegun(call, this.#redact), at);
      },
    };
    if (this.#writer.keep(waiting)) recorded.waiting = waiting;
    const { failure } = this.#writer;
    if (failure) throw new Error(`${failure.message} The entry is kept in memory until the store can be written.`);
  }

  resultOf(callId: string, user: string | undefined): ToolResult | undefined {
    return this.#results.find(callId, user);
  }

  beginEntry(call: Call): ChangeEntry {
    return { commitWith: (apply, options) => this.#begin(call, apply, options) };
  }

  closed(call: Call, result: ToolResult): MaybePromise<void> {
    this.#results.add(call.caller.user, result);
    const recorded = this.#recorded.get(call);
    if (recorded?.isEndWritten) return;
    const { waiting } = recorded ?? {};
    const end = this.#end(call, result);
    // A call that may have changed something returns after its end is written.
    if (recorded && !call.tool?.isReadOnly) return this.#writer.commit(end);
    if (waiting) replace(waiting, end);
    else this.#writer.keep(end);
    return this.#writer.relieve();
  }

  endEntry(call: Call, result: ToolResult, isLate: boolean): ChangeEntry {
    // A late result was measured when it came.
    const timed = isLate ? result : this.#timed(call, result);
    const recorded = this.#recorded.get(call);
    return {
      commitWith: async (apply, options) => {
        const { waiting } = recorded ?? {};
        // The entry that follows has everything.
        if (waiting) replace(waiting, { draft: () => undefined });
        const end = (): AuditWrite => (isLate ? this.#correction(call, timed) : this.#end(call, timed));
        const isWritten = await this.#commitWith(apply, end, { exclusive: options?.exclusive ?? false });
        if (recorded && isWritten && isLate) recorded.isCorrectionWritten = true;
        else if (recorded && isWritten) recorded.isEndWritten = true;
        return isWritten;
      },
    };
  }

  async corrected(call: Call, result: ToolResult): Promise<void> {
    if (!this.#recorded.get(call)?.isCorrectionWritten) await this.#writer.commit(this.#correction(call, result));
  }

  /** The entry is written only if the change changes something. */
  #commitWith(
    apply: (tx: never) => Promise<boolean>,
    entry: () => AuditWrite,
    options?: { synced?: boolean; exclusive?: boolean },
  ): Promise<boolean> {
    const write = async (tx: GroupTransaction): Promise<boolean> => {
      const isApplied = await apply(tx as never);
      if (isApplied) tx.append(entry());
      return isApplied;
    };
    return this.#writer.write(write, { exclusive: false, ...options });
  }

  #newRecord(): Recorded {
    return { seq: undefined, waiting: undefined, isEndWritten: false, isCorrectionWritten: false };
  }

  async #begin(
    call: Call,
    apply: (tx: never) => Promise<boolean>,
    options?: { synced?: boolean; exclusive?: boolean },
  ): Promise<boolean> {
    const recorded = this.#newRecord();
    const draft = this.#writer.draft(describeBegun(call, this.#redact));
    const isWritten = await this.#commitWith(apply, () => ({ opens: recorded, draft: () => draft }), options);
    if (isWritten) this.#recorded.set(call, recorded);
    return isWritten;
  }

  #end(call: Call, result: ToolResult): AuditWrite {
    const recorded = this.#recorded.get(call);
    const isWhole = !recorded || recorded.waiting !== undefined;
    const fact = describeAnswer(call, result, { began: recorded !== undefined, isWhole, redact: this.#redact });
    const draft = this.#writer.draft(fact);
    return { closes: isWhole ? undefined : recorded, draft: () => draft };
  }

  #correction(call: Call, result: ToolResult): AuditWrite {
    const fact = describeAnswer(call, result, { began: true, isWhole: false, redact: this.#redact });
    const draft = this.#writer.draft({ ...fact, kind: "call_corrected" });
    return { draft: () => draft };
  }

  /** The gate measures a call when it leaves the last stage. This entry is written before that. */
  #timed(call: Call, result: ToolResult): ToolResult {
    if (result.status === "pending") return result;
    const now = this.#context.clock.monotonic();
    const completedAt = call.startedAt + Math.round(now - call.startedMonotonic);
    return { ...result, durationMs: elapsedMs(call, now), completedAt };
  }

  async append(fact: AuditFact, { synced = false } = {}): Promise<void> {
    const data = this.#redact(fact.data ?? {}) as Record<string, unknown>;
    const draft = this.#writer.draft({ ...fact, data });
    await this.#writer.write((tx) => tx.append({ draft: () => draft }), { synced });
  }

  async recent(limit = 1000): Promise<readonly CallRecord[]> {
    await this.#settle();
    const newest = "WHERE status IS NOT NULL AND kind LIKE 'call%' ORDER BY seq DESC LIMIT ?";
    const rows = await audit.select(this.#context.database.reader, audit.keys, newest, [limit]);
    const all = rows.map(toEntry);
    const corrected = new Set(all.flatMap((entry) => (entry.kind === "call_corrected" ? keyOf(entry) : [])));
    const entries = all.filter((entry) => !isReplaced(entry, corrected));
    return entries.map(toCallRecord).reverse();
  }

  async query(filter?: AuditQuery & { limit?: number; cursor?: string }): Promise<AuditPage> {
    await this.#settle();
    return this.#reader.query(filter);
  }

  async facets(filter?: AuditQuery): Promise<AuditFacets> {
    await this.#settle();
    return this.#reader.facets(filter);
  }

  async counts(range: Parameters<AuditLog["counts"]>[0]): Promise<AuditCounts[]> {
    await this.#settle();
    return this.#reader.counts(range);
  }

  async callerCounts(range: Parameters<AuditLog["counts"]>[0]): Promise<CallerCounts[]> {
    await this.#settle();
    return this.#reader.callerCounts(range);
  }

  async calls(filter: CallFilter & { limit?: number; cursor?: string } = {}): Promise<AuditPage> {
    await this.#settle();
    return this.#calls.list(filter);
  }

  withInputs(entries: readonly AuditEntry[]): Promise<AuditEntry[]> {
    return this.#calls.withInputs(entries);
  }

  async callFacets(filter: CallFilter = {}): Promise<CallFacets> {
    await this.#settle();
    return this.#calls.facets(filter);
  }

  async tree(callId: string, options?: Parameters<AuditLog["tree"]>[1]): Promise<CallTree | undefined> {
    await this.#settle();
    return this.#calls.tree(callId, options);
  }

  /** The name of this process in its entries. */
  get owner(): string {
    return this.#context.owners.id;
  }

  async call(callId: string): Promise<CallHistory | undefined> {
    await this.#settle();
    const { database } = this.#context;
    const rows = await audit.select(database, audit.keys, "WHERE call_id = ? ORDER BY seq", [column(callId)]);
    if (rows.length === 0) return undefined;
    const nested = await database.all<{ call_id: string }>(
      "SELECT call_id FROM audit WHERE parent_id = ? AND call_id IS NOT NULL GROUP BY call_id ORDER BY MIN(seq)",
      [column(callId)],
    );
    return { callId, entries: rows.map(toEntry), nested: nested.map(({ call_id }) => call_id) };
  }

  async *entries({
    after = 0,
    follow = false,
    signal,
  }: Parameters<AuditLog["entries"]>[0] = {}): AsyncGenerator<AuditEntry> {
    const { database } = this.#context;
    const bell = new Bell();
    const stop = follow ? database.watch(() => bell.ring()) : undefined;
    const ring = (): void => bell.ring();
    signal?.addEventListener("abort", ring);
    let position = after;
    try {
      while (!signal?.aborted) {
        await this.#settle();
        const page = `WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`;
        // One that follows finds few new entries at a time.
        const isFew = follow && position > 0 && (await this.#head()).count - position < PAGE / 10;
        const rows = await audit.select(isFew ? database : database.reader, audit.keys, page, [position]);
        for (const row of rows) {
          position = row.seq;
          yield toEntry(row);
        }
        if (rows.length > 0) continue;
        if (!follow) return;
        await bell.wait(FOLLOW_MS);
      }
    } finally {
      stop?.();
      signal?.removeEventListener("abort", ring);
    }
  }

  async head(): Promise<AuditHead> {
    await this.#settle();
    return this.#head();
  }

  async verify(anchor?: AuditHead, options: VerifyOptions = {}): Promise<AuditReport> {
    await this.#settle();
    const { database, clock } = this.#context;
    return verifyAudit(database, { ...options, anchor, now: clock.now() });
  }

  lost(): Promise<AuditEntry[]> {
    return findLost(this.#context);
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  async #head(): Promise<AuditHead> {
    const [head] = await auditHead.select(this.#context.database, ["count", "hash"], "WHERE id = 1");
    return head ?? { count: 0, hash: "" };
  }

  /** Readers see all entries that were added before, except those that cannot be written now. */
  async #settle(): Promise<void> {
    await this.#writer.flush().catch(() => undefined);
  }
}

/** Wakes who waits for it, or who waits next. */
class Bell {
  #isRung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  async wait(maxMs: number): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, maxMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isRung = false;
  }
}

/** Whether the entry is an unknown outcome that a later entry corrects. */
function isReplaced(entry: AuditEntry, corrected: ReadonlySet<string>): boolean {
  const { error } = entry.data as { error?: { code?: string } };
  return entry.kind === "call_ended" && error?.code === "unknown_outcome" && corrected.has(keyOf(entry));
}

/** Models number their calls: another session may have the same id. */
function keyOf({ callId = "", caller = {} }: AuditEntry): string {
  return callKey(caller, callId);
}

function describeLost(lost: readonly AuditEntry[]): string {
  const names = lost.slice(0, 5).map(({ toolName, callId }) => `${toolName ?? "a tool"} (${callId ?? "no id"})`);
  const more = lost.length > names.length ? ` and ${lost.length - names.length} more` : "";
  return (
    `${lost.length === 1 ? "A call was" : `${lost.length} calls were`} running when an earlier process ended: ` +
    `${names.join(", ")}${more}. Whether they took effect is unknown; check before you repeat them.`
  );
}

/** `redactSecrets` with the secret names of the store. */
type Redact = (value: unknown, limits?: RedactLimits) => unknown;

function nothing(): void {}

/** The entry that waits becomes another one. */
function replace(waiting: AuditWrite, by: AuditWrite): void {
  waiting.opens = by.opens;
  waiting.closes = by.closes;
  waiting.draft = by.draft;
}

/** What is recorded of a call before its effect. */
function describeBegun(call: Call, redact: Redact = redactSecrets): AuditFact {
  return { ...describe(call, "call_begun"), data: describeWhole(call, redact) };
}

interface AnswerOptions {
  began: boolean;
  /** There is no entry of the beginning, which has the tool, the input and the verdict. */
  isWhole: boolean;
  redact?: Redact;
}

/** What is recorded of a result. */
function describeAnswer(
  call: Call,
  result: ToolResult,
  { began, isWhole, redact = redactSecrets }: AnswerOptions,
): AuditFact {
  const { metadata } = result;
  // Values that are undefined are not written.
  const data = isWhole ? describeWhole(call, redact) : classData(call);
  data["startedAt"] = call.startedAt;
  data["completedAt"] = result.completedAt;
  data["durationMs"] = result.durationMs && Math.round(result.durationMs * 1000) / 1000;
  if (call.asked) {
    data["askedAt"] = call.asked.at;
    data["waitedMs"] = call.asked.waitedMs;
  }
  if (call.queuedMs >= 1) data["queuedMs"] = Math.round(call.queuedMs);
  if (result.status === "pending") data["pending"] = result.pending;
  if (result.status === "failed") {
    const { code, message } = result.error;
    data["error"] = { code, message: redact(message, { maxTextLength: 1000 }) };
  }
  data["summary"] = redact(hideAnswers(result).display, { maxTextLength: 500 });
  data["contentBytes"] = result.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  data["spill"] = metadata.spill;
  if (hasKeys(metadata)) data["metadata"] = redact(metadata, { maxTextLength: 300, maxTotalLength: 2000 });
  return { ...describe(call, kindOf(result, began)), status: result.status, data };
}

function hasKeys(value: object): boolean {
  for (const _key in value) return true;
  return false;
}

/** The tool, the input and the verdict. */
function describeWhole(call: Call, redact: Redact): Record<string, unknown> {
  const input = redact(call.accepted ?? call.input);
  const isInput = call.accepted === undefined || call.accepted === call.input;
  const digest = call.digest(isInput ? input : redact(call.input));
  return { ...classData(call), ...toolData(call, redact), input, ...verdictData(call, redact), digest };
}

/**
 * What lists filter by. First in the data, so a query finds it by the beginning of the text. The risk of a call that only
 * reads follows from its input, which its entry has.
 */
function classData({ tool, risk, secondPass, caller }: Call): Record<string, unknown> {
  const origin = secondPass?.kind === "job" ? "job" : caller.model === undefined ? undefined : "agent";
  return { risk, toolKind: tool?.kind, origin };
}

function kindOf(result: ToolResult, began: boolean): AuditKind {
  if (result.status === "pending") return "call_waiting";
  if (began) return "call_ended";
  return result.metadata.known === undefined ? "call_refused" : "call_known";
}

function describe(call: Call, kind: AuditKind): AuditFact {
  return {
    kind,
    callId: call.id,
    parentId: call.parent?.id,
    toolName: call.tool?.name ?? call.requestedName,
    caller: call.caller,
    verdict: call.verdict?.decision,
  };
}

function toolData({ tool, requestedName }: Call, redact: Redact): Record<string, unknown> {
  if (!tool) return { requestedName: redact(requestedName, { maxTextLength: 200 }) };
  return {
    toolVersion: tool.version,
    definition: definitionHash(tool, (text) => hashText("sha256", text)),
  };
}

function verdictData({ verdict }: Call, redact: Redact): Record<string, unknown> {
  if (!verdict) return {};
  const { decision: _decision, ...why } = verdict;
  return { verdict: redact(why, { maxTextLength: 500 }) };
}

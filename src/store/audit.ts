import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../core/call.ts";
import { secretNames } from "../core/mask-secret.ts";
import { redactSecrets } from "../core/redact-secrets.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise } from "../core/stage.ts";
import type {
  AuditEntry,
  AuditFact,
  AuditFacets,
  AuditHead,
  AuditLog,
  AuditPage,
  AuditQuery,
  AuditReport,
  CallHistory,
} from "../executor/audit-log.ts";
import type { CallRecord } from "../executor/call-log.ts";
import { AUDIT_MIGRATIONS, AUDIT_SELECT, type AuditRow, column, toEntry } from "./audit-row.ts";
import { AuditWriter } from "./audit-writer.ts";
import { describeAnswer, describeBegun, type Redact } from "./describe-call.ts";
import { findLost } from "./lost-calls.ts";
import { countFacets, queryAudit } from "./query-audit.ts";
import type { StoreContext, StoreModule } from "./store-part.ts";
import { toCallRecord } from "./to-call-record.ts";
import { verifyAudit } from "./verify-audit.ts";

export const auditModule: StoreModule<SqlAuditLog> = {
  migrations: AUDIT_MIGRATIONS,
  async open(context) {
    const audit = new SqlAuditLog(context);
    const lost = await audit.lost();
    if (lost.length > 0) context.warn(describeLost(lost));
    return audit;
  },
  close: (audit) => audit.close(),
};

const PAGE = 500;
const FOLLOW_MS = 250;

export class SqlAuditLog implements AuditLog {
  readonly #context: StoreContext;
  readonly #writer: AuditWriter;
  readonly #redact: Redact;
  /** Calls that have begun, by what tells one run from another: callers may use an id twice. */
  readonly #runs = new WeakMap<Call, string>();
  #nextRun = 1;

  constructor(context: StoreContext) {
    this.#context = context;
    const names = secretNames(context.secretNames ?? []);
    this.#redact = (value, limits) => redactSecrets(value, { ...limits, names });
    this.#writer = new AuditWriter(context.database, context.owners.id, () => context.clock.now());
  }

  begun(call: Call): MaybePromise<void> {
    const run = `${this.#context.owners.id}/${this.#nextRun++}`;
    const fact = describeBegun(call, this.#redact);
    if (!call.tool?.isReadOnly) {
      return this.#writer.commit(fact, { opens: run }).then(() => void this.#runs.set(call, run));
    }
    this.#runs.set(call, run);
    this.#writer.add(fact, { opens: run });
    const { failure } = this.#writer;
    if (failure) throw new Error(`${failure.message} The entry is kept in memory until the store can be written.`);
  }

  closed(call: Call, result: ToolResult): MaybePromise<void> {
    const run = this.#runs.get(call);
    const fact = describeAnswer(call, result, { began: run !== undefined, redact: this.#redact });
    const options = { closes: run, isKept: true };
    // What changed something is not answered before its end is written.
    if (run !== undefined && !call.tool?.isReadOnly) return this.#writer.commit(fact, options);
    this.#writer.add(fact, options);
  }

  append(fact: AuditFact, { synced = false } = {}): Promise<void> {
    const data = this.#redact(fact.data ?? {}) as Record<string, unknown>;
    return this.#writer.commit({ ...fact, data }, { synced });
  }

  async recent(limit = 1000): Promise<readonly CallRecord[]> {
    await this.#settle();
    const rows = await this.#context.database.all<AuditRow>(
      `${AUDIT_SELECT} WHERE status IS NOT NULL AND kind LIKE 'call%' ORDER BY seq DESC LIMIT ?`,
      [limit],
    );
    return rows.map(toEntry).map(toCallRecord).reverse();
  }

  async query(filter?: AuditQuery & { limit?: number; cursor?: string }): Promise<AuditPage> {
    await this.#settle();
    return queryAudit(this.#context.database, filter);
  }

  async facets(filter?: AuditQuery): Promise<AuditFacets> {
    await this.#settle();
    return countFacets(this.#context.database, filter);
  }

  async call(callId: string): Promise<CallHistory | undefined> {
    await this.#settle();
    const { database } = this.#context;
    const rows = await database.all<AuditRow>(`${AUDIT_SELECT} WHERE call_id = ? ORDER BY seq`, [column(callId)]);
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
    let position = after;
    while (!signal?.aborted) {
      await this.#settle();
      const rows = await database.all<AuditRow>(`${AUDIT_SELECT} WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`, [position]);
      for (const row of rows) {
        position = row.seq;
        yield toEntry(row);
      }
      if (rows.length > 0) continue;
      if (!follow) return;
      await sleep(FOLLOW_MS, undefined, signal ? { signal } : {}).catch(() => undefined);
    }
  }

  async head(): Promise<AuditHead> {
    await this.#settle();
    const [head] = await this.#context.database.all<AuditHead>("SELECT count, hash FROM audit_head WHERE id = 1");
    return head ?? { count: 0, hash: "" };
  }

  async verify(anchor?: AuditHead): Promise<AuditReport> {
    await this.#settle();
    return verifyAudit(this.#context.database, anchor);
  }

  lost(): Promise<AuditEntry[]> {
    return findLost(this.#context);
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Readers see what was said before they asked; what cannot be written now is not there yet. */
  async #settle(): Promise<void> {
    await this.#writer.flush().catch(() => undefined);
  }
}

function describeLost(lost: readonly AuditEntry[]): string {
  const names = lost.slice(0, 5).map(({ toolName, callId }) => `${toolName ?? "a tool"} (${callId ?? "no id"})`);
  const more = lost.length > names.length ? ` and ${lost.length - names.length} more` : "";
  return (
    `${lost.length === 1 ? "A call was" : `${lost.length} calls were`} under way when an earlier process ended: ` +
    `${names.join(", ")}${more}. Whether they took effect is not known; check before making them again.`
  );
}

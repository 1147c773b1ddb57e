import {
  type Charge,
  chargeRefused,
  type Grant,
  type GrantBudget,
  type GrantChange,
  type GrantEnd,
  type GrantHolder,
  type GrantQuery,
  type GrantRows,
  isUsedUp,
  refusalOfCharge,
  type Settlement,
} from "../calls/grants.ts";
import { counted, extended, givenBack, type LimitCharge, type LimitCounter, type LimitRows } from "../calls/limits.ts";
import { SKEW_MS } from "../core/clock.ts";
import type { SqlRunner, SqlValue } from "./database.ts";
import type { GroupTransaction } from "./group-writer.ts";
import { integer, json, optional, type StoreContext, table, text } from "./table.ts";

const grants = table("grants", {
  id: text("NOT NULL PRIMARY KEY"),
  holder: json<GrantHolder>(),
  /** Of the holder, as JSON: null if any session may use it, "null" if only callers without one. */
  session: optional(text()),
  rules: json<readonly string[]>(),
  tools: json<Readonly<Record<string, string>>>(),
  until: optional(integer()),
  maxUses: optional(integer()),
  budgetUnit: optional(text()),
  budgetMax: optional(integer()),
  used: integer(),
  spent: integer(),
  unknown: integer(),
  why: json<string>(),
  grantedBy: optional(json<string>()),
  grantedVia: optional(json<string>()),
  createdAt: integer(),
  ended: optional(text<GrantEnd>()),
  endedAt: optional(integer()),
  endedBy: optional(json<string>()),
});

/** A part of the tables of calls: both are written in one transaction. */
export const GRANT_TABLES: readonly string[] = [
  grants.create,
  "CREATE INDEX grants_open ON grants (created_at) WHERE ended IS NULL",
];

const counters = table("limit_counters", {
  id: text("NOT NULL PRIMARY KEY"),
  counter: json<LimitCounter>(),
  usedAt: integer(),
  /** When nothing of it counts any more. Null: it always counts. */
  endsAt: optional(integer()),
});

export const LIMIT_TABLES: readonly string[] = [
  counters.create,
  "CREATE INDEX limit_counters_used ON limit_counters (used_at)",
];

type GrantRow = Omit<Grant, "budget" | "by" | "via"> & {
  session?: string;
  budgetUnit?: string;
  budgetMax?: number;
  grantedBy?: string;
  grantedVia?: string;
};

/** Only a grant that still counts, and has enough left, is charged. What was read before does not matter. */
const CHARGE = `UPDATE grants SET used = used + 1, spent = spent + CASE WHEN budget_max IS NULL THEN 0 ELSE ? END
  WHERE id = ? AND ended IS NULL AND (until IS NULL OR (until > ? AND created_at <= ?))
  AND (max_uses IS NULL OR used < max_uses)
  AND (budget_max IS NULL OR (budget_unit = ? AND spent + ? <= budget_max))`;
const COUNT = `UPDATE grants SET used = used + ?, spent = spent + CASE WHEN budget_max IS NULL THEN 0 ELSE ? END,
  unknown = unknown + ? WHERE id = ?`;
/** No unit has this name. */
const NO_UNIT = "";

export class SqlGrantRows implements GrantRows {
  readonly limits: SqlLimitRows;
  readonly #context: StoreContext;
  readonly #listeners: ((grant: Grant) => void)[] = [];

  constructor(context: StoreContext) {
    this.#context = context;
    this.limits = new SqlLimitRows(context);
  }

  async insert(grant: Grant): Promise<void> {
    await this.#write(async (tx) => {
      await grants.insert(tx, toRow(grant));
      this.#audit(tx, grant, "granted", grant.by);
    });
  }

  async get(id: string): Promise<Grant | undefined> {
    return readGrant(this.#context.database, id);
  }

  async list({ isOpen, of, max }: GrantQuery): Promise<Grant[]> {
    const conditions = [isOpen ? "ended IS NULL" : "", of ? "(session IS NULL OR session = ?)" : ""].filter(Boolean);
    const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
    const values: SqlValue[] = [...(of ? [JSON.stringify(of.session ?? null)] : []), max];
    const clause = `${where} ORDER BY created_at DESC, id LIMIT ?`;
    return (await grants.select(this.#context.database, grants.keys, clause, values)).map(toGrant);
  }

  change(
    id: string,
    change: (grant: Grant) => Partial<Grant> | undefined,
    fact: { change: GrantChange; by?: string | undefined },
  ): Promise<Grant | undefined> {
    return this.#write(async (tx) => {
      // Locks the row, so that the counters that are read are those that are changed.
      await tx.run("UPDATE grants SET used = used WHERE id = ?", [id]);
      const grant = await readGrant(tx, id);
      const changes = grant && !grant.ended ? change(grant) : undefined;
      if (!grant || !changes) return undefined;
      const changed = { ...grant, ...changes };
      await grants.upsert(tx, toRow(changed), ["id"]);
      this.#audit(tx, changed, changed.ended ?? fact.change, fact.by);
      return changed;
    });
  }

  onUsedUp(listener: (grant: Grant) => void): void {
    this.#listeners.push(listener);
  }

  /** In the transaction of the row. Throws if a charge is refused. Returns the grants that are used up by it. */
  async settle(tx: GroupTransaction, { made, counted, limits }: Settlement): Promise<Grant[]> {
    const usedUp: Grant[] = [];
    await this.limits.settle(tx, limits);
    for (const charge of made) {
      const used = await this.#charge(tx, charge);
      if (!isUsedUp(used)) continue;
      usedUp.push(used);
      this.#audit(tx, used, "used_up", undefined);
    }
    for (const { grant, used, spent, unknown } of counted) await tx.run(COUNT, [used, spent, unknown, grant]);
    return usedUp;
  }

  /** After the commit. */
  announce(usedUp: readonly Grant[]): void {
    for (const grant of usedUp) for (const listener of this.#listeners) listener(grant);
  }

  async #charge(tx: GroupTransaction, charge: Charge): Promise<Grant> {
    const { grant: id, amount = 0, unit = NO_UNIT } = charge;
    const now = this.#context.clock.now();
    const { changes } = await tx.run(CHARGE, [amount, id, now, now + SKEW_MS, unit, amount]);
    const grant = await readGrant(tx, id);
    if (changes === 1 && grant) return grant;
    throw chargeRefused(id, refusalOfCharge(grant, charge, now) ?? "was used up by another call");
  }

  /** The lock of the log first, as charges do: otherwise two transactions may wait for each other. */
  #write<T>(work: (tx: GroupTransaction) => Promise<T>): Promise<T> {
    return this.#context.writer.write(work, { synced: true });
  }

  #audit(tx: GroupTransaction, grant: Grant, change: GrantChange, by: string | undefined): void {
    const { id, holder, rules, until, maxUses, budget, used, spent, why, via } = grant;
    const { user, session, agent, task } = holder;
    const caller = {
      user: user ?? undefined,
      session: session ?? undefined,
      agent: agent ?? undefined,
      task,
    };
    const data = { grant: id, change, by, via, rules, until, maxUses, budget, used, spent, why };
    const draft = this.#context.writer.draft({ kind: "grant", caller, data });
    tx.append({ draft: () => draft });
  }
}

/**
 * What was used of limits. Every transaction that changes a counter has the lock of the audit log first, so what it reads is what it
 * changes.
 */
class SqlLimitRows implements LimitRows {
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  get(ids: readonly string[]): Promise<LimitCounter[]> {
    return readCounters(this.#context.database, ids);
  }

  async list(max: number): Promise<LimitCounter[]> {
    const rows = await counters.select(this.#context.database, ["counter"], "ORDER BY used_at DESC, id LIMIT ?", [max]);
    return rows.map(({ counter }) => counter);
  }

  add(charges: readonly LimitCharge[]): Promise<void> {
    return this.#context.writer.write(async (tx) => {
      for (const charge of charges) await this.#count(tx, charge, true);
    });
  }

  extend(id: string, amount: number, by: string | undefined): Promise<LimitCounter | undefined> {
    const { clock, writer } = this.#context;
    const work = async (tx: GroupTransaction): Promise<LimitCounter | undefined> => {
      const [known] = await readCounters(tx, [id]);
      if (!known) return undefined;
      const counter = extended(known, amount, clock.now());
      await this.#put(tx, counter);
      const data = { limit: id, change: "extended", by, text: counter.text, amount, unit: counter.unit };
      const draft = writer.draft({ kind: "grant", caller: { user: by }, data });
      tx.append({ draft: () => draft });
      return counter;
    };
    return writer.write(work, { synced: true });
  }

  /** Throws if a limit has no room. */
  async settle(tx: GroupTransaction, { made, back }: Settlement["limits"]): Promise<void> {
    for (const charge of made) await this.#count(tx, charge);
    for (const charge of back) {
      const [counter] = await readCounters(tx, [charge.grant]);
      if (counter) await this.#put(tx, givenBack(counter, charge));
    }
  }

  async #count(tx: GroupTransaction, charge: LimitCharge, isDone?: boolean): Promise<void> {
    const [known] = await readCounters(tx, [charge.grant]);
    await this.#put(tx, counted(known, charge, this.#context.clock.now(), isDone));
  }

  async #put(tx: GroupTransaction, counter: LimitCounter): Promise<void> {
    const usedAt = this.#context.clock.now();
    const { id, perMs } = counter;
    const last = Math.max(usedAt, ...counter.slots.map(([at]) => at), ...counter.extras.map(([until]) => until));
    const endsAt = perMs === undefined ? undefined : last + 2 * perMs;
    await counters.upsert(tx, { id, counter, usedAt, endsAt }, ["id"]);
  }

  async prune(): Promise<void> {
    await this.#context.database.run("DELETE FROM limit_counters WHERE ends_at < ?", [this.#context.clock.now()]);
  }
}

async function readCounters(db: Pick<SqlRunner, "all">, ids: readonly string[]): Promise<LimitCounter[]> {
  const where = `WHERE id IN (${ids.map(() => "?").join(", ")})`;
  return (await counters.select(db, ["counter"], where, ids)).map(({ counter }) => counter);
}

async function readGrant(db: Pick<SqlRunner, "all">, id: string): Promise<Grant | undefined> {
  const [row] = await grants.select(db, grants.keys, "WHERE id = ?", [id]);
  return row && toGrant(row);
}

function toGrant(read: GrantRow): Grant {
  const { session: _session, budgetUnit: unit, budgetMax: max, grantedBy: by, grantedVia: via, ...row } = read;
  const budget: GrantBudget | undefined = unit === undefined || max === undefined ? undefined : { unit, max };
  return { ...row, budget, by, via };
}

function toRow({ budget, by: grantedBy, via: grantedVia, ...grant }: Grant): GrantRow {
  const { session } = grant.holder;
  const columns = { budgetUnit: budget?.unit, budgetMax: budget?.max, grantedBy, grantedVia };
  return { ...grant, ...columns, session: session === undefined ? undefined : JSON.stringify(session) };
}

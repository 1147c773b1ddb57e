import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/setup/until.ts";
import type { JobNews } from "../../calls/job-rows.ts";
import { claim, take } from "../../calls/stored-call.ts";
import type { SqlTransaction } from "../database.ts";
import { openStore, type Store } from "../store.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()), 120_000);
afterAll(() => server.stop());

async function open(url: string): Promise<Store> {
  const store = await openStore({ url });
  onTestFinished(() => store.close());
  return store;
}

/** Submits this many jobs at once; returns their ids. */
async function submit({ jobs }: Store, count: number): Promise<string[]> {
  const call = { toolName: "tool", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {}, idempotent: true };
  const made = Array.from({ length: count }, (_, n) =>
    jobs.submit({ call: { ...call, callId: `c${n}` }, priority: 0, delayMs: 0, attempts: 1 }),
  );
  return (await Promise.all(made)).map(({ id }) => id);
}

const DUE = { tools: ["tool"], max: 100 };

describe("jobs on PostgreSQL", () => {
  test("of one turn are inserted, taken and claimed with one statement each, whatever their number", async () => {
    const store = await open(await server.createDatabase());
    await submit(store, 1);
    const texts: string[] = [];
    const { query } = pg.Client.prototype;
    onTestFinished(() => void (pg.Client.prototype.query = query));
    pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
      texts.push(String(given[0]));
      return Reflect.apply(query, this, given);
    } as typeof query;
    const writes = (): string[] =>
      texts.splice(0).filter((text) => /^(?:INSERT INTO|UPDATE) (?:calls|jobs_head)/.test(text));
    const ids = await submit(store, 40);
    // And one for the numbers by which they are ordered.
    expect(writes()).toHaveLength(2);
    const { calls } = store;
    const taken = await calls.takeDue({ ...DUE, at: Date.now() + 1000 }, (row) => take(calls.processId, "w")(row, 1));
    expect(taken).toHaveLength(ids.length + 1);
    expect(writes()).toHaveLength(1);
    const start = claim(calls.processId, () => false);
    const claimed = await Promise.all(taken.map(({ id }) => calls.change(id, (row) => start(row, 1))));
    expect(claimed.map((row) => row?.state)).toEqual(taken.map(() => "running"));
    expect(writes()).toHaveLength(1);
  });

  test("of two changes of one row in the same group none is lost", async () => {
    const store = await open(await server.createDatabase());
    const [id = ""] = await submit(store, 1);
    const changes = Array.from({ length: 20 }, () => store.calls.change(id, ({ lost }) => ({ lost: lost + 1 })));
    expect((await Promise.all(changes)).map((row) => row?.lost).toSorted((a, b) => a! - b!)).toEqual(
      changes.map((_, n) => n + 1),
    );
    expect((await store.calls.get(id))?.lost).toBe(20);
  });

  test("a change is reported although a later transaction was committed before it, and each once", async () => {
    const url = await server.createDatabase();
    const [one, other] = [await open(url), await open(url)];
    const [slow = "", fast = "", first = ""] = await submit(one, 3);
    const news: string[] = [];
    const report = (event: JobNews): void => void (event.type === "changed" && news.push(event.row.id));
    other.calls.jobs.watch(report);
    const { changeNumbers } = one.database;
    const change = `UPDATE calls SET job_change = ${changeNumbers?.own}, changed_by = 'somebody' WHERE id = ?`;
    // It reports what happens after its first look.
    await until(async () => (await one.database.transaction((tx) => tx.run(change, [first])), news.includes(first)));
    await one.database.transaction(async (tx) => {
      await tx.run(change, [slow]);
      await one.database.transaction((later) => later.run(change, [fast]));
      await until(() => news.includes(fast));
    });
    await until(() => news.includes(slow));
    const [next = ""] = await submit(one, 1);
    await until(() => news.includes(next));
    expect(news.filter((id) => id !== first)).toEqual([fast, slow, next]);
  });

  test("nothing is committed if the last statements fail, on the server or before", async () => {
    const { database } = await open(await server.createDatabase());
    await database.run("CREATE TABLE t (a BIGINT PRIMARY KEY)");
    const insert = "INSERT INTO t VALUES (?)";
    const write = (fails: (tx: SqlTransaction) => Promise<unknown>): Promise<void> =>
      database.transaction(async (tx) => {
        await tx.run(insert, [1]);
        tx.last?.(fails(tx));
      });
    await expect(write((tx) => Promise.all([tx.run(insert, [2]), tx.run(insert, [1])]))).rejects.toThrow(/duplicate/);
    await expect(write((tx) => tx.run(insert, [Number.NaN]))).rejects.toThrow(/NaN/);
    expect(await database.all("SELECT a FROM t")).toEqual([]);
    await write((tx) => tx.run(insert, [2]));
    expect(await database.all("SELECT a FROM t ORDER BY a")).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("commits are announced as often as others look, not each of them", async () => {
    const url = await server.createDatabase();
    const { database } = await open(url);
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    let heard = 0;
    client.on("notification", () => void heard++);
    await client.query("LISTEN haft_changes");
    const commit = (): Promise<unknown> => database.transaction((tx) => tx.run("UPDATE jobs_head SET line = line"));
    await Promise.all(Array.from({ length: 400 }, commit));
    await until(() => heard > 0);
    // Each would be 400. How many there are depends on how long the commits take.
    expect(heard).toBeLessThan(200);
  });
});

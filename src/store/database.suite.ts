import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import type { SqlDatabase } from "./database.ts";

/** What tables may rely on, whichever database lies below. */
export function describeSqlDatabase(name: string, create: () => Promise<() => Promise<SqlDatabase>>): void {
  const open = async () => (await create())();
  describe(`a database on ${name}`, () => {
    const opened: SqlDatabase[] = [];

    async function start(): Promise<SqlDatabase> {
      const database = await open();
      opened.push(database);
      await database.run("CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT, size DOUBLE PRECISION)");
      return database;
    }

    afterEach(async () => {
      for (const database of opened.splice(0)) await database.close();
    });

    const ids = async (database: SqlDatabase): Promise<number[]> =>
      (await database.all<{ id: number }>("SELECT id FROM things ORDER BY id")).map(({ id }) => id);

    test("wakes those who wait for commits of another connection, and nobody after that", async () => {
      const connect = await create();
      const [database, other] = [await connect(), await connect()];
      opened.push(database, other);
      let calls = 0;
      let end = (): void => undefined;
      await new Promise<void>((resolve) => {
        end = database.watch(() => {
          calls += 1;
          resolve();
        });
        setTimeout(() => void other.transaction((tx) => tx.run("CREATE TABLE another (id BIGINT)")), 50);
      });
      end();
      calls = 0;
      await other.transaction((tx) => tx.run("INSERT INTO another VALUES (1)"));
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(calls).toBe(0);
    });

    test("gives back what was put in: text, large integers, fractions and nothing", async () => {
      const database = await start();
      const text = 'it\'s ? "quoted" ünïcödé 😀 \\ %_\n';
      await database.run("INSERT INTO things (id, name, size) VALUES (?, ?, ?)", [1_763_190_000_123, text, 1.5]);
      await database.run("INSERT INTO things (id, name, size) VALUES (?, ?, ?)", [Number.MAX_SAFE_INTEGER, null, 3]);
      expect(await database.all("SELECT id, name, size FROM things ORDER BY id")).toEqual([
        { id: 1_763_190_000_123, name: text, size: 1.5 },
        { id: Number.MAX_SAFE_INTEGER, name: null, size: 3 },
      ]);
    });

    test("counts and sums as numbers", async () => {
      const database = await start();
      for (const id of [1, 2, 3]) await database.run("INSERT INTO things (id) VALUES (?)", [id]);
      expect(await database.all("SELECT COUNT(*) AS n, SUM(id) AS s, MAX(id) AS m FROM things")).toEqual([
        { n: 3, s: 6, m: 3 },
      ]);
    });

    test("keeps bytes", async () => {
      const database = await start();
      await database.run(database.toNativeTypes("CREATE TABLE blobs (id INTEGER PRIMARY KEY, content BLOB)"));
      expect([await database.hasTable("blobs"), await database.hasTable("blob")]).toEqual([true, false]);
      const bytes = Uint8Array.from({ length: 300 }, (_, i) => i % 256);
      await database.run("INSERT INTO blobs (id, content) VALUES (?, ?)", [1, bytes.subarray(10)]);
      await database.run("INSERT INTO blobs (id, content) VALUES (?, ?)", [2, new Uint8Array(0)]);
      expect(await database.all("SELECT content FROM blobs ORDER BY id")).toEqual([
        { content: bytes.slice(10) },
        { content: new Uint8Array(0) },
      ]);
    });

    test("takes a question mark in text, names and comments as it is", async () => {
      const database = await start();
      const rows = await database.all(
        "SELECT 'what?' AS \"who?\", CAST(? AS BIGINT) AS n -- why?\n /* where? */ WHERE 'it''s?' = ?",
        [7, "it's?"],
      );
      expect(rows).toEqual([{ "who?": "what?", n: 7 }]);
    });

    test("says how many rows were changed, and returns them where asked", async () => {
      const database = await start();
      for (const id of [1, 2, 3]) await database.run("INSERT INTO things (id) VALUES (?)", [id]);
      const changes = await database.run("UPDATE things SET name = ? WHERE id > ?", ["x", 1]);
      expect(changes).toEqual({ changes: 2 });
      const again = await database.run("INSERT INTO things (id) VALUES (?) ON CONFLICT (id) DO NOTHING", [1]);
      expect(again).toEqual({ changes: 0 });
      expect(await database.run("UPDATE things SET name = ? RETURNING id", ["y"])).toEqual({ changes: 3 });
      expect(await database.all("DELETE FROM things WHERE id = ? RETURNING id, name", [2])).toEqual([
        { id: 2, name: "y" },
      ]);
      await database.transaction((tx) => tx.run("DELETE FROM things"));
      expect(await ids(database)).toEqual([]);
    });

    test.each([[true], [undefined], ["a\0b"], [Number.NaN], [2 ** 60], [10n], [new Date(0)], [{}], [[1]]])(
      "refuses %s as a value, and goes on",
      async (value) => {
        const database = await start();
        const insert = async () => await database.run("INSERT INTO things (id, name) VALUES (1, ?)", [value as never]);
        await expect(insert()).rejects.toThrow(TypeError);
        expect(await ids(database)).toEqual([]);
      },
    );

    test("commits a transaction as a whole, and undoes it when its work fails, now or later", async () => {
      const database = await start();
      await database.transaction(async (tx) => {
        await tx.run("INSERT INTO things (id) VALUES (1)");
        await tx.run("INSERT INTO things (id) VALUES (2)");
      });
      const failures: ((insert: () => unknown) => unknown)[] = [
        (insert) => {
          void insert();
          throw new Error("at once");
        },
        async (insert) => {
          await insert();
          throw new Error("later");
        },
        async (insert) => {
          await insert();
          await insert();
        },
      ];
      for (const fail of failures) {
        const run = async () =>
          await database.transaction((tx) => fail(() => tx.run("INSERT INTO things (id) VALUES (9)")) as Promise<void>);
        await expect(run()).rejects.toThrow(/at once|later|unique/i);
      }
      expect(await ids(database)).toEqual([1, 2]);
      expect(await database.transaction(() => "the result", { synced: true })).toBe("the result");
    });

    test("keeps transactions with asynchronous work apart, and whatever is asked outside of them", async () => {
      const database = await start();
      await database.run("INSERT INTO things (id, size) VALUES (1, 0)");
      const add = async (): Promise<void> => {
        await database.transaction(async (tx) => {
          await tx.lock("things");
          const [row] = await tx.all<{ size: number }>("SELECT size FROM things WHERE id = 1");
          await new Promise((done) => setTimeout(done, 1));
          await tx.run("UPDATE things SET size = ? WHERE id = 1", [row!.size + 1]);
        });
      };
      const failing = Promise.resolve(
        database.transaction(async (tx) => {
          await tx.run("INSERT INTO things (id) VALUES (5)");
          await new Promise((done) => setTimeout(done, 5));
          throw new Error("no");
        }),
      ).catch(() => undefined);
      // Must not become a part of the transaction that fails.
      const outside = database.run("INSERT INTO things (id) VALUES (6)");
      await Promise.all([failing, outside, ...Array.from({ length: 20 }, add)]);
      expect(await database.all("SELECT size FROM things WHERE id = 1")).toEqual([{ size: 20 }]);
      expect(await ids(database)).toEqual([1, 6]);
    });

    test("says how large it is, gives free space back, and finds nothing wrong", async () => {
      const database = await start();
      const text = randomBytes(5000).toString("hex");
      for (let id = 1; id <= 100; id++)
        await database.run("INSERT INTO things (id, name) VALUES (?, ?)", [id, text + id]);
      const { all, used } = await database.size();
      expect(used).toBeGreaterThan(0);
      expect(all).toBeGreaterThanOrEqual(used);
      await database.run("DELETE FROM things");
      await database.compact();
      const after = await database.size();
      expect(after.used).toBeLessThan(used);
      expect(after.all).toBeLessThan(all);
      expect(await database.check()).toEqual([]);
      expect(await ids(database)).toEqual([]);
    });

    test("says of a broken statement what is wrong, and works on", async () => {
      const database = await start();
      const ask = async (): Promise<unknown> => await database.all("SELECT nonsense FROM things");
      await expect(ask()).rejects.toThrow(/nonsense/);
      expect(await ids(database)).toEqual([]);
    });

    test("answers nobody after it was closed", async () => {
      const database = await start();
      await database.all("SELECT id FROM things");
      const pending = Promise.resolve(
        database.transaction(async (tx) => {
          await new Promise((done) => setTimeout(done, 2));
          await tx.run("INSERT INTO things (id) VALUES (1)");
        }),
      );
      const closed = database.close();
      await pending;
      await closed;
      await database.close();
      const ask = async (): Promise<unknown> => await database.all("SELECT id FROM things");
      await expect(ask()).rejects.toThrow("closed");
    });
  });
}

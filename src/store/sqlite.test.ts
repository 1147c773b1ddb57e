import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openSqlite } from "./sqlite.ts";

const folder = temporaryFolder("haft-sqlite-");
let count = 0;
const newFile = (): string => join(folder, `${++count}.db`);

describe("SQLite", () => {
  test("stores integers as integers", async () => {
    const database = await openSqlite(newFile());
    await database.run("CREATE TABLE t (a)");
    await database.run("INSERT INTO t VALUES (?)", [1]);
    expect(await database.all("SELECT a, typeof(a) AS t FROM t")).toEqual([{ a: 1, t: "integer" }]);
    await database.close();
  });

  test("syncs a commit only if that is requested", async () => {
    const database = await openSqlite(newFile());
    const level = () => database.all("PRAGMA synchronous");
    expect(await level()).toEqual([{ synchronous: 1 }]);
    expect(await database.transaction((tx) => tx.all("PRAGMA synchronous"), { synced: true })).toEqual([
      { synchronous: 2 },
    ]);
    expect(await level()).toEqual([{ synchronous: 1 }]);
    const fail = () =>
      database.transaction(
        () => {
          throw new Error("no");
        },
        { synced: true },
      );
    await expect(fail()).rejects.toThrow("no");
    expect(await level()).toEqual([{ synchronous: 1 }]);
    await database.transaction(() => Promise.resolve(), { synced: true });
    expect(await level()).toEqual([{ synchronous: 1 }]);
    await database.close();
  });

  test("reports a lock of another process with what to do, and works when it is released", async () => {
    const file = newFile();
    const one = await openSqlite(file, { busyTimeoutMs: 20 });
    const two = await openSqlite(file, { busyTimeoutMs: 20 });
    await one.run("CREATE TABLE t (a BIGINT)");
    await one.run("BEGIN IMMEDIATE");
    const write = () => two.transaction((tx) => tx.run("INSERT INTO t VALUES (1)"));
    await expect(write()).rejects.toThrow(
      expect.objectContaining({ code: "busy", message: expect.stringMatching(/locked.*try again/) }),
    );
    await one.run("COMMIT");
    expect(await write()).toEqual({ changes: 1 });
    await one.close();
    await two.close();
  });

  test("reports a full disk with what to do, rolls back, and works when there is space", async () => {
    const database = await openSqlite(newFile());
    await database.run("CREATE TABLE t (a TEXT)");
    await database.all("PRAGMA max_page_count = 10");
    const fill = () =>
      database.transaction(async (tx) => {
        for (let i = 0; i < 100; i++) await tx.run("INSERT INTO t VALUES (?)", ["x".repeat(2000)]);
      });
    await expect(fill()).rejects.toThrow(
      expect.objectContaining({ code: "io_error", message: expect.stringMatching(/full.*Free/) }),
    );
    expect(await database.all("SELECT COUNT(*) AS n FROM t")).toEqual([{ n: 0 }]);
    await database.all("PRAGMA max_page_count = 1000");
    await fill();
    expect(await database.all("SELECT COUNT(*) AS n FROM t")).toEqual([{ n: 100 }]);
    await database.close();
  });

  test("keeps working over more statements than it remembers", async () => {
    const database = await openSqlite(newFile());
    for (let i = 0; i < 700; i++) expect(await database.all(`SELECT ${i} AS n`)).toEqual([{ n: i }]);
    await database.close();
  });
});

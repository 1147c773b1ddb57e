import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openSqlite } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-sqlite-"));
let count = 0;
const newFile = (): string => join(folder, `${++count}.db`);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("SQLite", () => {
  test("answers at once, and a transaction with synchronous work too", async () => {
    const database = await openSqlite(newFile());
    expect(database.run("CREATE TABLE t (a BIGINT)")).toEqual({ changes: 0 });
    expect(database.transaction((tx) => tx.run("INSERT INTO t VALUES (?)", [1]))).toEqual({ changes: 1 });
    expect(database.all("SELECT a, typeof(a) AS t FROM t")).toEqual([{ a: 1, t: "integer" }]);
    await database.close();
  });

  test("syncs a commit only where that is asked for", async () => {
    const database = await openSqlite(newFile());
    const level = () => database.all("PRAGMA synchronous");
    expect(level()).toEqual([{ synchronous: 1 }]);
    expect(database.transaction((tx) => tx.all("PRAGMA synchronous"), { synced: true })).toEqual([{ synchronous: 2 }]);
    expect(level()).toEqual([{ synchronous: 1 }]);
    const fail = () =>
      database.transaction(
        () => {
          throw new Error("no");
        },
        { synced: true },
      );
    expect(fail).toThrow("no");
    expect(level()).toEqual([{ synchronous: 1 }]);
    await database.transaction(() => Promise.resolve(), { synced: true });
    expect(level()).toEqual([{ synchronous: 1 }]);
    await database.close();
  });

  test("says what to do when another process holds the lock, and goes on when it lets go", async () => {
    const file = newFile();
    const one = await openSqlite(file, { busyTimeoutMs: 20 });
    const two = await openSqlite(file, { busyTimeoutMs: 20 });
    void one.run("CREATE TABLE t (a BIGINT)");
    void one.run("BEGIN IMMEDIATE");
    const write = () => two.transaction((tx) => tx.run("INSERT INTO t VALUES (1)"));
    expect(write).toThrow(
      expect.objectContaining({ code: "busy", message: expect.stringMatching(/locked.*try again/) }),
    );
    void one.run("COMMIT");
    expect(write()).toEqual({ changes: 1 });
    void one.close();
    void two.close();
  });

  test("says what to do when the disk is full, undoes the transaction and goes on when there is room", async () => {
    const database = await openSqlite(newFile());
    void database.run("CREATE TABLE t (a TEXT)");
    void database.all("PRAGMA max_page_count = 10");
    const fill = () =>
      database.transaction((tx) => {
        for (let i = 0; i < 100; i++) void tx.run("INSERT INTO t VALUES (?)", ["x".repeat(2000)]);
      });
    expect(fill).toThrow(expect.objectContaining({ code: "io_error", message: expect.stringMatching(/full.*Free/) }));
    expect(database.all("SELECT COUNT(*) AS n FROM t")).toEqual([{ n: 0 }]);
    void database.all("PRAGMA max_page_count = 1000");
    void fill();
    expect(database.all("SELECT COUNT(*) AS n FROM t")).toEqual([{ n: 100 }]);
    void database.close();
  });

  test("keeps working over more statements than it remembers", async () => {
    const database = await openSqlite(newFile());
    for (let i = 0; i < 700; i++) expect(database.all(`SELECT ${i} AS n`)).toEqual([{ n: i }]);
    void database.close();
  });
});

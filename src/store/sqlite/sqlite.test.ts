import { readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { openSqlite } from "./sqlite.ts";

const folder = temporaryFolder("haft-sqlite-");
let count = 0;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
const newFile = (): string => join(folder, `${++count}.db`);

describe("SQLite", () => {
  test("stores integers as integers", async () => {
    const database = await openSqlite(newFile());
    await database.run("CREATE TABLE t (a)");
    await database.run("INSERT INTO t VALUES (?)", [1]);
    expect(await database.all("SELECT a, typeof(a) AS t FROM t")).toEqual([{ a: 1, t: "integer" }]);
    await database.close();
  });

  test("syncs the WAL if that is requested, and reports if that fails", async () => {
    const file = newFile();
    const database = await openSqlite(file);
    const insert = (synced: boolean) => database.transaction((tx) => tx.run("INSERT INTO t VALUES (1)"), { synced });
    await database.run("CREATE TABLE t (a BIGINT)");
    rmSync(`${file}-wal`);
    await insert(false);
    await expect(insert(true)).rejects.toThrow(/ENOENT/);
    await database.close();
  });

  test("lets the event loop turn, and reads, while another connection has the lock", async () => {
    const file = newFile();
    const one = await openSqlite(file);
    const two = await openSqlite(file);
    await one.run("CREATE TABLE t (a BIGINT)");
    await one.run("BEGIN IMMEDIATE");
    let isWritten = false;
    const written = two.transaction((tx) => tx.run("INSERT INTO t VALUES (1)")).then(() => (isWritten = true));
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve, 1));
    expect([await two.all("SELECT a FROM t"), isWritten]).toEqual([[], false]);
    await one.run("COMMIT");
    await written;
    expect(await one.all("SELECT a FROM t")).toEqual([{ a: 1 }]);
    await one.close();
    await two.close();
  });

  test("reads much on another thread: the event loop turns meanwhile, and writers go on", async () => {
    const database = await openSqlite(newFile());
    await database.run("CREATE TABLE t (a BIGINT)");
    const count =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) AS c FROM n";
    let isRead = false;
    const reading = database.reader.all(count).finally(() => void (isRead = true));
    let turns = 0;
    for (; !isRead; turns++) await database.run("INSERT INTO t VALUES (?)", [turns]).then(() => nextTurn());
    expect(await reading).toEqual([{ c: 300_000 }]);
    expect(turns).toBeGreaterThan(10);
    await expect(database.reader.all("SELECT a FROM nowhere")).rejects.toThrow(/nowhere/);
    await database.reader.write([["INSERT INTO t VALUES (?)", [-1]]]);
    expect(await database.all("SELECT a FROM t WHERE a < 0")).toEqual([{ a: -1 }]);
    await database.close();
  });

  test("waits for its own upkeep however long that takes, and upkeep for a checkpoint that others hold up", async () => {
    const file = newFile();
    const database = await openSqlite(file, { busyTimeoutMs: 20 });
    await database.run("CREATE TABLE t (a)");
    const fill =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO t SELECT randomblob(1000) FROM n";
    let isWritten = false;
    const upkeep = database.reader.write([[fill, [40_000]]]).finally(() => void (isWritten = true));
    for (let turn = 0; !isWritten; turn++) await database.run("INSERT INTO t VALUES (?)", [turn]);
    await upkeep;
    // Another connection still reads what was there before.
    const other = await openSqlite(file);
    await other.run("BEGIN");
    await other.all("SELECT count(*) FROM t");
    let isSmall = false;
    const later = (async () => {
      for (let slice = 0; slice < 4; slice++) await database.reader.write([[fill, [20_000]]]);
    })().finally(() => void (isSmall = true));
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve, 10));
    expect([isSmall, statSync(`${file}-wal`).size < 64 * 1024 * 1024]).toEqual([false, true]);
    await other.run("COMMIT");
    await later;
    expect(statSync(`${file}-wal`).size).toBeLessThan(64 * 1024 * 1024);
    await other.close();
    await database.close();
  });

  test.runIf(process.platform === "linux")(
    "keeps no file open for long after it is closed, and none if it is opened again",
    async () => {
      const file = newFile();
      const held = () =>
        readdirSync("/proc/self/fd").filter((fd) => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`).startsWith(file);
          } catch {
            return false;
          }
        });
      const database = await openSqlite(file, { isChecked: true });
      await database.run("CREATE TABLE t (a BIGINT)");
      await database.reader.all("SELECT a FROM t");
      expect(held().length).toBeGreaterThan(0);
      await database.close();
      await expect.poll(held, { timeout: 30_000 }).toEqual([]);
      const again = await openSqlite(file);
      const open = held().length;
      await again.close();
      await (await openSqlite(file)).close();
      const third = await openSqlite(file);
      expect(held()).toHaveLength(open);
      await third.close();
    },
  );

  test("moves the WAL to the file while commits go on, and starts it anew", async () => {
    const file = newFile();
    const database = await openSqlite(file);
    await database.run("CREATE TABLE t (a TEXT)");
    const insert = () => database.transaction((tx) => tx.run("INSERT INTO t VALUES (?)", ["x".repeat(40_000)]));
    let largest = 0;
    let startsAnew = false;
    // Another thread moves it, which on a busy machine waits for its turn. All commits together have 164 MB.
    for (let commits = 0; commits < 4000 && !startsAnew; commits++) {
      await insert();
      await nextTurn();
      const { size } = statSync(`${file}-wal`);
      startsAnew = size < largest;
      largest = Math.max(largest, size);
    }
    expect(startsAnew).toBe(true);
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

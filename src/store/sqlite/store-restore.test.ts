import { execFile } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundleProgram } from "../../../test/setup/bundle-program.ts";
import { until } from "../../../test/setup/until.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { openSqlite } from "./sqlite.ts";
import { checkInChild, checkStoreFile } from "./store-check.ts";
import { storeFileOf } from "./sqlite-file.ts";
import { backUpStore, restoreStore } from "./store-restore.ts";
import { openStore } from "../store.ts";

const base = mkdtempSync(join(tmpdir(), "haft-restore-"));
const ENTRIES = 2000;
const PAGE = 4096;
let whole: Buffer;

/** A store with enough entries that it has inner pages and leaves. */
beforeAll(async () => {
  const folder = mkdtempSync(join(base, "w-"));
  const store = await openStore({ stateFolder: folder });
  const notes = Array.from({ length: ENTRIES }, (_, i) =>
    store.audit.append({ kind: "note", callId: `c${i}`, data: { i } }),
  );
  await Promise.all(notes);
  await store.keys("a secret");
  await store.close();
  whole = readFileSync(storeFileOf(folder));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

function folderWith(bytes: Uint8Array): string {
  const folder = mkdtempSync(join(base, "w-"));
  writeFileSync(storeFileOf(folder), bytes);
  return folder;
}

async function countEntries(folder: string): Promise<number> {
  const store = await openStore({ stateFolder: folder });
  let count = 0;
  for await (const { data } of store.audit.entries()) if (data["i"] !== undefined) count += 1;
  await store.close();
  return count;
}

/** The pages of the audit table that have rows: leaves (type 13) with the text of an entry. */
function leaves(): number[] {
  const found: number[] = [];
  for (let at = PAGE; at < whole.length; at += PAGE) {
    const page = whole.subarray(at, at + PAGE);
    if (page[0] === 13 && page.includes('{"i":')) found.push(at);
  }
  return found;
}

describe("a check", () => {
  test("finds a sound store sound, and counts its rows", async () => {
    const folder = folderWith(whole);
    const report = await checkStoreFile(storeFileOf(folder));
    expect(report).toMatchObject({ bytes: whole.length, problems: [] });
    expect(report.tables).toContainEqual({ name: "audit", rows: ENTRIES });
    expect(await checkInChild(storeFileOf(folder))).toBeUndefined();
    expect(readFileSync(storeFileOf(folder)).equals(whole)).toBe(true);
  });

  test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ["a flipped byte in an inner page", (bytes) => bytes.fill(0xff, leaves()[3]!, leaves()[3]! + 8), /page|malformed/i],
    ["a cut file", (bytes) => bytes.subarray(0, bytes.length - 10 * PAGE), /cut off/],
    ["zeros", (bytes) => bytes.fill(0, PAGE * 4, PAGE * 9), /page|malformed|tree/i],
    ["another file", () => Buffer.from("hello ".repeat(1000)), /not a (?:SQLite )?database/],
  ])("names the damage: %s", async (_what, damage, expected) => {
    const folder = folderWith(damage(Buffer.from(whole)));
    const { problems } = await checkStoreFile(storeFileOf(folder));
    expect(problems.join("; ")).toMatch(expected);
    expect(await checkInChild(storeFileOf(folder))).toEqual(expect.any(String));
  });
});

describe("a backup", () => {
  test("is complete while the store is in use, and is restored", async () => {
    const folder = folderWith(whole);
    const store = await openStore({ stateFolder: folder });
    await store.audit.append({ kind: "note", data: { i: "not in the file yet" } });
    const { file } = await backUpStore(folder);
    await store.audit.append({ kind: "note", data: { i: "too late" } });
    await store.close();
    await expect(backUpStore(folder, file)).rejects.toThrow("already exists");
    // A folder that is not there may be a disk that is not mounted.
    const unmounted = join(folder, "disk");
    await expect(backUpStore(folder, join(unmounted, "haft.db"))).rejects.toThrow(`There is no folder ${unmounted}`);
    expect(existsSync(unmounted)).toBe(false);
    writeFileSync(storeFileOf(folder), "garbage");
    const { kept } = await restoreStore(folder, { backup: file });
    expect(readFileSync(kept!, "utf8")).toBe("garbage");
    expect(await countEntries(folder)).toBe(ENTRIES + 1);
  });

  test("of a damaged store is refused, and so is the restore of a damaged or foreign backup", async () => {
    const folder = folderWith(Buffer.from(whole).fill(0, PAGE * 4, PAGE * 9));
    await expect(backUpStore(folder)).rejects.toThrow(/is damaged.*haft store restore/);
    const sound = folderWith(whole);
    await expect(restoreStore(sound, { backup: storeFileOf(folder) })).rejects.toThrow("is damaged");
    await expect(restoreStore(sound, { backup: join(folder, "nothing.db") })).rejects.toThrow("no backup");
    expect(readFileSync(storeFileOf(sound)).equals(whole)).toBe(true);
    expect(readdirSync(sound).filter((name) => !/^haft\.db(?:-wal|-shm)?$/.test(name))).toEqual([]);
  });
});

describe("a restore without a backup", () => {
  test("copies the rows of all sound pages, keeps the damaged file, and says so in the audit log", async () => {
    const damaged = Buffer.from(whole);
    const pages = leaves();
    for (const at of [pages[2]!, pages[9]!, pages[10]!]) damaged.fill(0xff, at, at + PAGE);
    const folder = folderWith(damaged);
    await expect(openStore({ stateFolder: folder })).rejects.toThrow("is damaged");
    const { kept, tables } = await restoreStore(folder);
    expect(readFileSync(kept!).equals(damaged)).toBe(true);
    const audit = tables.find(({ name }) => name === "audit");
    expect(audit).toMatchObject({ isIncomplete: true });
    // Three leaves of about 30 are lost, and what the growing steps skip behind them.
    expect(audit!.rows).toBeGreaterThan(ENTRIES * 0.7);
    expect(audit!.rows).toBeLessThan(ENTRIES);
    expect(await countEntries(folder)).toBe(audit!.rows);
    const store = await openStore({ stateFolder: folder });
    const { entries } = await store.audit.query({ text: "store_restored" });
    expect(entries).toMatchObject([{ data: { kept, incomplete: ["audit"] } }]);
    expect(await store.keys("a secret")).toBeDefined();
    await store.close();
  });

  test("is refused if nothing can be read; an empty store is made if that is asked for", async () => {
    const folder = folderWith(Buffer.from("garbage ".repeat(1000)));
    await expect(restoreStore(folder)).rejects.toThrow(/Nothing of .* can be read.*--empty/);
    expect(readFileSync(storeFileOf(folder), "utf8")).toContain("garbage");
    const { kept } = await restoreStore(folder, { isEmpty: true });
    expect(readFileSync(kept!, "utf8")).toContain("garbage");
    expect(await countEntries(folder)).toBe(0);
  });

  test("is refused while another process uses the store", async () => {
    const folder = folderWith(whole);
    const program = await bundleProgram("src/store/store.ts", join(base, "out"));
    const script = `import { openStore } from ${JSON.stringify(program)}; await openStore({ stateFolder: ${JSON.stringify(folder)} }); console.log("open"); setInterval(() => {}, 1000);`;
    const child = execFile(process.execPath, ["--input-type=module", "-e", script]);
    try {
      await new Promise((opened) => child.stdout!.once("data", opened));
      await expect(restoreStore(folder)).rejects.toThrow(`in use by process ${child.pid}`);
    } finally {
      child.kill("SIGKILL");
    }
  });
});

test("damage in a file over 64 MB is found while a process runs, and makes the store read-only", async () => {
  const folder = folderWith(whole);
  const file = storeFileOf(folder);
  const database = await openSqlite(file);
  await database.run(
    "INSERT INTO undo_contents (workspace, hash, uses, size, stored, content) VALUES ('w', 'h', 1, 1, 1, zeroblob(67200000))",
  );
  await database.close();
  const clock = createFakeClock();
  const warnings: string[] = [];
  const start = async () => {
    const store = await openStore({ stateFolder: folder }, { clock, onWarning: (warning) => warnings.push(warning) });
    await clock.advance(10_000);
    return store;
  };
  const sound = await start();
  await until(() => readFileSync(join(folder, "store.json"), "utf8").includes("checkedAt"));
  expect(sound.database.health()).toEqual({ state: "ok" });
  await sound.close();
  const page = Buffer.alloc(PAGE, 0xff);
  const fd = openSync(file, "r+");
  writeSync(fd, page, 0, PAGE, leaves()[5]!);
  closeSync(fd);
  await clock.advance(25 * 60 * 60_000);
  const store = await start();
  await until(() => warnings.length > 0);
  expect(warnings).toEqual([expect.stringMatching(/is damaged .*haft store restore/)]);
  expect(store.database.health()).toMatchObject({ state: "damaged" });
  await expect(store.audit.append({ kind: "note" })).rejects.toThrow("is damaged");
  await store.close().catch(() => undefined);
}, 60_000);

describe("a store that is damaged while it is in use", () => {
  const append = (store: Awaited<ReturnType<typeof openStore>>) => store.audit.append({ kind: "note", data: { i: 1 } });

  test.each<[string, (folder: string) => void, string]>([
    ["deleted", (folder) => rmSync(folder, { recursive: true }), "deleted while"],
    [
      "replaced",
      (folder) => {
        renameSync(storeFileOf(folder), join(folder, "old.db"));
        writeFileSync(storeFileOf(folder), whole);
      },
      "replaced while",
    ],
  ])("because it was %s is read, but no longer written, and its health says so", async (_what, damage, reason) => {
    const folder = folderWith(whole);
    const store = await openStore({ stateFolder: folder });
    expect(store.database.health()).toEqual({ state: "ok" });
    damage(folder);
    expect(store.database.health()).toMatchObject({ state: "damaged", reason: expect.stringContaining(reason) });
    await expect(append(store)).rejects.toThrow(/is damaged .*haft store restore/);
    expect((await store.audit.query({ limit: 5 })).entries).toHaveLength(5);
    await store.close().catch(() => undefined);
  });

  test("is only read from the first damaged page on", async () => {
    const folder = folderWith(whole);
    const store = await openStore({ stateFolder: folder });
    const damaged = Buffer.from(whole);
    for (const at of leaves()) damaged.fill(0xff, at, at + PAGE);
    writeFileSync(storeFileOf(folder), damaged);
    // As after many other reads: the pages are no longer in memory.
    await store.database.all("PRAGMA shrink_memory");
    await expect(store.audit.verify()).rejects.toThrow("is damaged");
    expect(store.database.health()).toMatchObject({ state: "damaged" });
    await expect(append(store)).rejects.toThrow("is damaged");
    await store.close().catch(() => undefined);
  });
});

import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { ToolError } from "../core/error.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { checkStoreFile } from "./sqlite/store-check.ts";
import { openStore, type Store } from "./store.ts";

const base = temporaryFolder("haft-open-");
const newFolder = (): string => mkdtempSync(join(base, "w-"));
const fileIn = (folder: string): string => join(folder, "haft.db");

const IS_WINDOWS = process.platform === "win32";

function modesIn(folder: string): Record<string, string> {
  const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);
  const files = readdirSync(folder).map((name) => [name, modeOf(join(folder, name))]);
  return Object.fromEntries([[".", modeOf(folder)], ...files]);
}

const NOTES = 4;

/** A closed store with a few notes in it; the folder. */
async function written(): Promise<string> {
  const folder = newFolder();
  const store = await openStore({ stateFolder: folder });
  for (let i = 0; i < NOTES; i++) {
    await store.audit.append({ kind: "note", callId: `c${i}`, toolName: "tool", data: { i, text: "äöü" } });
  }
  await store.close();
  return folder;
}

describe("the folder of a store", () => {
  test("is created for this user only", async () => {
    const folder = join(newFolder(), "a", "b");
    const store = await openStore({ stateFolder: folder });
    expect(store.warnings).toEqual([]);
    const expected = {
      ".": "700",
      "haft.db": "600",
      "haft.db-shm": "600",
      "haft.db-wal": "600",
    };
    expect(modesIn(folder)).toMatchObject(IS_WINDOWS ? {} : expected);
    await store.close();
  });

  test("has everything in one file once the store is closed, and it is found again", async () => {
    const folder = await written();
    const copy = newFolder();
    chmodSync(copy, 0o755);
    writeFileSync(fileIn(copy), readFileSync(fileIn(folder)), { mode: 0o644 });
    const store = await openStore({ stateFolder: copy });
    expect((await store.audit.query()).entries).toHaveLength(NOTES);
    expect(await store.audit.verify()).toMatchObject({ ok: true });
    expect(modesIn(copy)).toMatchObject(IS_WINDOWS ? {} : { ".": "700", "haft.db": "600" });
    await store.close();
  });

  test("is not followed if it is a link, nor is the file", async () => {
    const [parent, elsewhere] = [newFolder(), newFolder()];
    const folder = join(parent, "linked");
    symlinkSync(elsewhere, folder);
    await expect(openStore({ stateFolder: folder })).rejects.toMatchObject({
      code: "path_denied",
      message: expect.stringContaining("link"),
    });
    expect(readdirSync(elsewhere)).toEqual([]);
    const second = newFolder();
    writeFileSync(join(elsewhere, "target"), "");
    symlinkSync(join(elsewhere, "target"), fileIn(second));
    await expect(openStore({ stateFolder: second })).rejects.toMatchObject({ code: "path_denied" });
  });

  test("that cannot be created is an error that names the folder and the setting", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "in the way");
    await expect(openStore({ stateFolder: file })).rejects.toMatchObject({
      code: "io_error",
      message: expect.stringMatching(/\/file is not a folder.*Remove.*HAFT_STATE_DIR/),
    });
    await expect(openStore({ stateFolder: join(file, "below") })).rejects.toMatchObject({
      code: "io_error",
      message: expect.stringMatching(/\/file\/below is below a file.*HAFT_STATE_DIR/),
    });
    await expect(openStore({ stateFolder: "relative/folder" })).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("a damaged file", () => {
  test.each([
    ["garbage", () => Buffer.from("this is not a database ".repeat(500))],
    ["a short text", () => Buffer.from("short")],
    ["half of it", (whole: Buffer) => whole.subarray(0, whole.length >> 1)],
    ["zeros in the middle", (whole: Buffer) => Buffer.from(whole).fill(0, 4096 * 3, 4096 * 6)],
  ])("with %s is refused with the file and what to do, and left as it is", async (_what, damage) => {
    const folder = await written();
    const bytes = damage(readFileSync(fileIn(folder)));
    writeFileSync(fileIn(folder), bytes);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await expect(openStore({ stateFolder: folder })).rejects.toMatchObject({
        code: "io_error",
        data: { store: "damaged", file: fileIn(folder) },
        message: expect.stringMatching(/haft\.db is damaged .*haft store check.*haft store restore/),
      });
    }
    expect(readFileSync(fileIn(folder)).equals(bytes)).toBe(true);
  });

  test("with text that is not UTF-8 is found by the check", async () => {
    const folder = await written();
    const whole = readFileSync(fileIn(folder));
    writeFileSync(fileIn(folder), replaced(whole, "äöü", Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0xa1, 0xa1])));
    expect((await checkStoreFile(fileIn(folder))).problems).toEqual([expect.stringContaining("not UTF-8")]);
  });

  test("whose newest audit entries were changed is opened with a warning", async () => {
    const folder = await written();
    const one = await openStore({ stateFolder: folder });
    await one.audit.append({ kind: "note" });
    await one.database.run("UPDATE audit SET at = at + 1 WHERE seq = (SELECT MAX(seq) FROM audit)");
    await one.close();
    const store = await openStore({ stateFolder: folder });
    expect(store.warnings).toEqual([expect.stringContaining("haft audit verify")]);
    await store.close();
  });

  test("that no process has closed is checked later, and is only read if it is damaged", async () => {
    const folder = await written();
    const clock = createFakeClock();
    const killed = await openStore({ stateFolder: folder });
    await killed.audit.append({ kind: "note" });
    const copy = newFolder();
    for (const suffix of ["", "-wal"]) copyFileSync(fileIn(folder) + suffix, fileIn(copy) + suffix);
    await killed.close();
    const store = await openStore({ stateFolder: copy }, { clock });
    const file = readFileSync(fileIn(copy));
    writeFileSync(fileIn(copy), file.fill(0xff, 4096 * 3, file.length));
    await clock.advance(10_000);
    await vi.waitFor(async () => expect(await store.database.health()).toMatchObject({ state: "damaged" }), 20_000);
    await expect(store.audit.append({ kind: "note" })).rejects.toThrow("is damaged");
    await store.close().catch(() => undefined);
  });

  test.each([
    ["is empty", (file: string) => writeFileSync(file, "")],
    ["is missing", (file: string) => rmSync(file)],
  ])("that %s but had data is not replaced by a new one", async (what, damage) => {
    const folder = await written();
    damage(fileIn(folder));
    await expect(openStore({ stateFolder: folder })).rejects.toThrow(`it ${what}, but it has had data since`);
    expect(existsSync(fileIn(folder)) ? readFileSync(fileIn(folder), "utf8") : "").toBe("");
  });

  test("that is empty because the first start was cut off is used", async () => {
    const folder = newFolder();
    writeFileSync(fileIn(folder), "");
    const store = await openStore({ stateFolder: folder });
    expect(store.warnings).toEqual([]);
    await store.close();
  });

  test("never ends the process, and never loses entries without a word, whichever bit was flipped", async () => {
    const whole = readFileSync(fileIn(await written()));
    const folder = newFolder();
    const flips = process.env["HAFT_FULL"] === "1" ? 5000 : 60;
    const outcomes: Record<string, number> = {};
    for (let i = 0; i < flips; i++) {
      // The first page says what the rest is; every third flip goes there.
      const at = Math.floor(Math.random() * (i % 3 === 0 ? 100 : whole.length));
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 1 << Math.floor(Math.random() * 8);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      writeFileSync(fileIn(folder), bytes);
      const outcome = await openDamaged(folder);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      expect({ at, outcome }).toEqual({ at, outcome: expect.stringMatching(/^(?:intact|found|refused)$/) });
    }
    expect(outcomes["refused"]).toBeGreaterThan(0);
    expect(outcomes["intact"]).toBeGreaterThan(0);
  }, 600_000);
});

describe("a store of another version", () => {
  test("is refused when it is newer, and left as it is", async () => {
    const folder = await written();
    const database = await openSqlite(fileIn(folder));
    await database.run(
      "INSERT INTO haft_migrations (owner, version, checksum, applied_at) VALUES ('audit', 99, 'x', 1)",
    );
    const migrations = () => database.all("SELECT * FROM haft_migrations ORDER BY owner, version");
    const before = await migrations();
    await expect(openStore({ stateFolder: folder })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/newer version of Haft \(its audit tables have version 99.*Update Haft/),
    });
    expect(await migrations()).toEqual(before);
    await database.close();
    expect(readdirSync(folder).filter((name) => name.includes("corrupt"))).toEqual([]);
  });
});

/** What became of it; anything but the three good outcomes in its own words. */
async function openDamaged(folder: string): Promise<string> {
  let store: Store;
  try {
    store = await openStore({ stateFolder: folder });
  } catch (error) {
    // A name in the schema, the record of a migration, or who may write: said, and nothing is touched.
    return error instanceof ToolError && /damaged|newer|read-only/.test(error.message) ? "refused" : String(error);
  }
  try {
    if (!(await store.audit.verify()).ok) return "found";
    const { entries } = await store.audit.query();
    const reported = entries.map(({ data }) => data["i"]).join();
    return reported === "3,2,1,0" ? "intact" : `lost: only ${reported}`;
  } finally {
    await store.close();
  }
}

function replaced(whole: Buffer, text: string, by: Buffer): Buffer {
  const bytes = Buffer.from(whole);
  const at = bytes.indexOf(text);
  expect(at).toBeGreaterThan(0);
  by.copy(bytes, at);
  return bytes;
}

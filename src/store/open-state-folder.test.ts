import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openStateFolder } from "./open-state-folder.ts";
import { prepareChildren, type TestChild, type TestChildren } from "./start-child.fixture.ts";
import { openStore } from "./store.ts";

const base = temporaryFolder("haft-open-state-");
let children: TestChildren;
let workspace: string;
let stateFolder: string;

beforeAll(async () => {
  children = await prepareChildren({ state: "store/open-state-folder.ts" });
});
afterAll(() => {
  children.remove();
});
beforeEach(() => {
  const root = mkdtempSync(join(base, "t-"));
  workspace = join(root, "work");
  stateFolder = join(root, "state");
  mkdirSync(workspace);
});

const old = () => join(workspace, ".haft");
const inWorkspace = () => readdirSync(workspace).sort();
const renamed = () => inWorkspace().find((name) => name.startsWith(".haft.migrated-"));

/** As an earlier version had it: in another process, whose locks end with it. */
const EARLIER = `
const [folder, notes] = process.argv.slice(2);
const store = await openStore({ stateFolder: folder });
for (let i = 0; i < Number(notes); i++) await store.audit.append({ kind: "note", data: { i } }, { synced: true });
say("open");
process.stdin.once("data", async () => { await store.close(); process.exit(0); });
`;
const OPEN = `
const { openStateFolder } = await import("./bundle/state.js");
const [workspace, stateFolder] = process.argv.slice(2);
const warnings = [];
await openStateFolder(workspace, { stateFolder, onWarning: (warning) => warnings.push(warning) });
const store = await openStore({ stateFolder });
const { entries } = await store.audit.query();
const { ok } = await store.audit.verify();
await store.close();
say(JSON.stringify({ entries: entries.length, ok, warnings }));
`;
/** Writes an entry for every line that it gets. */
const WRITER = `
const { createInterface } = await import("node:readline/promises");
const { openStateFolder } = await import("./bundle/state.js");
const [workspace, stateFolder] = process.argv.slice(2);
await openStateFolder(workspace, { stateFolder });
const store = await openStore({ stateFolder });
say("open");
let written = 0;
for await (const line of createInterface(process.stdin)) {
  await store.audit.append({ kind: "note", data: { line } }, { synced: true });
  say("wrote " + ++written);
}
await store.close();
`;

async function startEarlier(notes = 3): Promise<TestChild> {
  const child = children.start(EARLIER, [old(), String(notes)]);
  await child.waitForOutput("open");
  return child;
}

async function writeOldState(): Promise<void> {
  const child = await startEarlier();
  writeFileSync(join(old(), "config.yml"), "permissions:\n  deny: [Edit]\n");
  mkdirSync(join(old(), "spill"), { mode: 0o700 });
  writeFileSync(join(old(), "spill", "call-1.txt"), "a long output");
  child.process.stdin!.write("end");
  await child.ended;
}

async function openInChild(): Promise<{ entries: number; ok: boolean; warnings: string[] }> {
  const child = children.start(OPEN, [workspace, stateFolder]);
  const { code, errors } = await child.ended;
  if (code !== 0) throw new Error(errors);
  return JSON.parse(child.lines()[0] ?? "");
}

function expectMigrated(): void {
  expect(inWorkspace()).toEqual([expect.stringMatching(/^\.haft\.migrated-\d{4}-\d\d-\d\d$/)]);
  expect(readFileSync(join(stateFolder, "config.yml"), "utf8")).toContain("deny: [Edit]");
  expect(readFileSync(join(stateFolder, "spill", "call-1.txt"), "utf8")).toBe("a long output");
  expect(existsSync(join(workspace, renamed() ?? "", "haft.db")), "the old store is kept").toBe(true);
  expect(readdirSync(stateFolder).filter((name) => /migrating|part|lock/.test(name))).toEqual([]);
}

describe("the first use of a workspace", () => {
  test("creates a state folder for this user only, and nothing in the workspace", async () => {
    expect(await openStateFolder(workspace, { stateFolder })).toBe(stateFolder);
    expect(inWorkspace()).toEqual([]);
    expect(statSync(stateFolder).mode & 0o777).toBe(process.platform === "win32" ? 0o777 : 0o700);
    expect(JSON.parse(readFileSync(join(stateFolder, "state.json"), "utf8"))).toMatchObject({ version: 1, workspace });
  });

  test("uses the folder of an earlier version if it is chosen as the state folder", async () => {
    const warnings: string[] = [];
    for (let i = 0; i < 2; i++) {
      await openStateFolder(workspace, { stateFolder: old(), onWarning: (warning) => warnings.push(warning) });
    }
    expect({ warnings, names: inWorkspace() }).toEqual({ warnings: [], names: [".haft"] });
  });

  test("notices that it was deleted: in the process that has it open, and at the next start", async () => {
    const warnings: string[] = [];
    const open = () => openStateFolder(workspace, { stateFolder, onWarning: (warning) => warnings.push(warning) });
    const store = await openStore({ stateFolder: await open() });
    await store.audit.append({ kind: "note", data: {} });
    rmSync(stateFolder, { recursive: true });
    await sleep(50);
    await expect(store.audit.append({ kind: "note", data: {} })).rejects.toThrow(/deleted while this process/);
    expect(warnings).toEqual([]);
    await open();
    expect(warnings).toEqual([expect.stringContaining(`${stateFolder} was deleted`)]);
    await open();
    expect(warnings).toHaveLength(1);
    await store.close().catch(() => undefined);
  });

  test("stops with the path and the setting if the folder cannot be created", async () => {
    writeFileSync(stateFolder, "in the way");
    await expect(openStateFolder(workspace, { stateFolder: join(stateFolder, "below") })).rejects.toMatchObject({
      code: "io_error",
      message: expect.stringMatching(/state\/below .*HAFT_STATE_DIR/),
    });
  });
});

describe("the state of an earlier version", () => {
  test("is copied once, and its folder is renamed", async () => {
    await writeOldState();
    const first = await openInChild();
    expect(first).toMatchObject({ entries: 3, ok: true, warnings: [expect.stringContaining(stateFolder)] });
    expectMigrated();
    expect(await openInChild()).toMatchObject({ entries: 3, warnings: [] });
    expectMigrated();
  });

  test("is copied by one of several processes; the others wait and use the result", async () => {
    await writeOldState();
    const opened = await Promise.all([1, 2, 3].map(openInChild));
    expect(opened.map(({ entries, ok }) => ({ entries, ok }))).toEqual(Array(3).fill({ entries: 3, ok: true }));
    expect(opened.flatMap(({ warnings }) => warnings)).toHaveLength(1);
    expectMigrated();
  });

  test("is shared by the process that copied it and another one", async () => {
    await writeOldState();
    const copier = children.start(WRITER, [workspace, stateFolder]);
    await copier.waitForOutput("open");
    const other = children.start(WRITER, [workspace, stateFolder]);
    await other.waitForOutput("open");
    for (let turn = 1; turn <= 5; turn++) {
      for (const child of [copier, other]) {
        child.process.stdin!.write("write\n");
        await child.waitForOutput(`wrote ${turn}`);
      }
    }
    for (const child of [copier, other]) {
      child.process.stdin!.end();
      expect(await child.ended).toMatchObject({ code: 0, errors: "" });
    }
    expect(await openInChild()).toMatchObject({ entries: 13, ok: true });
  });

  test("is left alone while an older process has it open, and is whole after that process was killed", async () => {
    await writeOldState();
    const older = await startEarlier(2);
    await expect(openInChild()).rejects.toThrow(new RegExp(`has .*haft\\.db open: process ${older.process.pid} `));
    expect(inWorkspace()).toEqual([".haft"]);
    expect(existsSync(join(stateFolder, "haft.db"))).toBe(false);
    older.process.kill("SIGKILL");
    await older.ended;
    expect(await openInChild()).toMatchObject({ entries: 5, ok: true });
    expectMigrated();
  });

  test("is left alone while a process has it open that is in no table", async () => {
    await writeOldState();
    const reader = children.start(
      `const { DatabaseSync } = await import("@photostructure/sqlite");
       const database = new DatabaseSync(process.argv[2]);
       database.prepare("SELECT count(*) FROM audit").all();
       say("open");
       // Keeps it: a connection that nothing refers to is closed.
       setInterval(() => database.isOpen, 1000);`,
      [join(old(), "haft.db")],
    );
    await reader.waitForOutput("open");
    await expect(openInChild()).rejects.toThrow(/haft\.db open: another process/);
    expect(inWorkspace()).toEqual([".haft"]);
    reader.process.kill("SIGKILL");
    await reader.ended;
    expect(await openInChild()).toMatchObject({ entries: 3 });
  });

  test.each(["state-noted", "state-renamed", "state-store-copied", "state-copied"])(
    "is not lost if the process is killed at %s: the next start finishes",
    async (point) => {
      await writeOldState();
      const killed = children.start(OPEN, [workspace, stateFolder], { HAFT_FAIL_AT: point });
      expect(await killed.ended).toMatchObject({ signal: "SIGKILL" });
      expect(await openInChild()).toMatchObject({ entries: 3, ok: true });
      expectMigrated();
    },
  );

  test("that is damaged is copied as it is, and refused when the store is opened", async () => {
    await writeOldState();
    writeFileSync(join(old(), "haft.db"), "garbage ".repeat(1000), { mode: 0o600 });
    await expect(openInChild()).rejects.toThrow(/is damaged.*haft store restore/s);
    expectMigrated();
    expect(readFileSync(join(stateFolder, "haft.db"), "utf8")).toBe("garbage ".repeat(1000));
  });

  test.skipIf(process.platform === "win32")("is refused if others may read it: it came with a checkout", async () => {
    await writeOldState();
    chmodSync(join(old(), "haft.db"), 0o644);
    await expect(openInChild()).rejects.toThrow(/was not written by Haft for this user.*chmod 600/s);
    expect(inWorkspace()).toEqual([".haft"]);
    chmodSync(join(old(), "haft.db"), 0o600);
    expect(await openInChild()).toMatchObject({ entries: 3 });
  });

  test("is not followed through links", async () => {
    const secret = join(base, "secret");
    writeFileSync(secret, "secret: 1");
    mkdirSync(old());
    symlinkSync(secret, join(old(), "config.yml"));
    await openInChild();
    expect(existsSync(join(stateFolder, "config.yml"))).toBe(false);
    for (const path of [stateFolder, `${stateFolder}.known`]) rmSync(path, { recursive: true });
    mkdirSync(join(base, "elsewhere"));
    symlinkSync(join(base, "elsewhere"), old());
    expect((await openInChild()).warnings).toEqual([expect.stringContaining("is not used")]);
  });

  test("that appears after the first use has no effect, with a warning", async () => {
    await openStore({ stateFolder }).then((store) => store.close());
    await openStateFolder(workspace, { stateFolder });
    await writeOldState();
    expect(await openInChild()).toMatchObject({
      entries: 0,
      warnings: [expect.stringContaining(`${old()} is not used`)],
    });
    expect(inWorkspace()).toEqual([".haft"]);
  });
});

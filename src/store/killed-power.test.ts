// A power cut: of what was committed, the disk has only what was synced. A child copies the files of its store at every sync,
// and is killed; then the files are put back as they were at the last sync, which is the least that a disk may have.
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createTool } from "../core/create-tool.ts";
import { createHaft } from "../runtime.ts";
import { prepareChildren, type TestChildren } from "./start-child.fixture.ts";
import { openStore } from "./store.ts";
import { checkStoreFile } from "./sqlite/store-check.ts";

const CUTS = process.env["HAFT_FULL"] === "1" ? 40 : 6;
const FILES = ["haft.db", "haft.db-wal", "haft.db-end"];
const folder = temporaryFolder("haft-power-");
let children: TestChildren;

beforeAll(async () => {
  children = await prepareChildren();
}, 120_000);

afterAll(() => children.remove());

/**
 * Makes calls with effects, some of which a person approves, and background jobs; says what was asked and answered. Copies the
 * files when a sync begins, and uses the copy once it has ended.
 */
const WORKER = `
  import { appendFileSync, copyFileSync, existsSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
  import { open } from "node:fs/promises";
  import { join } from "node:path";
  const [, , stateFolder, disk, ledger, round] = process.argv;
  const store = await openStore({ stateFolder });
  const handle = await open(ledger, "a");
  const prototype = Object.getPrototypeOf(handle);
  const { datasync } = prototype;
  let copies = 0;
  prototype.datasync = async function () {
    const copy = [disk, process.pid, ++copies].join("-");
    mkdirSync(copy);
    for (const name of ${JSON.stringify(FILES)}) if (existsSync(join(stateFolder, name))) copyFileSync(join(stateFolder, name), join(copy, name));
    await datasync.call(this);
    // In one step: the process may be killed here too.
    symlinkSync(copy, copy + ".link");
    renameSync(copy + ".link", disk);
  };
  const put = (name, needsApproval) => createTool({ name, kind: "write", needsApproval, description: "",
    parameters: [{ name: "n", type: "string" }],
    run: async ({ n }) => { appendFileSync(ledger, "effect " + n + "\\n"); await new Promise((done) => setTimeout(done, 3)); return n; } });
  const tools = [put("put", false), put("ask", true), put("later", false)];
  const haft = createHaft({ log: store.audit, calls: store.calls, jobs: store.jobs, tools });
  await haft.calls.recover();
  await haft.jobs.start?.();
  say("ready");
  const caller = { session: "s" };
  const lanes = Array.from({ length: 4 }, async (_, lane) => {
    for (let i = 1; ; i++) {
      const id = [round, lane, i].join("-");
      if (lane < 2) await haft.execute("put", { n: "put-" + id }, { id, caller });
      else if (lane === 2) {
        const asked = await haft.execute("ask", { n: "ask-" + id }, { id, caller });
        appendFileSync(ledger, "asked ask-" + id + "\\n");
        if (i % 3 !== 0) {
          appendFileSync(ledger, "approved ask-" + id + "\\n");
          await haft.approvals.approve(asked.pending.id);
        }
      } else {
        await haft.execute("later", { n: "later-" + id }, { id, caller, background: true });
        await new Promise((done) => setTimeout(done, 5));
      }
    }
  });
  await Promise.all(lanes);`;

function linesOf(ledger: string, kind: string): string[] {
  if (!existsSync(ledger)) return [];
  const lines = readFileSync(ledger, "utf8").split("\n");
  return lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
}

/** The files as the disk has them. */
function putBack(disk: string, stateFolder: string): void {
  for (const name of [...FILES, "haft.db-shm"]) rmSync(join(stateFolder, name), { force: true });
  for (const name of FILES) if (existsSync(join(disk, name))) copyFileSync(join(disk, name), join(stateFolder, name));
}

describe("after a power cut", () => {
  test("every effect happened at most once, and none without a yes", { timeout: 60_000 + CUTS * 20_000 }, async () => {
    const stateFolder = join(folder, "state");
    const disk = join(folder, "disk");
    const ledger = join(folder, "ledger");
    mkdirSync(stateFolder);
    appendFileSync(ledger, "");
    await (await openStore({ stateFolder })).close();
    for (let cut = 1; cut <= CUTS; cut++) {
      const before = linesOf(ledger, "effect").length;
      const child = children.start(WORKER, [stateFolder, disk, ledger, `r${cut}`]);
      await child.waitForOutput("ready");
      // At many moments: from the first effects to long after them.
      await expect
        .poll(() => linesOf(ledger, "effect").length - before, { timeout: 20_000, interval: 5 })
        .toBeGreaterThan(cut * 3);
      await sleep((cut * 7) % 23);
      child.process.kill("SIGKILL");
      expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
      putBack(disk, stateFolder);
    }
    const last = children.start(WORKER, [stateFolder, disk, ledger, "end"]);
    await last.waitForOutput("ready");
    await sleep(500);
    last.process.kill("SIGKILL");
    await last.ended;
    const effects = linesOf(ledger, "effect");
    const twice = effects.filter((effect, at) => effects.indexOf(effect) !== at);
    expect(twice).toEqual([]);
    const approved = new Set(linesOf(ledger, "approved"));
    expect(effects.filter((effect) => effect.startsWith("ask-") && !approved.has(effect))).toEqual([]);
    for (const kind of ["put-", "ask-", "later-"]) expect(effects.some((effect) => effect.startsWith(kind))).toBe(true);
  });
});

describe("a store that lost its end", () => {
  /** Returns how many entries the log has. */
  async function fill(stateFolder: string, count: number): Promise<number> {
    const store = await openStore({ stateFolder });
    const put = createTool({
      name: "put",
      kind: "write",
      needsApproval: false,
      description: "",
      parameters: [{ name: "n", type: "integer" }],
      run: ({ n }) => n,
    });
    const haft = createHaft({ log: store.audit, calls: store.calls, tools: [put] });
    for (let n = 1; n <= count; n++) await haft.execute("put", { n }, { id: `${n}`, caller: { session: "s" } });
    // As a kill leaves it: with a WAL.
    mkdirSync(`${stateFolder}-killed`);
    for (const name of FILES) copyFileSync(join(stateFolder, name), join(`${stateFolder}-killed`, name));
    const { count: entries } = await store.audit.verify();
    await haft.shutdown();
    await store.close();
    return entries;
  }

  test("is refused if its WAL was cut, with the number of missing entries", async () => {
    const stateFolder = join(folder, "cut");
    await fill(stateFolder, 20);
    const killed = `${stateFolder}-killed`;
    const wal = join(killed, "haft.db-wal");
    truncateSync(wal, Math.floor(readFileSync(wal).length * 0.6));
    await expect(openStore({ stateFolder: killed })).rejects.toThrow(
      /the last \d+ entries of its audit log are missing/,
    );
    const { problems } = await checkStoreFile(join(killed, "haft.db"));
    expect(problems.join()).toMatch(/the last \d+ entries/);
  });

  test("is used if only the ends of calls were lost, and says how many", async () => {
    const stateFolder = join(folder, "end");
    const count = await fill(stateFolder, 5);
    const killed = `${stateFolder}-killed`;
    const digits = (value: number): string => String(value).padStart(16, "0");
    writeFileSync(join(killed, "haft.db-end"), `${digits(count + 3)} ${digits(count)}\n`);
    const store = await openStore({ stateFolder: killed });
    expect(store.warnings.join()).toContain("The last 3 entries of the audit log were lost");
    await store.audit.append({ kind: "note", data: {} });
    expect(await store.audit.verify()).toMatchObject({ ok: true });
    const { entries } = await store.audit.query({ limit: 20 });
    expect(entries.find(({ kind }) => kind === "gap")?.data).toMatchObject({ count: 3 });
    await store.close();
    // Said once.
    const again = await openStore({ stateFolder: killed });
    expect(again.warnings.join()).not.toContain("were lost");
    await again.close();
  });
});

// Askers and answerers in processes of their own: whoever is killed, a call runs at most once and after an approval, and
// every party is told what the row and the ledger say.
//
// HAFT_SEED=n plays one schedule. `npm run test:full -- --long calls` plays 1,000; HAFT_SEED=n.. continues with that one.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startPostgres, type TestPostgres } from "../../../src/store/postgres/start-postgres.fixture.ts";
import { bundleProgram } from "../../setup/bundle-program.ts";
import { temporaryFolder } from "../../setup/temporary-folder.ts";
import { judge } from "./judge.ts";
import { play } from "./play.ts";
import { describeSchedule, type Engine, scheduleOf } from "./schedule.ts";
import { type Programs, Site } from "./site.ts";

const FULL = process.env["HAFT_FULL"] === "1";
const COUNT = FULL ? 1000 : 50;
const AT_ONCE = 4;
const INLINED = ["zod", "ws", "diff", "unbash", "picomatch", "ignore"];

let programs: Programs;
let postgres: TestPostgres | undefined;
const base = temporaryFolder("haft-calls-");
const sites = new Map<Engine, Promise<Site>>();

beforeAll(async () => {
  const options = { isSplit: true, inlined: INLINED };
  programs = {
    cli: await bundleProgram("src/cli/main.ts", join(base, "cli"), options),
    library: await bundleProgram("test/calls/processes/library-party.ts", join(base, "library"), options),
  };
});

afterAll(async () => {
  for (const site of sites.values()) await (await site).close();
  await postgres?.stop();
});

function siteOf(engine: Engine): Promise<Site> {
  const opening = sites.get(engine) ?? openSite(engine);
  sites.set(engine, opening);
  return opening;
}

async function openSite(engine: Engine): Promise<Site> {
  const folder = join(base, engine);
  mkdirSync(folder);
  if (engine === "SQLite") return Site.open({ base: folder, programs });
  postgres ??= await startPostgres();
  return Site.open({ base: folder, programs, storeUrl: await postgres.createDatabase() });
}

/** `7`: only that one; `7..`: from there on; `7..20`: up to that one. */
function seeds(): number[] {
  const [, first, isRange, last] = /^(\d+)(\.\.)?(\d+)?$/.exec(process.env["HAFT_SEED"] ?? "") ?? [];
  const from = Number(first ?? 0);
  const to = last !== undefined ? Number(last) : first !== undefined && !isRange ? from : COUNT - 1;
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

test(
  "a call runs at most once, after an approval, and every party is told what happened",
  async () => {
    const left = seeds();
    const isWhole = left.length >= 50;
    const faults: string[] = [];
    let killed = 0;
    let unknown = 0;
    const worker = async (): Promise<void> => {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        const schedule = scheduleOf(seed);
        const started = performance.now();
        try {
          const played = await play(schedule, await siteOf(schedule.engine));
          if (played.hasKilled) killed++;
          unknown += played.lost.size;
          const found = judge(played);
          const heard = played.heard.map(({ party, said, approves }) => `${party} ${approves ?? ""}: ${said}`);
          if (process.env["HAFT_SHOW"]) process.stderr.write(`${seed}: ${heard.join("; ")}\n`);
          if (found.length > 0) {
            faults.push([describeSchedule(schedule), ...found, ...heard].join("\n  "));
          }
        } catch (error) {
          faults.push(`${describeSchedule(schedule)}\n  ${String(error)}`);
        }
        if (process.env["HAFT_SHOW"])
          process.stderr.write(`${Math.round(performance.now() - started)} ms ${describeSchedule(schedule)}\n`);
        if (FULL && seed % 20 === 0)
          process.stderr.write(`seed ${seed}: ${faults.length} faults, ${killed} killed, ${unknown} unknown\n`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (process.env["HAFT_SHOW"]) process.stderr.write(`${killed} killed, ${unknown} unknown\n`);
    expect(faults, faults.join("\n")).toEqual([]);
    for (const site of sites.values()) expect((await (await site).store.audit.verify()).problems).toEqual([]);
    if (!isWhole) return;
    expect(killed, "rounds with a process that was killed").toBeGreaterThan(0);
    expect(unknown, "calls whose process was killed").toBeGreaterThan(0);
  },
  FULL ? 4 * 60 * 60_000 : 300_000,
);

test("without the setting and with another home, a command says which state folder it uses", async () => {
  const folder = join(base, "other-state");
  mkdirSync(folder);
  const site = await Site.open({ base: folder, programs });
  try {
    const asked = await site.command(["tools", "call", "pay", "item=a", "ms:=0"]).told;
    const id = asked.pending?.id ?? "";
    // The home of the account is not a test's to write to, so another state folder comes from the standard variable.
    const env = { HAFT_STATE_DIR: undefined, XDG_STATE_HOME: folder };
    const place = `in the state folder ${join(folder, "haft")}`;
    const approve = await site.command(["approvals", "approve", id], { env }).told;
    expect(approve).toMatchObject({ code: 1, text: expect.stringContaining(place) });
    expect(approve.text).toMatch(/There is no approval .*HAFT_STATE_DIR/);
    const list = await site.command(["approvals", "list"], { env }).told;
    expect(list.text).toContain(`Nothing waits for an answer ${place}`);
    expect(site.effectsOf("a")).toHaveLength(0);
    expect(await site.command(["approvals", "approve", id]).told).toMatchObject({ said: "completed", code: 0 });
    expect(site.effectsOf("a")).toHaveLength(1);
  } finally {
    await site.close();
  }
});

test("a command whose server is killed never says that the call can be made again", async () => {
  const folder = join(base, "killed-server");
  mkdirSync(folder);
  const site = await Site.open({ base: folder, programs });
  try {
    const input = { item: "a", ms: 0, dies: "after effect" };
    const { pending } = await site.server().call({ callId: "call-a", session: "s", input });
    const approved = await site.command(["approvals", "approve", pending?.id ?? ""]).told;
    expect(approved).toMatchObject({ said: "unknown_outcome", code: 5 });
    await site.server().ready();
    const call = ["tools", "call", "spend", "item=b", "before:=0", "ms:=0", "dies=after effect"];
    const made = await site.command(call).told;
    expect(made).toMatchObject({ code: 5, text: expect.stringContaining("the outcome is unknown") });
    expect([...site.effectsOf("a"), ...site.effectsOf("b")]).toHaveLength(2);
  } finally {
    await site.close();
  }
});

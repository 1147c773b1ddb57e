// Several processes run the schedules of one store, and some of them are killed while they do.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { until } from "../../test/setup/until.ts";
import type { ScheduleRun } from "../core/schedule.ts";
import { scheduleFor } from "../jobs/schedule-store.suite.ts";
import { openStore, type Store, type StoreLocation } from "./store.ts";
import { prepareChildren, type TestChild, type TestChildren } from "./start-child.fixture.ts";
import { startPostgres, type TestPostgres } from "./postgres/start-postgres.fixture.ts";

const KILLS = process.env["HAFT_FULL"] === "1" ? 40 : 2;
const AT_ONCE = 12;
const folder = temporaryFolder("haft-schedulers-");
let server: TestPostgres;
let children: TestChildren;

beforeAll(async () => {
  const entries = { scheduler: "jobs/scheduler.ts", clock: "core/clock.ts" };
  [server, children] = await Promise.all([startPostgres(), prepareChildren(entries)]);
}, 120_000);

afterAll(async () => {
  children.remove();
  await server.stop();
});

const places: [string, () => Promise<StoreLocation>][] = [
  ["SQLite", () => Promise.resolve({ stateFolder: mkdtempSync(join(folder, "s-")) })],
  ["PostgreSQL", async () => ({ url: await server.createDatabase() })],
];

/** Runs schedules whose call has an effect outside, in the middle of its time. */
const RUNNER = `
  import { appendFileSync } from "node:fs";
  import { Scheduler } from "./bundle/scheduler.js";
  import { systemClock } from "./bundle/clock.js";
  const [, , place, ledger] = process.argv;
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const store = await openStore(JSON.parse(place));
  const haft = createHaft({ log: store.audit, calls: store.calls, tools: [
    createTool({ name: "put", kind: "write", needsApproval: false, description: "", parameters: [{ name: "id", type: "string" }],
      run: async ({ id }) => { await pause(15); appendFileSync(ledger, id + "\\n"); await pause(15); return id; } }),
  ] });
  new Scheduler({ store: store.schedules, clock: systemClock, execute: (...call) => haft.execute(...call),
    onProblem: (error) => { throw error; } }).start();
  setInterval(() => {}, 1000);
  say("ready");`;

test.each(places)(
  "each run happens once or is said to be of unknown outcome, and none is lost, in %s",
  async (_name, newLocation) => {
    const place = await newLocation();
    const ledger = join(mkdtempSync(join(folder, "l-")), "ledger");
    writeFileSync(ledger, "");
    const effects = (): string[] => readFileSync(ledger, "utf8").split("\n").filter(Boolean);
    const start = async (): Promise<TestChild> => {
      const child = children.start(RUNNER, [JSON.stringify(place), ledger]);
      await child.waitForOutput("ready");
      return child;
    };
    const store = await openStore(place);
    const running = await Promise.all([start(), start()]);
    const ids: string[] = [];
    for (let round = 0; round < KILLS; round++) {
      const before = effects().length;
      ids.push(...(await addDue(store, round)));
      await until(() => effects().length >= before + 2, { pauseMs: 2 });
      const victim = running.shift()!;
      victim.process.kill("SIGKILL");
      await victim.ended;
      running.push(await start());
    }
    const undisturbed = await addDue(store, KILLS);
    ids.push(...undisturbed);
    const runs = await Promise.all(ids.map((id) => untilEnded(store, id)));
    for (const child of running) {
      child.process.kill("SIGKILL");
      expect((await child.ended).errors).toBe("");
    }
    const made = effects();
    expect(new Set(made).size, "an effect happened twice").toBe(made.length);
    expect(runs.filter(({ length }) => length !== 1)).toEqual([]);
    const outcomes = runs.flat().map(({ state, errorCode }) => (state === "completed" ? state : errorCode));
    expect([...new Set(outcomes)].filter((outcome) => outcome !== "unknown_outcome")).toEqual(["completed"]);
    const completed = runs.flat().filter(({ state }) => state === "completed");
    expect(completed.filter(({ scheduleId }) => !made.includes(scheduleId))).toEqual([]);
    expect(completed.map(({ scheduleId }) => scheduleId)).toEqual(expect.arrayContaining(undisturbed));
    await store.close();
  },
  120_000,
);

async function addDue(store: Store, round: number): Promise<string[]> {
  const ids = Array.from({ length: AT_ONCE }, (_, i) => `r${round}-${i}`);
  for (const id of ids) {
    const now = Date.now();
    const target = { type: "call", toolName: "put", input: { id } } as const;
    const timing = { type: "at", at: now } as const;
    await store.schedules.add(
      scheduleFor(id, { timing, target, nextAt: now, authority: { caller: { depth: 0 } } }),
      10_000,
    );
  }
  return ids;
}

async function untilEnded(store: Store, id: string): Promise<ScheduleRun[]> {
  let runs: ScheduleRun[] = [];
  await until(async () => {
    runs = await store.schedules.runs(id, { limit: 10 });
    return runs[0] !== undefined && runs[0].state !== "running";
  });
  return runs;
}

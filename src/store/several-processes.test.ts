import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createTool } from "../core/create-tool.ts";
import { createHaft } from "../runtime.ts";
import { openStore, type StoreLocation } from "./store.ts";
import { prepareChildren, type TestChildren } from "./start-child.fixture.ts";
import { startPostgres, type TestPostgres } from "./postgres/start-postgres.fixture.ts";

const KILLS = process.env["HAFT_FULL"] === "1" ? 200 : 8;
const folder = temporaryFolder("haft-processes-");
let server: TestPostgres;
let children: TestChildren;

beforeAll(async () => {
  [server, children] = await Promise.all([startPostgres(), prepareChildren()]);
}, 120_000);

afterAll(async () => {
  children.remove();
  await server.stop();
});

const places: [string, () => Promise<StoreLocation>][] = [
  ["SQLite", () => Promise.resolve({ stateFolder: mkdtempSync(join(folder, "s-")) })],
  ["PostgreSQL", async () => ({ url: await server.createDatabase() })],
];

/** Makes calls that have an effect outside, one after the other, and says of each when it was answered. */
const WRITER = `
  import { appendFileSync } from "node:fs";
  const [, , place, ledger, round] = process.argv;
  const store = await openStore(JSON.parse(place));
  const haft = createHaft({ log: store.audit, calls: store.calls, tools: [
    createTool({ name: "put", kind: "write", needsApproval: false, description: "", parameters: [{ name: "n", type: "integer" }],
      run: ({ n }) => { appendFileSync(ledger, round + "-" + n + "\\n"); return n; } }),
    createTool({ name: "look", kind: "readonly", description: "", parameters: [], run: () => "seen" }),
  ] });
  for (let n = 1; ; n++) {
    void haft.execute("look");
    const result = await haft.execute("put", { n }, { id: round + "-" + n, caller: { session: "s" } });
    if (result.status !== "completed") throw new Error(JSON.stringify(result));
    say("done " + result.callId);
  }`;

describe.each(places)("several processes on one store in %s", (_name, newLocation) => {
  test.each([
    ["before end", "running", ["call_begun", "call_lost"]],
    ["after end", "ended", ["call_begun", "call_ended"]],
  ] as const)(
    "the audit log agrees with the state of a call whose process is killed %s",
    async (point, state, kinds) => {
      const place = await newLocation();
      const ledger = join(mkdtempSync(join(folder, "l-")), "effects");
      const killed = children.start(WRITER, [JSON.stringify(place), ledger, "r"], { HAFT_FAIL_AT: point });
      expect(await killed.ended).toMatchObject({ signal: "SIGKILL" });
      const store = await openStore(place);
      onTestFinished(() => store.close());
      const [row] = await store.database.all("SELECT state, outcome FROM calls");
      expect(row).toEqual({ state, outcome: state === "ended" ? "completed" : null });
      const history = await store.audit.call("r-1");
      expect(history?.entries.map(({ kind }) => kind)).toEqual(kinds);
      expect(await store.audit.verify()).toMatchObject({ ok: true });
    },
  );

  test.each(["migrated owners 1", "migrated audit 3", "migrated calls 4"])(
    "a process that is killed in the middle of a migration (%s) has changed nothing, and the next one migrates",
    async (point) => {
      const place = await newLocation();
      const open = `const store = await openStore(JSON.parse(process.argv[2])); say("open"); await store.close();`;
      const killed = children.start(open, [JSON.stringify(place)], { HAFT_FAIL_AT: point });
      expect([await killed.ended, killed.lines()]).toMatchObject([{ signal: "SIGKILL" }, []]);
      const next = children.start(open, [JSON.stringify(place)]);
      expect([await next.ended, next.lines()]).toMatchObject([{ code: 0, errors: "" }, ["open"]]);
      const store = await openStore(place);
      onTestFinished(() => store.close());
      await store.audit.append({ kind: "note", data: {} });
      expect(await store.audit.verify()).toMatchObject({ ok: true, count: 1 });
    },
  );

  test.each([25, -25])("a clock that is wrong by %i hours ends nothing of others early, nor its own", async (hours) => {
    const place = await newLocation();
    const tools = [
      createTool({
        name: "send",
        description: "Sends",
        kind: "write",
        permission: "confirm",
        parameters: [],
        run: () => "sent",
      }),
    ];
    const store = await openStore(place);
    onTestFinished(() => store.close());
    const haft = createHaft({ log: store.audit, calls: store.calls, tools });
    const asked = await haft.execute("send", {}, { id: "here" });
    const source = `
      const real = Date.now;
      Date.now = () => real() + Number(process.argv[3]) * 3_600_000;
      const store = await openStore(JSON.parse(process.argv[2]));
      const tools = [createTool({ name: "send", description: "Sends", kind: "write", permission: "confirm", parameters: [], run: () => "sent" })];
      const haft = createHaft({ log: store.audit, calls: store.calls, tools });
      await haft.execute("send", {}, { id: "there" });
      const open = await haft.approvals.list();
      say(JSON.stringify({ open: open.map(({ callId, state }) => callId + " " + state).sort(), warnings: store.warnings }));
      await haft.shutdown();
      await store.close();`;
    const child = children.start(source, [JSON.stringify(place), String(hours)]);
    expect(await child.ended).toMatchObject({ code: 0 });
    const said = JSON.parse(child.lines()[0]!) as { open: string[]; warnings: string[] };
    expect(said.open).toEqual(["here pending", "there pending"]);
    expect(said.warnings).toEqual([expect.stringContaining(`1500 minutes ${hours > 0 ? "ahead" : "behind"}`)]);
    const open = await haft.approvals.list();
    expect(open.map(({ callId }) => callId).sort()).toEqual(["here", "there"]);
    if (asked.status !== "pending") throw new Error(asked.display);
    expect(await haft.approvals.approve(asked.pending.id, "ada")).toMatchObject({ status: "completed" });
    await haft.shutdown();
  });

  test("start at once on an empty store, and append to one unbroken chain", async () => {
    const place = await newLocation();
    const source = `
      const store = await openStore(JSON.parse(process.argv[2]));
      const name = process.argv[3];
      for (let i = 0; i < 10; i++) {
        await Promise.all(Array.from({ length: 10 }, (_, k) => store.audit.append({ kind: "note", data: { by: name, n: i * 10 + k } })));
      }
      await store.close();
      say("closed");`;
    const running = ["a", "b", "c", "d"].map((name) => children.start(source, [JSON.stringify(place), name]));
    for (const child of running) expect(await child.ended).toMatchObject({ code: 0, errors: "" });
    const store = await openStore(place);
    expect(await store.audit.verify()).toMatchObject({ ok: true, count: 400, problems: [] });
    const numbers = new Map<unknown, unknown[]>();
    for await (const { data } of store.audit.entries()) {
      numbers.set(data["by"], [...(numbers.get(data["by"]) ?? []), data["n"]]);
    }
    const inOrder = Array.from({ length: 100 }, (_, n) => n);
    expect(Object.fromEntries(numbers)).toEqual({ a: inOrder, b: inOrder, c: inOrder, d: inOrder });
    await store.close();
  });

  test("begin a call with one key once", async () => {
    const place = await newLocation();
    const source = `
      const store = await openStore(JSON.parse(process.argv[2]));
      say("ready");
      await new Promise((go) => process.stdin.once("data", go));
      const row = { callId: "c", fingerprint: "f", toolName: "t", caller: { depth: 0 }, state: "running", epoch: 1, lost: 0 };
      for (let n = 0; n < 50; n++) {
        const owner = store.calls.processId;
        const own = { id: owner + n, key: "key" + n, owner, repeatable: false, createdAt: 1 };
        if ((await store.calls.insert({ ...row, ...own })).outcome === "inserted") say("began " + n);
      }
      say("finished");
      await new Promise((go) => process.stdin.once("data", go));
      await store.close();`;
    const running = [1, 2, 3].map(() => children.start(source, [JSON.stringify(place)]));
    await Promise.all(running.map((child) => child.waitForOutput("ready")));
    for (const child of running) child.process.stdin!.write("go\n");
    await Promise.all(running.map((child) => child.waitForOutput("finished")));
    const began = running.flatMap((child) => child.lines().filter((line) => line.startsWith("began")));
    expect(new Set(began).size).toBe(50);
    expect(began).toHaveLength(50);
    const store = await openStore(place);
    const begun = await store.calls.find("key7");
    expect(begun).toMatchObject({ state: "running", epoch: 1 });
    expect(await store.calls.isAlive(begun?.owner ?? "")).toBe(true);
    for (const child of running) child.process.stdin!.end("go\n");
    await Promise.all(running.map((child) => child.ended));
    expect(await store.calls.isAlive(begun?.owner ?? "")).toBe(false);
    await store.close();
  });

  test(
    "lose nothing that was answered when one of them is killed, and say which calls are lost",
    async () => {
      const place = await newLocation();
      const ledger = join(folder, `ledger-${"url" in place ? "p" : "s"}`);
      const kills = "url" in place ? Math.ceil(KILLS / 4) : KILLS;
      const answered = new Set<string>();
      const watcher = await openStore(place);
      for (let round = 1; round <= kills; round++) {
        const child = children.start(WRITER, [JSON.stringify(place), ledger, String(round)]);
        await child.waitForOutput(`done ${round}-${1 + Math.floor(Math.random() * 8)}`);
        await sleep(Math.random() * 15);
        child.process.kill("SIGKILL");
        expect((await child.ended).errors).toBe("");
        for (const line of child.lines()) if (line.startsWith("done ")) answered.add(line.slice(5));
      }
      const store = await openStore(place);
      const kinds = new Map<string, string[]>();
      for await (const { kind, callId, toolName } of store.audit.entries()) {
        if (toolName === "put") kinds.set(callId!, [...(kinds.get(callId!) ?? []), kind]);
      }
      for (const id of answered) expect(kinds.get(id)).toEqual(["call_begun", "call_ended"]);
      const effects = existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : [];
      expect(new Set(effects).size).toBe(effects.length);
      for (const id of effects) expect(kinds.get(id)?.[0]).toBe("call_begun");
      for (const story of kinds.values()) {
        expect(["call_begun call_ended", "call_begun call_lost"]).toContain(story.join(" "));
      }
      expect(await store.audit.verify()).toMatchObject({ ok: true, problems: [] });
      expect(answered.size).toBeGreaterThanOrEqual(kills);
      await store.close();
      await watcher.close();
    },
    kills(5000),
  );

  test("leave the calls of a live process alone, and say of a dead one's that they are lost, once", async () => {
    const place = await newLocation();
    const source = `
      const store = await openStore(JSON.parse(process.argv[2]));
      const haft = createHaft({ log: store.audit, calls: store.calls, tools: [
        createTool({ name: "hang", kind: "execute", needsApproval: false, description: "", parameters: [], run: () => (say("running"), new Promise(() => {})) }),
      ] });
      setInterval(() => {}, 1000);
      void haft.execute("hang", {}, { id: process.argv[3], caller: { session: "s" } });`;
    const live = children.start(source, [JSON.stringify(place), "live"]);
    const dead = children.start(source, [JSON.stringify(place), "dead"]);
    await Promise.all([live.waitForOutput("running"), dead.waitForOutput("running")]);
    dead.process.kill("SIGKILL");
    await dead.ended;
    const [one, two] = await Promise.all([openStore(place), openStore(place)]);
    const warnings = [...one.warnings, ...two.warnings];
    expect(warnings).toEqual([expect.stringMatching(/A call was running .* hang \(dead\)\..*unknown/)]);
    const lost = (await one.audit.query({ kind: "call_lost" })).entries;
    expect(lost).toMatchObject([{ callId: "dead", toolName: "hang", status: "unknown", caller: { session: "s" } }]);
    expect(await one.audit.recent()).toMatchObject([{ callId: "dead", errorCode: "unknown_outcome" }]);
    expect(await one.audit.lost()).toEqual([]);
    live.process.kill("SIGKILL");
    await live.ended;
    expect(await two.audit.lost()).toMatchObject([{ callId: "live" }]);
    await one.close();
    await two.close();
  });

  test("the worker that takes over the jobs of a dead one writes what became of their calls, and their ends stay", async () => {
    const place = await newLocation();
    const source = `
      const store = await openStore(JSON.parse(process.argv[2]));
      const never = () => (say("running"), new Promise(() => {}));
      const common = { kind: "write", needsApproval: false, description: "", parameters: [] };
      const haft = createHaft({ log: store.audit, calls: store.calls, jobs: store.jobs, tools: [
        createTool({ ...common, name: "part", run: never }),
        createTool({ ...common, name: "pay", async: true, run: (_, context) => context.call("part") }),
        createTool({ ...common, name: "report", async: true, idempotent: true, run: never }),
      ] });
      await haft.execute("pay", {}, { id: "pay", caller: { session: "s" } });
      await haft.execute("report", {}, { id: "report", caller: { session: "s" } });
      setInterval(() => {}, 1000);`;
    const dead = children.start(source, [JSON.stringify(place)]);
    await until(() => dead.lines().length === 2);
    const { audit, calls, jobs, ...store } = await openStore(place);
    onTestFinished(() => store.close());
    dead.process.kill("SIGKILL");
    await dead.ended;
    const common = { kind: "write", needsApproval: false, description: "", parameters: [] } as const;
    const report = createTool({ ...common, name: "report", async: true, idempotent: true, run: () => "done" });
    const haft = createHaft({ log: audit, calls, jobs, tools: [report] });
    onTestFinished(() => haft.shutdown());
    await haft.jobs.work();
    const states = async (): Promise<string[]> => (await jobs.list()).map(({ state }) => state).toSorted();
    await until(async () => (await states()).join() === "completed,unknown");
    const unknown = (await audit.calls({ status: ["unknown"] })).entries;
    expect(unknown.map(({ callId, kind }) => [kind, callId])).toEqual([
      ["call_lost", expect.stringContaining("pay/")],
      ["call_lost", "pay"],
    ]);
    const waits = { kind: "call_waiting", status: "pending", data: { pending: { kind: "job" } } };
    const story = [waits, { kind: "call_begun" }, waits, { kind: "call_begun" }, { kind: "call_ended" }];
    expect((await audit.call("report"))?.entries).toMatchObject(story);
    const later = await openStore(place);
    onTestFinished(() => later.close());
    expect(later.warnings).toEqual([]);
    expect((await later.audit.call("report"))?.entries).toMatchObject(story);
    expect(await later.audit.verify()).toMatchObject({ ok: true });
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20);
}

function kills(perKillMs: number): number {
  return 30_000 + KILLS * perKillMs;
}

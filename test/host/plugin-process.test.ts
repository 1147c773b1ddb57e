import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolResult } from "../../src/index.ts";
import { ROOT } from "../architecture/read-entries.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { childEnd } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";

/** Every tool answers with its process id, so a test sees in which process it ran. */
const ROUGH = `
import { setTimeout as sleep } from "node:timers/promises";
import { appendFileSync } from "node:fs";

export default {
  manifest: { id: "rough" },
  register(api) {
    const add = (name, run, more = {}) =>
      api.registerTool({ name, description: name, permission: "auto", run, parameters: { type: "object", properties: { n: { type: "integer" } } }, ...more });
    add("pid", ({ n }) => ({ pid: process.pid, n }), { kind: "readonly" });
    add("exits", () => process.exit(3));
    add("reads_and_exits", () => process.exit(4), { kind: "readonly" });
    add("throws_later", async () => { setTimeout(() => { throw new Error("in a timer"); }, 5); await sleep(60_000); });
    add("rejects_later", async () => { void Promise.reject(new Error("never caught")); await sleep(60_000); });
    add("blocks", (_input, { update }) => { update("now"); for (;;); }, { limits: { timeoutMs: 500 } });
    add("fills_heap", () => { const all = []; for (;;) all.push(new Array(10_000).fill(all.length)); });
    add("fills_buffers", async () => { const all = []; for (;;) { all.push(Buffer.alloc(16 * 1024 * 1024, 1)); await sleep(1); } });
    add("prints", () => { console.log("printed to stdout"); return "ok"; });
    add("yields", async function* () { yield "one"; yield { content: [{ type: "text", text: "two" }] }; return { content: "three", details: 3 }; });
    add("waits", async (_input, { signal, update }) => { update("waiting"); await sleep(60_000, undefined, { signal }); }, { kind: "readonly" });
    add("sleeps", async (_input, { update }) => { update(String(process.pid)); await sleep(60_000); });
    add("floods", async (_input, { update }) => { for (let i = 1; i <= 500; i++) update(String(i)); return "all"; });
    process.send?.("a message of the plugin's own");
    add("sends", () => {
      for (let id = 0; id < 50; id++) for (const type of ["error", "log", undefined]) process.send?.({ type, id });
      for (let id = 0; id < 50; id++) process.send?.({ type: "error", id, error: { failure: null } });
      process.send?.({ type: "note", method: "stray", body: null });
      return "sent";
    });
    add("nests", async (_input, { call }) => (await call("pid", { n: 7 })).details);
    add("asks", ({ n }) => n, {
      kind: "write",
      permission: async ({ n }) => (n > 10 ? "confirm" : "auto"),
      signature: ({ n }) => "number " + n,
      locks: ({ n }) => ["number:" + n],
      preview: async ({ n }, { call }) => ({ title: "Number " + (await call("pid", { n })).details.n, content: [] }),
      rule: ({ n }) => "asks(" + n + ")",
    });
    add("fails", () => { throw Object.assign(new TypeError("bad luck"), { extra: 1 }); });
    add("returns_class", () => ({ url: new URL("http://a.example/"), when: new Date(0), big: 1n }));
  },
};`;

/** Does not start while the file `down` is there. Its schema is checked in its own process. */
const FRAGILE = `
import { appendFileSync, existsSync } from "node:fs";
import { z } from "zod";

const place = (name) => new URL(name, import.meta.url);
if (existsSync(place("./down"))) process.exit(5);
const pay = (name) => ({
  name, description: name, kind: "write", permission: "auto",
  parameters: z.object({ n: z.number().refine(async () => true) }),
  run: ({ n }) => (appendFileSync(place("./paid"), name + n + " "), { pid: process.pid }),
});
export default {
  manifest: { id: "fragile" },
  register(api) {
    api.registerTool(pay("pay"));
    api.registerTool({ ...pay("pay_plainly"), parameters: { type: "object", properties: { n: { type: "integer" } } } });
  },
};`;

const TYPED = `
import { z } from "zod";

interface Api { registerTool(tool: object): void }
export default {
  manifest: { id: "typed" },
  register(api: Api): void {
    api.registerTool({
      name: "typed",
      description: "Has a schema that JSON Schema cannot express",
      kind: "write",
      parameters: z.object({
        at: z.string().transform((text) => new Date(text)),
        link: z.string().transform((text) => new URL(text)),
        even: z.number().refine((n) => n % 2 === 0, "must be even"),
      }),
      permission: ({ even }: { even: number }) => (even > 10 ? "confirm" : "auto"),
      locks: ({ link }: { link: URL }) => [link.host],
      preview: async ({ link }: { link: URL }) => ({ title: "Opens " + link.host, content: [] }),
      run: ({ at, link, even }: { at: Date; link: URL; even: number }) => [at.getUTCFullYear(), link.host, even, process.pid],
    });
  },
};`;

interface Texts {
  content: [{ text: string }];
}

interface Line {
  id?: string;
  result?: ToolResult & { error?: { code: string; message: string; retryable: boolean } };
  update?: unknown;
  warning?: string;
  tools?: { name: string; origin: object }[];
  closed?: boolean;
  previews?: string[];
  verdict?: { decision: string };
  notes?: { callId?: string; toolName?: string; data: Record<string, unknown> }[];
}

/** A process that has opened a folder with plugins. */
class HostProcess {
  readonly child: ChildProcess;
  readonly lines: Line[] = [];
  errors = "";
  #calls = 0;

  constructor(program: string, folder: string, home: string) {
    this.child = spawn(process.execPath, [program, folder, home], { stdio: "pipe" });
    createInterface({ input: this.child.stdout! }).on("line", (line) => this.lines.push(JSON.parse(line) as Line));
    this.child.stderr!.on("data", (chunk: Buffer) => (this.errors += chunk.toString()));
  }

  async line(wanted: (line: Line) => boolean): Promise<Line> {
    await until(() => this.lines.some(wanted) || this.child.exitCode !== null);
    const found = this.lines.find(wanted);
    if (!found) throw new Error(`The program ended: ${this.errors}`);
    return found;
  }

  start(tool: string, input: object = {}, key?: string): { id: string; result: Promise<NonNullable<Line["result"]>> } {
    const id = `c${++this.#calls}`;
    this.child.stdin!.write(`${JSON.stringify({ id, tool, input, key })}\n`);
    return {
      id,
      result: this.line((line) => line.id === id && line.result !== undefined).then(({ result }) => result!),
    };
  }

  call(tool: string, input?: object, key?: string): Promise<NonNullable<Line["result"]>> {
    return this.start(tool, input, key).result;
  }

  send(request: object): void {
    this.child.stdin!.write(`${JSON.stringify(request)}\n`);
  }

  async pid(): Promise<number> {
    const { details } = await this.call("pid");
    return (details as { pid: number }).pid;
  }

  updateOf(id: string): Promise<unknown> {
    return this.line((line) => line.id === id && line.update !== undefined).then(({ update }) => update);
  }
}

let program: string;
let home: string;
let folder: string;
let host: HostProcess;

beforeAll(async () => {
  const base = temporaryFolder("haft-plugin-");
  program = await bundleProgram("test/host/plugin-host.fixture.ts", join(base, "out"), { isSplit: true });
  home = join(base, "home");
  folder = join(base, "work");
  const settings = join(home, ".config", "haft");
  mkdirSync(settings, { recursive: true });
  mkdirSync(folder);
  symlinkSync(join(ROOT, "node_modules"), join(settings, "node_modules"));
  writeFileSync(join(settings, "rough.mjs"), ROUGH);
  writeFileSync(join(settings, "typed.ts"), TYPED);
  writeFileSync(join(settings, "fragile.mjs"), FRAGILE);
  const plugins = [
    { from: "./rough.mjs", memoryMb: 48 },
    "./typed.ts",
    "./fragile.mjs",
    "./gone.mjs",
    { from: "./exits.mjs" },
    "./same-id.mjs",
  ];
  writeFileSync(
    join(settings, "same-id.mjs"),
    `export default { manifest: { id: "rough" }, register: (api) => api.registerTool({ name: "other", description: "o", kind: "readonly", parameters: [], run: () => 1 }) };`,
  );
  writeFileSync(join(settings, "exits.mjs"), "process.exit(0);");
  writeFileSync(join(settings, "config.json"), JSON.stringify({ plugins, limits: { grace: 200 } }));
  host = new HostProcess(program, folder, home);
  await host.line(({ tools }) => tools !== undefined);
}, 120_000);
afterAll(() => void host.child.kill("SIGKILL"));

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a plugin in a process of its own", () => {
  test("is loaded with its tools, and one that cannot be loaded affects no other", async () => {
    const { tools = [] } = await host.line((line) => line.tools !== undefined);
    expect(tools).toContainEqual({ name: "pid", origin: { type: "plugin", plugin: "rough" } });
    expect(tools).toContainEqual({ name: "typed", origin: { type: "plugin", plugin: "typed" } });
    const warnings = host.lines.flatMap(({ warning }) => (warning?.startsWith("The plugin") ? warning : []));
    expect(warnings).toEqual([
      expect.stringMatching(/^The plugin "\.\/gone\.mjs" was not loaded: .*does not exist/),
      expect.stringMatching(/^The plugin "\.\/exits\.mjs" was not loaded: Its process ended with exit code 0/),
      'The plugin "rough" was not installed: another plugin has this id',
    ]);
    expect(tools.map(({ name }) => name)).not.toContain("other");
  });

  test("runs, validates, streams, fails and calls other tools as one in the process of Haft does", async () => {
    const first = await host.pid();
    expect(first).not.toBe(host.child.pid);
    expect(await host.pid()).toBe(first);
    expect(await host.call("pid", { n: "x" })).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    expect(await host.call("nests")).toMatchObject({ status: "completed", details: { pid: first, n: 7 } });
    expect(await host.call("fails")).toMatchObject({
      error: { code: "failed", message: "bad luck", name: "TypeError" },
    });
    expect(await host.call("returns_class")).toMatchObject({
      details: { url: "http://a.example/", when: "1970-01-01T00:00:00.000Z" },
    });
    const yields = host.start("yields");
    expect(await yields.result).toMatchObject({ status: "completed", content: [{ text: "three" }], details: 3 });
    expect(host.lines.filter(({ id, update }) => id === yields.id && update)).toEqual([
      { id: yields.id, update: { content: [{ type: "text", text: "one" }] } },
      { id: yields.id, update: { content: [{ type: "text", text: "two" }] } },
    ]);
    const floods = host.start("floods");
    expect(await floods.result).toMatchObject({ status: "completed", details: "all" });
    const updates = host.lines.filter(({ id, update }) => id === floods.id && update);
    expect(updates.map(({ update }) => (update as Texts).content[0].text)).toEqual(
      Array.from({ length: 500 }, (_, index) => String(index + 1)),
    );
  });

  test("may send messages of any form: they neither end Haft nor answer its calls", async () => {
    expect(await host.call("sends")).toMatchObject({ status: "completed", details: "sent" });
    expect(await host.call("pid", { n: 1 })).toMatchObject({ status: "completed" });
    expect(host.child.exitCode).toBeNull();
  });

  test("keeps what its schema refines and transforms, and its functions decide by input", async () => {
    const input = { at: "2026-01-02", link: "http://b.example/x", even: 4 };
    expect(await host.call("typed", input)).toMatchObject({
      status: "completed",
      details: [2026, "b.example", 4, expect.any(Number)],
    });
    expect(await host.call("typed", { ...input, even: 5 })).toMatchObject({
      error: { code: "invalid_input", message: expect.stringContaining("must be even") },
    });
    expect(await host.call("typed", { ...input, even: 12 })).toMatchObject({
      status: "pending",
      pending: { kind: "approval" },
    });
  });

  test("is asked about an input that middleware has replaced", async () => {
    expect(await host.call("asks", { n: 4 })).toMatchObject({ status: "completed", details: 4 });
    expect(await host.call("asks", { n: 12 })).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    host.send({ approvals: true });
    const { previews } = await host.line((line) => line.previews !== undefined);
    expect(previews?.toSorted()).toEqual(["Number 12", "Opens b.example"]);
  });

  test("has tools that can be explained and scheduled, though their input is checked there", async () => {
    const input = { at: "2026-01-01", link: "http://a.example/", even: 12 };
    host.send({ id: "e", tool: "typed", input, explain: true });
    const { verdict } = await host.line(({ id }) => id === "e");
    expect(verdict).toMatchObject({ decision: "ask" });
    const cron = (given: object) => host.call("cron", { action: "add", every: "1h", tool: "typed", input: given });
    const [added, refused] = [await cron({ ...input, even: 2 }), await cron({ ...input, even: 3 })];
    expect([added.status, refused]).toMatchObject(["pending", { error: { message: /must be even/ } }]);
  });

  test("prints to stderr, because stdout may carry a protocol", async () => {
    expect(await host.call("prints")).toMatchObject({ details: "ok" });
    await until(() => host.errors.includes("printed to stdout"));
  });

  test("is stopped through the signal", async () => {
    const { id, result } = host.start("waits");
    expect(await host.updateOf(id)).toEqual({ content: [{ type: "text", text: "waiting" }] });
    const before = await host.pid();
    host.child.stdin!.write(`${JSON.stringify({ abort: id })}\n`);
    expect(await result).toMatchObject({ error: { code: "cancelled", message: expect.stringContaining("enough") } });
    expect(await host.pid()).toBe(before);
  });
});

describe("the process of a plugin that ends", () => {
  const unknown = (reason: string) => ({
    status: "failed",
    error: { code: "unknown_outcome", retryable: false, message: expect.stringContaining(reason) },
  });

  test.each([
    ["exits", "ended with exit code 3"],
    ["throws_later", "an error that nothing caught, of throws_later"],
    ["rejects_later", "Error: never caught"],
    ["fills_heap", "ran out of memory"],
    ["fills_buffers", "exceeded its memory limit"],
  ])("by a tool that %s takes only its own calls with it, and the next call works", async (tool, reason) => {
    const before = await host.pid();
    expect(await host.call(tool)).toMatchObject(unknown(reason));
    const after = await host.pid();
    expect(after).not.toBe(before);
    expect(isRunning(before)).toBe(false);
    expect(host.lines.some(({ warning }) => warning?.includes(tool) && warning.includes(reason))).toBe(true);
  });

  test("by kill -9 loses the running calls, and a read-only one can be called again", async () => {
    const { id, result } = host.start("sleeps");
    const { content } = (await host.updateOf(id)) as Texts;
    process.kill(Number(content[0].text), "SIGKILL");
    expect(await result).toMatchObject(unknown("was ended by SIGKILL"));
    expect(await host.call("reads_and_exits")).toMatchObject({ error: { code: "unavailable", retryable: true } });
    expect(await host.pid()).toBeGreaterThan(0);
  });

  test("does not change what is known of its calls: ids that ended are answered, others are free again", async () => {
    const settings = join(home, ".config", "haft");
    const first = await host.call("pay", { n: 1 }, "k1");
    expect(first).toMatchObject({ status: "completed" });
    writeFileSync(join(settings, "down"), "");
    process.kill((first.details as { pid: number }).pid, "SIGKILL");
    expect(await host.call("pay", { n: 1 }, "k1")).toMatchObject({ status: "completed", details: first.details });
    // One fails when its input is checked, the other when its tool should run.
    for (const [tool, key] of [
      ["pay", "k2"],
      ["pay_plainly", "k3"],
    ] as const) {
      expect(await host.call(tool, { n: 2 }, key)).toMatchObject({ error: { code: "unavailable", retryable: true } });
    }
    rmSync(join(settings, "down"));
    for (const [tool, key] of [
      ["pay", "k2"],
      ["pay_plainly", "k3"],
    ] as const) {
      const again = async (): Promise<string> => (await host.call(tool, { n: 2 }, key)).status;
      await expect.poll(again, { timeout: 30_000, interval: 500 }).toBe("completed");
    }
    expect(readFileSync(join(settings, "paid"), "utf8")).toBe("pay1 pay2 pay_plainly2 ");
  });

  test("because it blocks: it is killed after the grace period, and calls that had not begun run in the next one", async () => {
    const before = await host.pid();
    const blocked = host.start("blocks");
    await host.updateOf(blocked.id);
    const waiting = host.start("pid", { n: 1 });
    expect(await blocked.result).toMatchObject({ error: { code: "unknown_outcome" } });
    expect(await waiting.result).toMatchObject({ status: "completed", details: { n: 1 } });
    expect((await waiting.result).details).not.toMatchObject({ pid: before });
    expect(isRunning(before)).toBe(false);
  });
});

describe("the process of Haft", () => {
  test("survives what its own tools leave behind, names a tool that blocks it, and records both", async () => {
    const timer = host.start("leaves_timer");
    expect(await timer.result).toMatchObject({ status: "completed" });
    const rejection = host.start("leaves_rejection");
    expect(await rejection.result).toMatchObject({ status: "completed", details: "done" });
    const block = host.start("blocks_here");
    await host.line(({ warning }) => warning?.includes(`blocks_here (call ${block.id}) blocked it`) ?? false);
    host.send({ audit: true });
    const { notes = [] } = await host.line((line) => line.notes !== undefined);
    const noted = notes.map(({ callId, toolName, data }) => [callId, toolName, data["action"], data["message"]]);
    expect(noted.filter(([, , action]) => action === "stray_error")).toHaveLength(2);
    // In any order: on a busy machine the timer fires after the rejection, and other calls may be noted as blocking too.
    expect(noted).toEqual(
      expect.arrayContaining([
        [block.id, "blocks_here", "event_loop_blocked", undefined],
        [rejection.id, "leaves_rejection", "stray_error", "left unhandled"],
        [timer.id, "leaves_timer", "stray_error", "left in a timer"],
      ]),
    );
  });

  test("ends its plugins when it is killed while one blocks, when it closes, and by an error of its own", async () => {
    const typed = { at: "2026-01-02", link: "http://b.example/x", even: 4 };
    const idle = ((await host.call("typed", typed)).details as number[])[3]!;
    const blocked = await host.pid();
    await host.updateOf(host.start("blocks").id);
    host.child.kill("SIGKILL");
    await until(() => !isRunning(blocked) && !isRunning(idle));

    const otherHome = join(home, "other");
    mkdirSync(join(otherHome, ".config", "haft"), { recursive: true });
    const plugins = [join(home, ".config", "haft", "rough.mjs")];
    writeFileSync(join(otherHome, ".config", "haft", "config.json"), JSON.stringify({ plugins }));
    const open = (): HostProcess => new HostProcess(program, folder, otherHome);
    const [closed, crashed] = [open(), open()];
    const pids = await Promise.all([closed.pid(), crashed.pid()]);
    closed.child.stdin!.end();
    expect(await childEnd(closed.child)).toEqual({ code: 0, signal: null });
    crashed.send({ crash: true });
    expect(await childEnd(crashed.child)).toEqual({ code: 1, signal: null });
    expect(crashed.errors).toContain("of nobody");
    await until(() => !pids.some(isRunning));
  });
});

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import type { ToolResult } from "../core/result.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { type CallJournal, type JournalEntry, MemoryJournal } from "../calls/call-journal.ts";

/** A runtime with one tool that counts its runs; each run gives the next number, or what `behave` says. */
function counting(
  behave?: (run: number, input: { n?: number }, context: ToolContext) => unknown,
  more: object = {},
  options: HaftOptions = {},
) {
  let runs = 0;
  const haft = createHaft({
    ...options,
    tools: [
      createTool({
        name: "count",
        description: "",
        parameters: [{ name: "n", type: "integer", required: false }],
        run: (input: { n?: number }, context: ToolContext) => (behave ? behave(++runs, input, context) : ++runs),
        ...more,
      }),
    ],
  });
  return { haft, runs: () => runs };
}

describe("a call that was made before", () => {
  test("under the same id is answered again and not run", async () => {
    const { haft, runs } = counting();
    const first = await haft.execute("count", { n: 1 }, { id: "x" });
    const again = await haft.execute("count", { n: 1 }, { id: "x" });
    expect(first.metadata.known).toBeUndefined();
    expect(again).toMatchObject({ status: "completed", details: 1, callId: "x", metadata: { known: "replay" } });
    expect(runs()).toBe(1);
  });

  test("is not known where it said that it has no key; approved later, it is known by its id", async () => {
    const { haft, runs } = counting();
    const options = { id: "x", idempotencyKey: false } as const;
    await haft.execute("count", {}, options);
    expect(await haft.execute("count", {}, options)).toMatchObject({ details: 2 });
    expect(runs()).toBe(2);
    const asking = counting(undefined, { permission: "confirm" });
    const requested = await asking.haft.execute("count", {}, options);
    await asking.haft.approve(requested.status === "pending" ? requested.pending.id : "");
    expect(await asking.haft.execute("count", {}, { id: "x" })).toMatchObject({
      details: 1,
      metadata: { known: "replay" },
    });
    expect(asking.runs()).toBe(1);
  });

  test("is known by its idempotency key, also under another id", async () => {
    const { haft, runs } = counting();
    await haft.execute("count", {}, { id: "x", idempotencyKey: "k" });
    expect(await haft.execute("count", {}, { id: "y", idempotencyKey: "k" })).toMatchObject({
      callId: "y",
      metadata: { known: "replay" },
    });
    expect(runs()).toBe(1);
  });

  test("without an id is another call", async () => {
    const { haft, runs } = counting();
    await haft.execute("count");
    await haft.execute("count");
    expect(runs()).toBe(2);
  });

  test("by another caller is another call", async () => {
    const { haft, runs } = counting();
    for (const caller of [{}, { session: "a" }, { session: "b" }, { session: "a", user: "u" }, { agent: "a" }]) {
      expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ metadata: {} });
    }
    expect(runs()).toBe(5);
  });

  test("with other input, or another tool, is a conflict", async () => {
    const { haft, runs } = counting();
    haft.register(createTool({ name: "other", description: "", parameters: [], run: () => 0 }));
    await haft.execute("count", { n: 1 }, { id: "x" });
    expect(await haft.execute("count", { n: 2 }, { id: "x" })).toMatchObject({
      error: { code: "conflict", actor: "caller" },
    });
    expect(await haft.execute("other", {}, { id: "x" })).toMatchObject({ error: { code: "conflict" } });
    expect(runs()).toBe(1);
  });

  test("is compared by what was sent, also where the schema turns that into something of its own", async () => {
    const { haft } = counting(undefined, {
      parameters: z.object({ tags: z.array(z.string()).transform((all) => new Set(all)) }),
    });
    await haft.execute("count", { tags: ["a"] }, { id: "x" });
    expect(await haft.execute("count", { tags: ["b"] }, { id: "x" })).toMatchObject({ error: { code: "conflict" } });
    expect(await haft.execute("count", { tags: ["a"] }, { id: "x" })).toMatchObject({ metadata: { known: "replay" } });
  });

  test("gives each caller a result of its own, so that a change to one reaches nobody else", async () => {
    const { haft } = counting(() => ({ list: [1] }));
    const first = await haft.execute("count", {}, { id: "x" });
    (first.details as { list: number[] }).list.push(2);
    const second = await haft.execute("count", {}, { id: "x" });
    expect(second.details).toEqual({ list: [1] });
  });

  test("and failed for good is not tried again", async () => {
    const { haft, runs } = counting(() => {
      throw new Error("no");
    });
    await haft.execute("count", {}, { id: "x" });
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({
      status: "failed",
      metadata: { known: "replay" },
    });
    expect(runs()).toBe(1);
  });

  test.each([
    ["is tried again where running it twice does no harm", true, 2],
    ["is not tried again where that might do harm", false, 1],
  ])("and failed for a passing reason %s", async (_what, idempotent, runs) => {
    const set = counting(
      (run) => (run === 1 ? { content: "down", error: { code: "unavailable", message: "down" } } : "up"),
      { idempotent },
    );
    await set.haft.execute("count", {}, { id: "x" });
    await set.haft.execute("count", {}, { id: "x" });
    expect(set.runs()).toBe(runs);
  });

  test("and waits for somebody has not happened: made again, it runs", async () => {
    const { haft, runs } = counting((run) =>
      run === 1 ? { content: "later", pending: { kind: "client", id: "c" } } : "now",
    );
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({
      status: "pending",
      pending: { kind: "client", id: "c" },
    });
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ status: "completed", details: "now" });
    expect(runs()).toBe(2);
  });
});

describe("the same call, made while it runs", () => {
  function held() {
    let release!: (value: string) => void;
    const set = counting(() => new Promise((done) => (release = done)));
    return { ...set, release: (value: string) => release(value) };
  }

  test("joins the first and gets its result", async () => {
    const { haft, runs, release } = held();
    const first = haft.execute("count", { n: 1 }, { id: "x" });
    const second = haft.execute("count", { n: 1 }, { id: "x" });
    const other = haft.execute("count", { n: 2 }, { id: "x" });
    expect(await other).toMatchObject({ error: { code: "conflict" } });
    release("once");
    expect(await first).toMatchObject({ details: "once" });
    expect(await second).toMatchObject({ details: "once", metadata: { known: "replay" } });
    expect(runs()).toBe(1);
  });

  test("can be cancelled by its own caller, which leaves the first alone", async () => {
    const { haft, release } = held();
    const first = haft.execute("count", {}, { id: "x" });
    const controller = new AbortController();
    const second = haft.execute("count", {}, { id: "x", signal: controller.signal });
    controller.abort();
    expect(await second).toMatchObject({ error: { code: "cancelled" } });
    release("done");
    expect(await first).toMatchObject({ status: "completed" });
  });
});

/** A journal in which every answer takes a turn, as that of a database does. */
class SlowJournal implements CallJournal {
  readonly inner = new MemoryJournal();
  failing: "begin" | "end" | undefined;

  async find(key: string, fingerprint: string): Promise<JournalEntry | undefined> {
    await turn();
    return this.inner.find(key, fingerprint);
  }
  async begin(key: string, fingerprint: string, options?: { again?: boolean }): Promise<JournalEntry | undefined> {
    await turn();
    if (this.failing === "begin") throw new Error("disk full");
    return this.inner.begin(key, fingerprint, options);
  }
  async end(key: string, result: ToolResult): Promise<void> {
    await turn();
    await turn();
    if (this.failing === "end") throw new Error("disk full");
    this.inner.end(key, result);
  }
  async forget(key: string): Promise<void> {
    await turn();
    this.inner.forget(key);
  }
}

describe("a journal that answers later", () => {
  test("lets a call run once, whenever its twin comes", async () => {
    for (let delay = 0; delay < 12; delay++) {
      const { haft, runs } = counting(undefined, {}, { journal: new SlowJournal() });
      const first = haft.execute("count", {}, { id: "x" });
      for (let i = 0; i < delay; i++) await turn();
      const second = haft.execute("count", {}, { id: "x" });
      expect([(await first).status, (await second).status]).toEqual(["completed", "completed"]);
      expect(runs()).toBe(1);
    }
  });

  test("and cannot write the beginning keeps the call from running, and nobody waits for it afterwards", async () => {
    const journal = new SlowJournal();
    const { haft, runs } = counting(undefined, {}, { journal });
    journal.failing = "begin";
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ status: "failed" });
    expect(runs()).toBe(0);
    journal.failing = undefined;
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ status: "completed" });
  });

  test("and cannot write the end does not turn what happened into a failure", async () => {
    const journal = new SlowJournal();
    const { haft } = counting(undefined, {}, { journal });
    journal.failing = "end";
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ status: "completed", details: 1 });
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ error: { code: "unknown_outcome" } });
  });

  test("and knows of a call that another process began says so, unless running it twice does no harm", async () => {
    const find = (): JournalEntry => ({ state: "unknown" });
    const begun: boolean[] = [];
    const begin = (_key: string, _fingerprint: string, { again = false } = {}) => void begun.push(again) as undefined;
    const journal: CallJournal = { find, begin, end: () => {}, forget: () => {} };
    const careful = counting(undefined, {}, { journal });
    expect(await careful.haft.execute("count", {}, { id: "x" })).toMatchObject({
      error: { code: "unknown_outcome", message: expect.stringContaining("Check its effect first") },
    });
    expect(careful.runs()).toBe(0);
    const harmless = counting(undefined, { idempotent: true }, { journal });
    expect(await harmless.haft.execute("count", {}, { id: "x" })).toMatchObject({ status: "completed" });
    expect(begun).toEqual([true]);
  });
});

describe("a journal that others write to", () => {
  const result: ToolResult = {
    callId: "o",
    toolName: "count",
    status: "completed",
    success: true,
    content: [],
    display: "",
    details: 9,
    metadata: {},
    startedAt: 1,
  };

  function shared(found: JournalEntry | undefined, atBegin: JournalEntry | undefined, more: object = {}) {
    const journal: CallJournal = { find: () => found, begin: () => atBegin, end: () => {}, forget: () => {} };
    return counting(undefined, more, { journal });
  }

  test.each<[what: string, entry: JournalEntry, answer: object]>([
    ["has its result", { state: "done", result }, { status: "completed", details: 9, metadata: { known: "replay" } }],
    ["is running there", { state: "running", elsewhere: true }, { error: { code: "busy", retryable: true } }],
    ["was lost there", { state: "unknown" }, { error: { code: "unknown_outcome" } }],
    ["was another call there", { state: "other" }, { error: { code: "conflict" } }],
  ])(
    "does not run a call again that %s, whether that is seen before permission or after",
    async (_what, entry, answer) => {
      for (const isSeenBefore of [true, false]) {
        const { haft, runs } = isSeenBefore ? shared(entry, undefined) : shared(undefined, entry);
        expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ callId: "x", ...answer });
        expect(runs()).toBe(0);
      }
    },
  );

  test("keeps a call that runs elsewhere from running here, also where running it twice does no harm", async () => {
    const { haft, runs } = shared({ state: "running", elsewhere: true }, undefined, { idempotent: true });
    expect(await haft.execute("count", {}, { id: "x" })).toMatchObject({ error: { code: "busy" } });
    expect(runs()).toBe(0);
  });
});

describe("the memory journal", () => {
  test("drops the oldest that are done, never one that runs", () => {
    const journal = new MemoryJournal(2);
    const result = { content: [] } as unknown as ToolResult;
    journal.begin("running", "f");
    for (const key of ["a", "b", "c", "d", "e"]) {
      journal.begin(key, "f");
      journal.end(key, result);
    }
    const states = ["running", "a", "b", "d", "e"].map((key) => journal.find(key, "f")?.state);
    expect(states).toEqual(["running", undefined, undefined, "done", "done"]);
    journal.forget("d");
    expect(journal.find("d")).toBeUndefined();
  });
});

function turn(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { MemoryCallStore } from "../calls/call-store.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

/** Ids are replayed within a conversation. */
const caller = { session: "s" };

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
        permission: "auto",
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
    const first = await haft.execute("count", { n: 1 }, { id: "x", caller });
    const again = await haft.execute("count", { n: 1 }, { id: "x", caller });
    expect(first.metadata.known).toBeUndefined();
    expect(again).toMatchObject({ status: "completed", details: 1, callId: "x", metadata: { known: "replay" } });
    expect(runs()).toBe(1);
  });

  test("and ended after its caller was answered has the late result, which replaces the unknown outcome", async () => {
    const clock = createFakeClock();
    let end = (_value: string): void => undefined;
    const slow = new Promise<string>((resolve) => (end = resolve));
    const { haft, runs } = counting(() => slow, { kind: "execute" }, { clock });
    const controller = new AbortController();
    const options = { id: "x", caller };
    const stopped = haft.execute("count", {}, { ...options, signal: controller.signal });
    await clock.advance(1);
    controller.abort();
    await clock.advance(60_000);
    expect(await stopped).toMatchObject({ status: "failed", error: { code: "unknown_outcome" } });
    expect(await haft.execute("count", {}, options)).toMatchObject({ error: { code: "unknown_outcome" } });
    end("done");
    await clock.advance(1);
    expect(await haft.execute("count", {}, options)).toMatchObject({
      status: "completed",
      details: "done",
      metadata: { known: "replay" },
    });
    expect(runs()).toBe(1);
  });

  test("is not known if it has no key", async () => {
    const { haft, runs } = counting();
    const options = { id: "x", caller, idempotencyKey: false } as const;
    await haft.execute("count", {}, options);
    expect(await haft.execute("count", {}, options)).toMatchObject({ details: 2 });
    expect(runs()).toBe(2);
  });

  test("is known by its idempotency key, also under another id", async () => {
    const { haft, runs } = counting();
    await haft.execute("count", {}, { id: "x", idempotencyKey: "k", caller });
    expect(await haft.execute("count", {}, { id: "y", idempotencyKey: "k", caller })).toMatchObject({
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

  test("with other input is refused by the name that its caller knows", async () => {
    const { haft, runs } = counting();
    const refused = async (options: object): Promise<string> => {
      await haft.execute("count", { n: 1 }, { caller, ...options });
      const result = await haft.execute("count", { n: 2 }, { caller, ...options });
      return result.status === "failed" ? result.error.message : "";
    };
    const rest = "was used before with another tool or other input; nothing was run";
    expect(await refused({ id: "c1" })).toBe(`The call id "c1" ${rest}`);
    expect(await refused({ idempotencyKey: "order-7" })).toBe(`The idempotency key "order-7" ${rest}`);
    expect(await refused({ id: "c2", idempotencyKey: '[null,null,"count","c2"]' })).toBe(`The call id "c2" ${rest}`);
    expect(runs()).toBe(3);
  });

  test("with other input, or another tool, is a conflict", async () => {
    const { haft, runs } = counting();
    haft.register(createTool({ name: "other", description: "", parameters: [], needsApproval: false, run: () => 0 }));
    await haft.execute("count", { n: 1 }, { id: "x", caller });
    expect(await haft.execute("count", { n: 2 }, { id: "x", caller })).toMatchObject({
      error: { code: "conflict", actor: "caller" },
    });
    expect(await haft.execute("other", {}, { id: "x", caller })).toMatchObject({ error: { code: "conflict" } });
    expect(runs()).toBe(1);
  });

  test("is compared by what was sent, also where the schema turns that into something of its own", async () => {
    const { haft } = counting(undefined, {
      parameters: z.object({ tags: z.array(z.string()).transform((all) => new Set(all)) }),
    });
    await haft.execute("count", { tags: ["a"] }, { id: "x", caller });
    expect(await haft.execute("count", { tags: ["b"] }, { id: "x", caller })).toMatchObject({
      error: { code: "conflict" },
    });
    expect(await haft.execute("count", { tags: ["a"] }, { id: "x", caller })).toMatchObject({
      metadata: { known: "replay" },
    });
  });

  test("gives each caller a result of its own, so that a change to one reaches nobody else", async () => {
    const { haft } = counting(() => ({ list: [1] }));
    const first = await haft.execute("count", {}, { id: "x", caller });
    (first.details as { list: number[] }).list.push(2);
    const second = await haft.execute("count", {}, { id: "x", caller });
    expect(second.details).toEqual({ list: [1] });
  });

  test("and failed for good is not tried again", async () => {
    const { haft, runs } = counting(() => {
      throw new Error("no");
    });
    await haft.execute("count", {}, { id: "x", caller });
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({
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
    await set.haft.execute("count", {}, { id: "x", caller });
    await set.haft.execute("count", {}, { id: "x", caller });
    expect(set.runs()).toBe(runs);
  });

  test("and waits for somebody has not happened: made again, it runs", async () => {
    const { haft, runs } = counting((run) =>
      run === 1 ? { content: "later", pending: { kind: "client", id: "c" } } : "now",
    );
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({
      status: "pending",
      pending: { kind: "client", id: "c" },
    });
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ status: "completed", details: "now" });
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
    const first = haft.execute("count", { n: 1 }, { id: "x", caller });
    const second = haft.execute("count", { n: 1 }, { id: "x", caller });
    const other = haft.execute("count", { n: 2 }, { id: "x", caller });
    expect(await other).toMatchObject({ error: { code: "conflict" } });
    release("once");
    expect(await first).toMatchObject({ details: "once" });
    expect(await second).toMatchObject({ details: "once", metadata: { known: "replay" } });
    expect(runs()).toBe(1);
  });

  test("can be cancelled by its own caller, which leaves the first alone", async () => {
    const { haft, release } = held();
    const first = haft.execute("count", {}, { id: "x", caller });
    const controller = new AbortController();
    const second = haft.execute("count", {}, { id: "x", caller, signal: controller.signal });
    controller.abort();
    expect(await second).toMatchObject({ error: { code: "cancelled" } });
    release("done");
    expect(await first).toMatchObject({ status: "completed" });
  });
});

/** A store whose every answer takes a turn of the event loop, as that of a database does. */
class SlowCalls extends MemoryCallStore {
  failing: "insert" | "change" | undefined;

  override insert(...args: Parameters<MemoryCallStore["insert"]>): never {
    return this.#later("insert", () => super.insert(...args)) as never;
  }

  override find(...args: Parameters<MemoryCallStore["find"]>): never {
    return this.#later("find", () => super.find(...args)) as never;
  }

  override change(...args: Parameters<MemoryCallStore["change"]>): never {
    return this.#later("change", () => super.change(...args)) as never;
  }

  async #later<T>(what: string, work: () => T): Promise<T> {
    await turn();
    if (this.failing === what) throw new Error("disk full");
    return work();
  }
}

describe("a store that answers later", () => {
  const slow = () => new SlowCalls();

  test("lets a call run once, at any time a second one with its id comes", async () => {
    for (let delay = 0; delay < 12; delay++) {
      const { haft, runs } = counting(undefined, {}, { calls: slow() });
      const first = haft.execute("count", {}, { id: "x", caller });
      for (let i = 0; i < delay; i++) await turn();
      const second = haft.execute("count", {}, { id: "x", caller });
      expect([(await first).status, (await second).status]).toEqual(["completed", "completed"]);
      expect(runs()).toBe(1);
    }
  });

  test("and cannot write the beginning keeps the call from running", async () => {
    const calls = slow();
    const { haft, runs } = counting(undefined, {}, { calls });
    calls.failing = "insert";
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ status: "failed" });
    expect(runs()).toBe(0);
    calls.failing = undefined;
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ status: "completed" });
  });

  test("and cannot write the end does not turn what happened into a failure, and writes it later", async () => {
    const calls = slow();
    const clock = createFakeClock();
    const { haft, runs } = counting(undefined, {}, { calls, clock });
    calls.failing = "change";
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ status: "completed", details: 1 });
    calls.failing = undefined;
    await clock.advance(1000);
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ metadata: { known: "replay" } });
    expect(runs()).toBe(1);
  });
});

describe("a call of a process that has disappeared", () => {
  class OthersCalls extends MemoryCallStore {
    override isAlive(): boolean {
      return false;
    }
  }

  async function left(more: object) {
    const calls = new OthersCalls();
    const { haft, runs } = counting(undefined, more, { calls });
    const known = await haft.execute("count", {}, { id: "x", caller });
    const row = calls.find(JSON.stringify(["s", undefined, undefined, "x"]));
    calls.change(row?.id ?? "", () => ({ state: "running", owner: "gone", outcome: undefined, result: undefined }));
    return { haft, runs, known };
  }

  test("has an unknown outcome and does not run again", async () => {
    const { haft, runs } = await left({});
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({
      error: { code: "unknown_outcome", next: expect.stringContaining("Check its effect first") },
    });
    expect(runs()).toBe(1);
  });

  test("runs again if that does no harm", async () => {
    const { haft, runs } = await left({ idempotent: true });
    expect(await haft.execute("count", {}, { id: "x", caller })).toMatchObject({ status: "completed" });
    expect(runs()).toBe(2);
  });
});

describe("a call id without a conversation", () => {
  test("is never replayed: models number their calls from 0 in each conversation", async () => {
    const { haft, runs } = counting();
    await haft.execute("count", {}, { id: "functions.pay:0" });
    expect(await haft.execute("count", {}, { id: "functions.pay:0" })).toMatchObject({ details: 2 });
    await haft.execute("count", {}, { id: "functions.pay:0", caller: { session: "one" } });
    await haft.execute("count", {}, { id: "functions.pay:0", caller: { session: "two" } });
    expect(runs()).toBe(4);
  });

  test("does not join a question of another conversation", async () => {
    const { haft, runs } = counting(undefined, { permission: "confirm" });
    const first = await haft.execute("count", {}, { id: "functions.pay:0" });
    const second = await haft.execute("count", {}, { id: "functions.pay:0" });
    expect(first).not.toHaveProperty("pending.id", second.status === "pending" ? second.pending.id : "");
    expect(runs()).toBe(0);
  });
});

function turn(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

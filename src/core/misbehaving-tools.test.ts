import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTool } from "./create-tool.ts";
import type { ToolResult } from "./result.ts";
import type { ToolContext } from "./tool.ts";
import { createHaft } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

type Body = (input: unknown, context: ToolContext) => unknown;

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(() => void process.off("unhandledRejection", note));

function throwing<T extends object>(target: T): T {
  const refuse = (): never => {
    throw new Error("do not touch");
  };
  return new Proxy(target, {
    get: refuse,
    has: refuse,
    ownKeys: refuse,
    getPrototypeOf: refuse,
    getOwnPropertyDescriptor: refuse,
  });
}

function cycle(): unknown {
  const self: Record<string, unknown> = { name: "me" };
  self["self"] = self;
  return self;
}

function hostileError(): Error {
  return Object.defineProperties(new Error("x"), {
    message: {
      get() {
        throw new Error("no message for you");
      },
    },
    name: {
      get() {
        throw new Error("no name either");
      },
    },
  });
}

const throws = (value: unknown): Body => {
  return () => {
    throw value;
  };
};

/** What a tool may do wrong, and the expected result. */
const MISBEHAVIOURS: Record<string, { body: Body; status?: "completed" | "failed"; code?: string }> = {
  "throws null": { body: throws(null), code: "failed" },
  "throws undefined": { body: throws(undefined), code: "failed" },
  "throws a string": { body: throws("plain text"), code: "failed" },
  "throws a symbol": { body: throws(Symbol("s")), code: "failed" },
  "throws an error whose getters throw": { body: throws(hostileError()), code: "failed" },
  "throws a proxy whose traps throw": { body: throws(throwing({})), code: "failed" },
  "throws a proxy around an error": { body: throws(throwing(new Error("x"))), code: "failed" },
  "rejects with null": { body: () => Promise.reject(null), code: "failed" },
  "rejects with a proxy whose traps throw": { body: () => Promise.reject(throwing({})), code: "failed" },
  "returns a value with a throwing getter": {
    body: () => ({
      fine: 1,
      get bad() {
        throw new Error("no");
      },
    }),
    code: "bad_output",
  },
  "returns a cycle": { body: cycle, code: "bad_output" },
  "returns a BigInt": { body: () => 10n ** 30n, code: "bad_output" },
  "returns a BigInt deep inside": { body: () => ({ a: [{ b: 1n }] }), code: "bad_output" },
  "returns a function": { body: () => () => 1, code: "bad_output" },
  "returns a symbol": { body: () => Symbol("s"), code: "bad_output" },
  "returns NaN": { body: () => Number.NaN, status: "completed" },
  "returns nothing": { body: () => undefined, status: "completed" },
  "returns a proxy whose traps throw": { body: () => throwing({}), status: "failed" },
  "resolves with a proxy whose traps throw": { body: async () => throwing({}), status: "failed" },
  "returns a revoked proxy": {
    body: () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
    status: "failed",
  },
  "returns what only looks like a promise": { body: () => Object.create(Promise.prototype) as unknown },
  "returns a promise whose constructor throws": {
    body: () =>
      Object.defineProperty(Promise.resolve(1), "constructor", {
        get() {
          throw new Error("no constructor");
        },
      }),
  },
  "returns a promise that was resolved with itself": {
    body: () => {
      let resolve!: (value: unknown) => void;
      const promise = new Promise((done) => (resolve = done));
      resolve(promise);
      return promise;
    },
    code: "failed",
  },
  "returns a thenable that throws": {
    body: () => ({
      then() {
        throw new Error("then threw");
      },
    }),
    code: "failed",
  },
  "returns a thenable whose then cannot be read": {
    body: () => ({
      get then() {
        throw new Error("no then");
      },
    }),
    code: "bad_output",
  },
  "settles twice": {
    body: () => ({
      then(resolve: (value: unknown) => void, reject: (reason: unknown) => void) {
        resolve("first");
        resolve("second");
        reject(new Error("third"));
      },
    }),
    status: "completed",
  },
  "returns a promise with its own then that settles twice": {
    body: () => {
      const promise = Promise.resolve("real");
      promise.then = ((done: (value: string) => void) => {
        done("a");
        done("b");
      }) as never;
      return promise;
    },
    status: "completed",
  },
  "is a generator that throws at once": {
    body: () => ({ [Symbol.asyncIterator]: () => 1, next: () => Promise.reject(new Error("generator")) }),
    code: "failed",
  },
  "is a generator that throws after a yield": {
    async *body() {
      yield "one";
      throw null;
    },
    code: "failed",
  },
  "is a generator that yields garbage": {
    async *body() {
      yield null;
      yield undefined;
      yield 1n;
      yield cycle();
      yield () => 1;
      return "done";
    },
    status: "completed",
  },
  "has a next that returns garbage": {
    body: () => ({ [Symbol.asyncIterator]: () => 1, next: () => null }),
    code: "failed",
  },
  "has a next that is no function": {
    body: () => ({ [Symbol.asyncIterator]: () => 1, next: 1 }),
    code: "failed",
  },
  "sends updates of every kind": {
    body(_input, context) {
      for (const update of [null, undefined, 1n, cycle(), throwing({})]) context.update(update as never);
      return "done";
    },
    status: "completed",
  },
  "changes its own context": {
    body(_input, context) {
      Object.assign(context, { callId: "other" });
    },
    code: "failed",
  },
  "throws an error that is frozen": { body: throws(Object.freeze(new Error("frozen"))), code: "failed" },
  "returns an output whose parts are garbage": {
    body: () => ({ content: [{ type: "text", text: "x" }], metadata: cycle(), display: 5, pending: true, error: null }),
    code: "bad_output",
  },
  "says a code that every object has": {
    body: () => ({ success: false, error: { code: "constructor", message: "sneaky" } }),
    code: "failed",
  },
};

const NAMES = Object.keys(MISBEHAVIOURS);

function isPlainJson(result: ToolResult): boolean {
  // JSON omits undefined fields; that is not a difference.
  expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  return true;
}

describe("a tool that misbehaves", () => {
  test.each(NAMES)("and %s still returns one plain result", async (name) => {
    const { body, status, code } = MISBEHAVIOURS[name]!;
    const haft = createHaft({
      tools: [createTool({ name: "bad", description: "", parameters: [], needsApproval: false, run: body })],
    });
    haft.on("*", () => {});
    const result = await haft.execute("bad");
    const expected = { status: status ?? (code ? "failed" : result.status), ...(code ? { error: { code } } : {}) };
    expect(result).toMatchObject(expected);
    expect(result.callId).toMatch(/./);
    expect(isPlainJson(result)).toBe(true);
    await turn();
    expect(unhandled).toEqual([]);
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
  });

  test("never affects concurrent calls, in any mixture", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...NAMES, "good"), { minLength: 1, maxLength: 30 }), async (names) => {
        const clock = createFakeClock();
        const tools = Object.entries(MISBEHAVIOURS).map(([, { body }], i) =>
          createTool({ name: `tool_${i}`, description: "", parameters: [], needsApproval: false, run: body }),
        );
        const good = createTool({
          name: "good",
          description: "",
          parameters: [],
          needsApproval: false,
          run: () => "good",
        });
        const haft = createHaft({ tools: [...tools, good], clock });
        const toolName = (name: string): string => (name === "good" ? "good" : `tool_${NAMES.indexOf(name)}`);
        const results = await Promise.all(names.map((name) => haft.execute(toolName(name))));
        for (const [i, result] of results.entries()) {
          expect(result.toolName).toBe(toolName(names[i]!));
          const isHarmed = names[i] === "good" && result.details !== "good";
          expect(isHarmed).toBe(false);
        }
        expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
        expect(await haft.execute("good")).toMatchObject({ status: "completed" });
        await clock.advance(0);
        expect(clock.refTimers).toBe(0);
      }),
      { numRuns: 40 },
    );
    await turn();
    expect(unhandled).toEqual([]);
  });

  test("leaves no timer that keeps the process alive", async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    await turn();
    const before = timers();
    const haft = createHaft({
      tools: Object.values(MISBEHAVIOURS).map(({ body }, i) =>
        createTool({ name: `tool_${i}`, description: "", parameters: [], needsApproval: false, run: body }),
      ),
    });
    await Promise.all(NAMES.map((_, i) => haft.execute(`tool_${i}`)));
    await new Promise((done) => setTimeout(done, 5));
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

describe("a tool that never settles", () => {
  test("is answered at its time limit, and blocks nothing", async () => {
    const clock = createFakeClock();
    const haft = createHaft({
      clock,
      concurrency: { maxConcurrent: 1 },
      tools: [
        createTool({
          name: "hangs",
          description: "",
          parameters: [],
          needsApproval: false,
          run: () => new Promise(() => {}),
        }),
        createTool({ name: "good", description: "", parameters: [], needsApproval: false, run: () => "good" }),
      ],
    });
    const hanging = haft.execute("hangs");
    const waiting = haft.execute("good");
    await clock.advance(32_000);
    expect(await hanging).toMatchObject({ status: "failed", error: { code: "unknown_outcome" } });
    expect(await waiting).toMatchObject({ status: "completed" });
    await clock.advance(1);
    expect(clock.refTimers).toBe(0);
  });

  test("and settles late with an error counts as late and affects nothing", async () => {
    const clock = createFakeClock();
    const haft = createHaft({
      clock,
      tools: [
        createTool({
          name: "late",
          description: "",
          parameters: [],
          needsApproval: false,
          run: () => new Promise((_done, fail) => void clock.after(40_000, () => fail(new Error("too late")))),
        }),
      ],
    });
    const late: unknown[] = [];
    haft.on("tool_call_settled_late", (event) => void late.push(event.succeeded));
    const call = haft.execute("late");
    await clock.advance(32_000);
    const result = await call;
    const seen = structuredClone(result);
    await clock.advance(20_000);
    expect(result).toEqual(seen);
    expect(late).toEqual([false]);
    expect(haft.tools.stats().callStats["late"]).toMatchObject({ count: 1, failures: 1, late: 1 });
    expect(unhandled).toEqual([]);
  });

  test("and sends updates after its answer is ignored", async () => {
    const clock = createFakeClock();
    const haft = createHaft({
      clock,
      tools: [
        createTool({
          name: "chatty",
          description: "",
          parameters: [],
          needsApproval: false,
          run(_input: unknown, context: ToolContext) {
            clock.after(40_000, () => context.update("too late"));
            return new Promise(() => {});
          },
        }),
      ],
    });
    const received: unknown[] = [];
    haft.on("tool_call_updated", (event) => void received.push(event));
    const call = haft.execute("chatty", {}, { onUpdate: (update) => void received.push(update) });
    await clock.advance(32_000);
    await call;
    await clock.advance(20_000);
    expect(received).toEqual([]);
  });
});

describe("a tool that yields forever", () => {
  // The bound lets the test end: without it a gate that never pauses would not return.
  const ENOUGH = 3_000_000;

  test("without waiting is answered at its time limit", async () => {
    let yields = 0;
    const haft = createHaft({
      tools: [
        createTool({
          name: "endless",
          description: "",
          kind: "readonly",
          parameters: [],
          async *run() {
            while (yields < ENOUGH) yield String(yields++);
            return "the gate never looked up";
          },
        }),
      ],
    });
    const result = await haft.execute("endless", {}, { timeoutMs: 100 });
    expect(result).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(yields).toBeLessThan(ENOUGH);
  });

  test("as a thenable that resolves with itself is answered", async () => {
    let turns = 0;
    const endless = {
      then(resolve: (value: unknown) => void) {
        resolve(++turns < ENOUGH ? endless : "the gate never looked up");
      },
    };
    const haft = createHaft({
      tools: [
        createTool({
          name: "self",
          description: "",
          parameters: [],
          needsApproval: false,
          run: () => endless as unknown,
        }),
      ],
    });
    const result = await haft.execute("self", {}, { timeoutMs: 100 });
    expect(result.status).toBe("failed");
    expect(turns).toBeLessThan(ENOUGH);
  });
});

describe("a tool that returns too much", () => {
  /** With HAFT_FULL=1 the longest possible string, which takes seconds. */
  const LENGTH = process.env["HAFT_FULL"] ? 2 ** 29 - 24 : 2 ** 25;

  test.each([
    ["a very long string", () => "x".repeat(LENGTH)],
    ["a very long string as content", () => ({ content: "x".repeat(LENGTH), details: 1 })],
    ["a very long error message", throws(new Error("x".repeat(LENGTH)))],
    ["a buffer of 100 MB", () => Buffer.alloc(100_000_000)],
    [
      "an object of a million fields",
      () => Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => [`k${i}`, i])),
    ],
    ["a list with ten million holes", () => Array.from({ length: 10_000_000 })],
    ["a display of many megabytes", () => ({ content: "short", display: "x".repeat(50_000_000) })],
  ] as [string, Body][])("as %s is answered within bounds", async (_what, run) => {
    const haft = createHaft({
      tools: [createTool({ name: "big", description: "", parameters: [], needsApproval: false, run })],
    });
    const result = await haft.execute("big");
    const bytes = result.content.reduce(
      (sum, block) => sum + (block.type === "text" ? Buffer.byteLength(block.text) : 0),
      0,
    );
    expect(bytes).toBeLessThanOrEqual(50 * 1024);
    expect(JSON.stringify(result).length).toBeLessThan(10_000_000);
    expect(result.display.length).toBeLessThanOrEqual(120);
  });
});

function turn(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

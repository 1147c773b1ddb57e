import { describe, expect, test } from "vitest";
import { createTool, type ToolConfig } from "../core/create-tool.ts";
import type { SchemaSource } from "../schema/infer.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

type Config = Partial<ToolConfig<SchemaSource, SchemaSource, unknown>>;
type Input = { name?: string; key?: string };

/** A runtime whose tools run until the test ends them, and that records which ran at the same time. */
function stage(options: HaftOptions = {}) {
  const clock = createFakeClock();
  const haft = createHaft({ clock, ...options });
  const running = new Set<string>();
  const started: string[] = [];
  const finish = new Map<string, (value?: unknown) => void>();
  let max = 0;
  const add = (name: string, config: Config = {}): void => {
    haft.register(
      createTool({
        name,
        description: "",
        parameters: { type: "object", additionalProperties: true },
        permission: "auto",
        ...(config as object),
        run: (input: Input) =>
          new Promise((done) => {
            const label = input.name ?? name;
            running.add(label);
            started.push(label);
            max = Math.max(max, running.size);
            finish.set(label, (value) => (running.delete(label), done(value)));
          }),
      }),
    );
  };
  const end = async (label: string): Promise<void> => {
    finish.get(label)!();
    await clock.advance(0);
  };
  return {
    clock,
    haft,
    add,
    running,
    started,
    end,
    get max() {
      return max;
    },
  };
}

describe("the limits", () => {
  test("let three calls run at once by default, over all tools", async () => {
    const stageOf = stage();
    stageOf.add("a");
    stageOf.add("b");
    for (const name of ["a1", "a2", "b1", "b2"]) void stageOf.haft.execute(name[0]!, { name });
    await stageOf.clock.advance(0);
    expect([...stageOf.running]).toEqual(["a1", "a2", "b1"]);
    expect(stageOf.haft.calls.load()).toEqual({ running: 3, waiting: 1 });
    await stageOf.end("a2");
    expect([...stageOf.running]).toEqual(["a1", "b1", "b2"]);
  });

  test("apply by kind, while another kind runs", async () => {
    const { haft, add, running, clock } = stage({ concurrency: { maxConcurrent: 9, byKind: { write: 1 } } });
    add("write", { kind: "write" });
    add("read", { kind: "readonly" });
    for (const name of ["w1", "w2", "r1", "r2"]) void haft.execute(name.startsWith("w") ? "write" : "read", { name });
    await clock.advance(0);
    expect([...running].sort()).toEqual(["r1", "r2", "w1"]);
  });

  test("apply by tool, while others run", async () => {
    const { haft, add, running, end, clock } = stage({ concurrency: { maxConcurrent: 9 } });
    add("slow", { limits: { maxConcurrent: 1 } });
    add("fast");
    for (const name of ["s1", "s2", "f1"]) void haft.execute(name.startsWith("s") ? "slow" : "fast", { name });
    await clock.advance(0);
    expect([...running].sort()).toEqual(["f1", "s1"]);
    await end("s1");
    expect([...running].sort()).toEqual(["f1", "s2"]);
  });

  test("let an exclusive tool run alone in its session, while other sessions continue", async () => {
    const { haft, add, running, end, clock } = stage({ concurrency: { maxConcurrent: 9 } });
    add("shared");
    add("alone", { concurrency: "exclusive" });
    const call = (tool: string, name: string, session: string): void =>
      void haft.execute(tool, { name }, { caller: { session } });
    call("shared", "a-1", "a");
    call("alone", "a-alone", "a");
    call("shared", "a-2", "a");
    call("shared", "b-1", "b");
    await clock.advance(0);
    expect([...running].sort()).toEqual(["a-1", "b-1"]);
    await end("a-1");
    expect([...running].sort()).toEqual(["a-alone", "b-1"]);
    await end("a-alone");
    expect([...running].sort()).toEqual(["a-2", "b-1"]);
  });

  test("alternate between sessions: many calls of one do not starve another", async () => {
    const { haft, add, started, end, clock } = stage({ concurrency: { maxConcurrent: 1 } });
    add("work");
    for (let i = 0; i < 50; i++) void haft.execute("work", { name: `flood-${i}` }, { caller: { session: "flood" } });
    void haft.execute("work", { name: "calm-0" }, { caller: { session: "calm" } });
    void haft.execute("work", { name: "calm-1" }, { caller: { session: "calm" } });
    await clock.advance(0);
    for (let i = 0; i < 5; i++) await end(started.at(-1)!);
    expect(started).toEqual(["flood-0", "flood-1", "calm-0", "flood-2", "calm-1", "flood-3"]);
  });

  test("refuse a call as busy if the queue is full, and say when to retry", async () => {
    const { haft, add } = stage({ concurrency: { maxConcurrent: 1, maxWaiting: 2 } });
    add("work");
    for (let i = 0; i < 3; i++) void haft.execute("work", { name: `w${i}` });
    expect(await haft.execute("work", { name: "one too many" })).toMatchObject({
      error: {
        code: "busy",
        actor: "runtime",
        retryable: true,
        next: expect.stringContaining("Wait for other calls"),
      },
    });
    expect(haft.calls.load()).toEqual({ running: 1, waiting: 2 });
  });

  test("refuse a call that waited too long, and it may be made again", async () => {
    const { haft, add, clock, end } = stage({ concurrency: { maxConcurrent: 1, maxWaitMs: 1000 } });
    add("work", { limits: { timeoutMs: 3_000_000 } });
    void haft.execute("work", { name: "first" });
    const waiting = haft.execute("work", { name: "second" }, { id: "again" });
    await clock.advance(1001);
    expect(await waiting).toMatchObject({ error: { code: "busy" } });
    expect(haft.calls.load()).toEqual({ running: 1, waiting: 0 });
    await end("first");
    const again = haft.execute("work", { name: "second" }, { id: "again" });
    await clock.advance(0);
    await end("second");
    expect(await again).toMatchObject({ status: "completed" });
  });

  test("settle 10,000 calls, in call order and never more at once than allowed", async () => {
    let running = 0;
    let max = 0;
    const work = createTool({
      name: "work",
      description: "",
      parameters: [{ name: "i", type: "integer" }],
      needsApproval: false,
      async run({ i }) {
        max = Math.max(max, ++running);
        await Promise.resolve();
        running--;
        return i;
      },
    });
    const haft = createHaft({ tools: [work], concurrency: { maxConcurrent: 7 } });
    const calls = Array.from({ length: 10_000 }, (_, i) => ({ name: "work", input: { i } }));
    const results = await haft.executeMany(calls);
    expect(results.map((result) => result.details)).toEqual(calls.map(({ input }) => input.i));
    expect(max).toBe(7);
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
  });
});

describe("locks", () => {
  const locked: Config = { kind: "write", locks: ((input: Input) => (input.key ? [input.key] : [])) as never };

  test("serialize two calls of one key, and let other keys run", async () => {
    const { haft, add, running, end, clock } = stage();
    add("write", locked);
    for (const name of ["x1", "x2", "y1"]) void haft.execute("write", { name, key: name[0] });
    await clock.advance(0);
    expect([...running].sort()).toEqual(["x1", "y1"]);
    await end("x1");
    expect([...running].sort()).toEqual(["x2", "y1"]);
  });

  test("are held by an abandoned tool until its code has ended", async () => {
    const { haft, add, running, end, clock } = stage();
    add("write", locked);
    const first = haft.execute("write", { name: "first", key: "x" }, { timeoutMs: 1000 });
    void haft.execute("write", { name: "second", key: "x" });
    await clock.advance(3000);
    expect(await first).toMatchObject({ error: { code: "unknown_outcome" } });
    expect([...running]).toEqual(["first"]);
    await end("first");
    expect([...running]).toEqual(["second"]);
  });

  test("are named with their holder when a call waited too long", async () => {
    const { haft, add, clock } = stage({ concurrency: { maxWaitMs: 1000 } });
    add("write", locked);
    void haft.execute("write", { name: "first", key: "the file" }, { id: "holder" });
    const second = haft.execute("write", { name: "second", key: "the file" });
    await clock.advance(1001);
    expect(await second).toMatchObject({ error: { code: "busy", message: expect.stringMatching(/holder.*the file/) } });
  });

  test("are computed once per call, so a changing answer does no harm", async () => {
    const { haft, add, running, end, clock } = stage();
    let requested = 0;
    add("flaky", {
      locks: () => {
        if (++requested > 2) throw new Error("asked too often");
        return ["x"];
      },
    });
    const first = haft.execute("flaky", { name: "one" });
    const second = haft.execute("flaky", { name: "two" });
    await clock.advance(0);
    await end("one");
    expect([...running]).toEqual(["two"]);
    await end("two");
    expect([(await first).status, (await second).status]).toEqual(["completed", "completed"]);
  });

  test("whose function throws fail only their own call", async () => {
    const { haft, add } = stage();
    add("broken", {
      locks: () => {
        throw new Error("no idea");
      },
    });
    expect(await haft.execute("broken")).toMatchObject({
      status: "failed",
      error: { message: 'locks of "broken" threw: no idea' },
    });
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
  });
});

describe("a nested call", () => {
  const locksOf = (input: Input): string[] => (input.key ? [input.key] : []);

  /** `parent` calls the tools that its input names, all at once, and waits for them. */
  function family(options: HaftOptions = {}) {
    const set = stage(options);
    set.haft.register(
      createTool({
        name: "parent",
        description: "",
        parameters: { type: "object", additionalProperties: true },
        locks: locksOf as never,
        limits: { timeoutMs: 3_000_000 },
        needsApproval: false,
        run: (input: Record<string, unknown>, context: ToolContext) =>
          Promise.all((input["calls"] as [string, unknown][]).map(([name, nested]) => context.call(name, nested))),
      }),
    );
    set.haft.register(
      createTool({
        name: "later",
        description: "",
        parameters: { type: "object", additionalProperties: true },
        needsApproval: false,
        run: (input: Record<string, unknown>, context: ToolContext) =>
          new Promise((done) => void set.clock.after(10, () => done(context.call("child", input)))),
      }),
    );
    set.add("child", { kind: "write", locks: locksOf as never, limits: { timeoutMs: 3_000_000 } });
    return set;
  }

  test("runs in its parent's slot: a limit of one does not deadlock", async () => {
    const { haft, end, clock } = family({ concurrency: { maxConcurrent: 1 } });
    const call = haft.execute("parent", { calls: [["parent", { calls: [["child", { name: "leaf" }]] }]] });
    await clock.advance(0);
    await end("leaf");
    expect(await call).toMatchObject({ status: "completed" });
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
  });

  test("uses its parent's lock, and releases it", async () => {
    const { haft, end, running, clock } = family();
    const call = haft.execute("parent", { key: "x", calls: [["child", { name: "inner", key: "x" }]] });
    void haft.execute("child", { name: "outer", key: "x" });
    await clock.advance(0);
    expect([...running]).toEqual(["inner"]);
    await end("inner");
    expect(await call).toMatchObject({ status: "completed" });
    await clock.advance(0);
    expect([...running]).toEqual(["outer"]);
  });

  test("alternates with its sibling on a lock of their parent", async () => {
    const { haft, end, running, clock } = family();
    const siblings = [
      ["child", { name: "one", key: "x" }],
      ["child", { name: "two", key: "x" }],
    ];
    const call = haft.execute("parent", { key: "x", calls: siblings });
    await clock.advance(0);
    expect([...running]).toEqual(["one"]);
    await end("one");
    expect([...running]).toEqual(["two"]);
    await end("two");
    const result = await call;
    expect((result.details as { status: string }[]).map(({ status }) => status)).toEqual(["completed", "completed"]);
  });

  test("alternates with its sibling on a lock that their parent does not hold", async () => {
    const { haft, end, running, clock } = family();
    const siblings = [
      ["child", { name: "one", key: "x" }],
      ["child", { name: "two", key: "x" }],
    ];
    const call = haft.execute("parent", { calls: siblings });
    await clock.advance(0);
    await end("one");
    expect([...running]).toEqual(["two"]);
    await end("two");
    expect((await call).status).toBe("completed");
  });

  test("is not blocked by calls that wait for its parent's lock, session or slot", async () => {
    for (const waiting of [
      { tool: "child", input: { name: "rival", key: "x" } },
      { tool: "alone", input: { name: "alone" } },
    ]) {
      const { haft, add, end, running, clock } = family({ concurrency: { maxConcurrent: 1 } });
      add("alone", { concurrency: "exclusive" });
      const siblings = [
        ["child", { name: "one", key: "x" }],
        ["child", { name: "two", key: "x" }],
      ];
      const call = haft.execute("parent", { key: "x", calls: siblings });
      await clock.advance(0);
      for (let i = 0; i < 40; i++) void haft.execute(waiting.tool, waiting.input);
      await clock.advance(0);
      await end("one");
      expect([...running]).toEqual(["two"]);
      await end("two");
      expect((await call).status).toBe("completed");
    }
  });

  test("that would deadlock with another family is refused, and the other continues", async () => {
    const { haft, end, running, clock } = family();
    const first = haft.execute("parent", { key: "a", calls: [["later", { name: "b-of-first", key: "b" }]] });
    const second = haft.execute("parent", { key: "b", calls: [["later", { name: "a-of-second", key: "a" }]] });
    await clock.advance(10);
    const codeOf = (result: { details?: unknown }): unknown =>
      (result.details as { error?: { code: string } }[])[0]?.error?.code;
    expect(codeOf(await second)).toBe("deadlock");
    await clock.advance(0);
    expect([...running]).toEqual(["b-of-first"]);
    await end("b-of-first");
    expect(codeOf(await first)).toBeUndefined();
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
  });

  test("is refused as a deadlock if siblings hold each other's locks", async () => {
    const { haft, clock } = family();
    const calls = [
      ["parent", { key: "a", calls: [["later", { name: "b-of-a", key: "b" }]] }],
      ["parent", { key: "b", calls: [["later", { name: "a-of-b", key: "a" }]] }],
    ];
    void haft.execute("parent", { calls });
    const codes: unknown[] = [];
    haft.on("tool_call_failed", ({ error }) => void codes.push(error.code));
    await clock.advance(10);
    expect(codes).toContain("deadlock");
  });

  test("is refused beyond the max depth", async () => {
    const { haft } = family();
    const nested = (depth: number): unknown => ({ calls: depth === 0 ? [] : [["parent", nested(depth - 1)]] });
    const codes: unknown[] = [];
    haft.on("tool_call_failed", ({ error }) => void codes.push(error.code));
    await haft.execute("parent", nested(20));
    expect(codes).toEqual([]);
    const selfish = createTool({
      name: "selfish",
      description: "",
      parameters: [],
      needsApproval: false,
      run: (_input: unknown, context: ToolContext) => context.call("selfish"),
    });
    haft.register(selfish);
    await haft.execute("selfish");
    expect(codes).toContain("too_deep");
  });

  test("made after its parent was answered does not run outside the limits", async () => {
    const { haft, add, running, clock } = stage({ concurrency: { maxConcurrent: 1 } });
    add("work");
    let kept!: ToolContext;
    haft.register(
      createTool({
        name: "keeper",
        description: "",
        parameters: [],
        needsApproval: false,
        run: (_input: unknown, c: ToolContext) => void (kept = c),
      }),
    );
    await haft.execute("keeper");
    void haft.execute("work", { name: "counted" });
    void kept.call("work", { name: "escaped" });
    await clock.advance(0);
    expect([...running]).toEqual(["counted"]);
  });
});

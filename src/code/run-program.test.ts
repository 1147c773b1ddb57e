import { afterAll, describe, expect, test } from "vitest";
import type { ToolResult } from "../core/result.ts";
import { CodeThreads } from "./code-thread.ts";
import { ProgramBudget } from "./program-budget.ts";
import { type ProgramHost, type ProgramStart, type ProgramState, runProgram } from "./run-program.ts";

const threads = new CodeThreads();
afterAll(() => threads.close());

const LIMITS = { cpuMs: 3000, maxCalls: 20, maxPrintedBytes: 200, memoryBytes: 32 * 1024 * 1024 };

function answer(details: unknown): ToolResult {
  const base = { callId: "c", toolName: "t", display: "", content: [], metadata: {}, startedAt: 0 };
  return { ...base, status: "completed", success: true, details };
}

async function run(
  start: ProgramStart | string,
  given: Partial<ProgramHost> = {},
  cpuMs = LIMITS.cpuMs,
  maxPrintedBytes = LIMITS.maxPrintedBytes,
) {
  const thread = await threads.take();
  const host: ProgramHost = {
    signal: new AbortController().signal,
    call: async (_step, name, input) => answer({ name, input }),
    search: (query) => [query],
    describe: (names) => names.join(),
    print: () => undefined,
    save: async () => undefined,
    ...given,
  };
  try {
    return await runProgram(typeof start === "string" ? { source: start } : start, {
      thread,
      host,
      budget: new ProgramBudget({ ...LIMITS, cpuMs, maxPrintedBytes }),
    });
  } finally {
    thread.release();
  }
}

describe("a program", () => {
  test("returns a value, prints, and calls tools one after the other and at once", async () => {
    const source = `
      console.log("begin", { a: 1 });
      const one = await tools.add({ n: 1 });
      const all = await Promise.all([2, 3].map((n) => tools["mcp__x-y__z"]({ n })));
      return [one, ...all].map(({ name, input }) => name + input.n);`;
    expect(await run(source)).toEqual({
      status: "done",
      value: ["add1", "mcp__x-y__z2", "mcp__x-y__z3"],
      output: ['begin {"a":1}'],
      calls: 3,
    });
  });

  test("may be TypeScript, on the same lines", async () => {
    const source =
      "interface A { n: number }\nconst a: A = { n: 2 };\nenum Color { Red = 7 }\nreturn a.n! + (Color.Red as number);";
    expect(await run(source)).toMatchObject({ status: "done", value: 9 });
    const failing = "interface A { n: number }\nconst a: A = { n: 2 };\n\nthrow new RangeError('no ' + a.n);";
    expect(await run(failing)).toMatchObject({ error: { name: "RangeError", message: "no 2", line: 4 } });
  });

  test("finds tools and their declarations", async () => {
    expect(await run("return [await api.search('mail'), await api.describe('a', 'b')]")).toMatchObject({
      value: [["mail"], "a,b"],
    });
  });

  test("reports the position of errors, in JavaScript and TypeScript", async () => {
    expect(await run("const a = 1;\n  null.x")).toMatchObject({
      status: "failed",
      error: { name: "TypeError", message: "cannot read property 'x' of null", line: 2 },
    });
    expect(await run("const a = ;")).toMatchObject({ error: { name: "SyntaxError", line: 1 } });
    expect(await run("const a: number = ;")).toMatchObject({ error: { name: "SyntaxError", line: 1 } });
  });

  test("can catch a failed call by its code; an uncaught one fails it", async () => {
    const call: ProgramHost["call"] = async () => ({
      ...answer(0),
      status: "failed",
      success: false,
      content: [{ type: "text", text: "half of it" }],
      error: { code: "path_not_found", message: "There is no x", actor: "model", retryable: false, name: "ToolError" },
    });
    const caught = "try { await tools.read({}) } catch (e) { return [e.name, e.code, e.message, e.output, e.tool] }";
    expect(await run(caught, { call })).toMatchObject({
      value: ["ToolError", "path_not_found", "There is no x", "half of it", "read"],
    });
    expect(await run("console.log('first');\nawait tools.read({})", { call })).toMatchObject({
      status: "failed",
      error: { name: "ToolError", code: "path_not_found", message: "There is no x" },
      output: ["first"],
    });
  });

  test.each([
    ["computes forever", "while (true) {}", "TimeoutError"],
    ["computes forever in a promise", "await null; for (;;) {}", "TimeoutError"],
    ["wants all memory", "const a = []; for (;;) a.push(new Array(10000).fill(a.length))", "RangeError"],
    ["recurses without end", "const f = () => f() + 1; return f()", "RangeError"],
    ["waits for nothing", "await new Promise(() => {})", "Error"],
    ["calls too often", "for (;;) await tools.a({})", "ToolError"],
    ["returns a value that is not JSON", "const a = {}; a.a = a; return a", "TypeError"],
  ])("that %s fails, and does not affect others", async (_what, source, name) => {
    expect(await run(source, {}, name === "TimeoutError" ? 300 : 10_000)).toMatchObject({
      status: "failed",
      error: { name },
    });
    expect(await run("return 1")).toMatchObject({ status: "done", value: 1 });
  });

  test("has no way out but its tools", async () => {
    const names =
      "process require fetch setTimeout module global Buffer WebAssembly __request __print __end import".split(" ");
    const source = `return ${JSON.stringify(names)}.filter((name) => name in globalThis)`;
    expect(await run(source)).toMatchObject({ value: [] });
    expect(await run("return await import('node:fs')")).toMatchObject({ status: "failed" });
    const escape = "return (() => {}).constructor('return typeof process')()";
    expect(await run(escape)).toMatchObject({ value: "undefined" });
  });

  test("that prints too much keeps the beginning", async () => {
    const end = await run("for (let i = 0; i < 100; i++) console.log('line ' + i); return 1");
    expect(end.output.length).toBeLessThan(40);
    expect(end.output.at(-1)).toContain("was dropped");
  });

  test("prints at most 10,000 characters per line", async () => {
    const printed: string[] = [];
    const source = "console.log('a'.repeat(10_000)); console.log('b'.repeat(10_001));";
    await run(source, { print: (line) => void printed.push(line) }, LIMITS.cpuMs, 50_000);
    expect(printed).toEqual(["a".repeat(10_000), `${"b".repeat(10_000)}…`]);
  });

  test("that prints or calls without end does not fill the memory of the host", async () => {
    const thread = await threads.take();
    const limits = { cpuMs: 500, memoryBytes: LIMITS.memoryBytes, printBytes: 30_000, maxRequests: 10 };
    const source = "for (;;) console.log('x'.repeat(9_999))";
    const { lines } = await thread.send({ type: "start", source, ...limits });
    expect(lines).toHaveLength(4);
    thread.release();
    const other = await threads.take();
    const { requests } = await other.send({ type: "start", source: "for (;;) tools.a({})", ...limits });
    expect(requests).toHaveLength(11);
    other.release();
  });

  test("ends when it is aborted, also while it computes", async () => {
    const controller = new AbortController();
    const ended = run("await tools.a({}); while (true) {}", { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await expect(ended).rejects.toThrow("enough");
    expect(await run("return 2")).toMatchObject({ value: 2 });
  });
});

describe("a program that must wait for a person", () => {
  const source = `
    const before = await tools.read({ path: "a" });
    let n = 40;
    const [approved, other] = await Promise.all([tools.write({ path: "b" }), tools.read({ path: "c" })]);
    console.log("after");
    return [before, approved, other, n + 2];`;

  test("stops when it can only wait, and continues in another machine", async () => {
    let state: ProgramState | undefined;
    const calls: string[] = [];
    const first = await run(source, {
      call: async (step, name, input, onApprovalRequested) => {
        calls.push(`${step} ${name}`);
        if (name !== "write") return answer(`first ${(input as { path: string }).path}`);
        await onApprovalRequested("approval-1");
        return { ...answer(0), status: "pending", pending: { kind: "approval", id: "approval-1" } };
      },
      save: async (saved) => void (state = structuredClone(saved)),
    });
    expect(first).toMatchObject({ status: "waits", approvals: ["approval-1"] });
    expect(state?.approvals).toEqual(["approval-1"]);
    expect(calls).toEqual(["1 read", "2 write", "3 read"]);

    const again: string[] = [];
    const second = await run(
      { state: state! },
      {
        call: async (step, name) => {
          again.push(`${step} ${name}`);
          return answer(`second ${step}`);
        },
      },
    );
    // Its state was restored, and its open requests were repeated with the same numbers.
    expect(second).toMatchObject({ status: "done", output: ["after"] });
    expect(again.every((one) => ["2 write", "3 read"].includes(one))).toBe(true);
    expect(again).toContain("2 write");
    expect((second as { value: unknown[] }).value).toMatchObject(["first a", "second 2", expect.any(String), 42]);
  });

  test("is saved with every question that may still be open, until it is known which are", async () => {
    let state: ProgramState | undefined;
    const both =
      "const a = tools.write({ n: 1 }), b = tools.write({ n: 2 }); await a; console.log('one'); return (await b) + 1;";
    const pendingFor = (id: string): ToolResult => ({
      ...answer(0),
      status: "pending",
      pending: { kind: "approval", id },
    });
    await run(both, {
      call: async (step, _name, _input, onApprovalRequested) => {
        await onApprovalRequested(`approval-${step}`);
        return pendingFor(`approval-${step}`);
      },
      save: async (saved) => void (state = structuredClone(saved)),
    });
    expect(state?.approvals).toEqual(["approval-1", "approval-2"]);
    const saved: (readonly string[])[] = [];
    const end = await run(
      { state: state! },
      {
        call: async (step, _name, _input, onApprovalRequested) => {
          if (step === 1) return answer(1);
          await new Promise((resolve) => setTimeout(resolve, 100));
          await onApprovalRequested("approval-2");
          return pendingFor("approval-2");
        },
        save: async ({ approvals }) => void saved.push(approvals),
      },
    );
    expect(end).toMatchObject({ status: "waits", approvals: ["approval-2"] });
    expect(saved.every((approvals) => approvals.includes("approval-2"))).toBe(true);
    expect(saved.at(-1)).toEqual(["approval-2"]);
  });

  test("continues at once if the call itself waited", async () => {
    const saved: ProgramState[] = [];
    const end = await run(source, {
      call: async (_step, name, _input, onApprovalRequested) => {
        if (name === "write") await onApprovalRequested("approval-1");
        return answer(name);
      },
      save: async (state) => void saved.push(state),
    });
    expect(end).toMatchObject({ status: "done", value: ["read", "write", "read", 42] });
    expect(saved.length).toBeGreaterThan(0);
  });
});

// Code mode, from the public interface: a program can do nothing but call tools, and each of its calls passes the gate.
import { onTestFinished, describe, expect, test } from "vitest";
import { createChain, createHaft, type HaftOptions, type ToolEvent, type ToolResult } from "haft";
import { z } from "zod";

function open(options: HaftOptions = {}) {
  const ran: string[] = [];
  const events: ToolEvent[] = [];
  const tool = (name: string, config: { kind?: "readonly" | "write"; permission?: "auto" | "confirm" } = {}) => ({
    name,
    description: `Does ${name}`,
    kind: config.kind ?? ("readonly" as const),
    permission: config.permission ?? ("auto" as const),
    parameters: z.object({ n: z.number().default(0).describe("A number") }),
    run: ({ n }: { n: number }) => {
      ran.push(`${name} ${n}`);
      return { n, twice: n * 2 };
    },
  });
  const haft = createHaft({ code: {}, ...options });
  haft.register(tool("double"));
  haft.register(tool("keep", { kind: "write" }));
  haft.register(tool("send", { kind: "write", permission: "confirm" }));
  haft.on("*", (event) => void events.push(event));
  onTestFinished(() => haft.shutdown());
  const code = (source: string, id?: string): Promise<ToolResult> =>
    haft.execute("run_code", { code: source }, id === undefined ? {} : { id, caller: { session: "s" } });
  return { haft, ran, events, code };
}

const terminal = (events: readonly ToolEvent[], name: string): ToolEvent[] =>
  events.filter(
    (event) => (event.type === "tool_call_completed" || event.type === "tool_call_failed") && event.toolName === name,
  );

describe("run_code", () => {
  test("returns the value of the program, and each of its calls is recorded", async () => {
    const { haft, code, events } = open();
    const result = await code(
      "let sum = 0; for (let n = 0; n < 5; n++) sum += (await tools.double({ n })).twice; return { sum }",
    );
    expect(result).toMatchObject({ status: "completed", details: { value: { sum: 20 }, calls: 5 } });
    expect(terminal(events, "double")).toHaveLength(5);
    const records = await haft.calls.log.recent();
    expect(
      records.filter(({ toolName }) => toolName === "double").every(({ parentId }) => parentId === result.callId),
    ).toBe(true);
  });

  test("sends and receives texts of any length, with every character", async () => {
    const { haft, code } = open();
    haft.register({
      name: "echo",
      description: "Gives back the text.",
      kind: "readonly",
      parameters: z.object({ text: z.string().describe("A text") }),
      run: ({ text }) => ({ text }),
    });
    const result = await code(`
      const texts = ["", "é𝒳\\u0000", "x".repeat(40_000), "漢".repeat(200_000)];
      const echoes = [];
      for (const text of texts) echoes.push((await tools.echo({ text })).text === text);
      return echoes`);
    expect(result).toMatchObject({ status: "completed", details: { value: [true, true, true, true] } });
  });

  test("lets other work have its turn while a program makes many calls", async () => {
    const { code } = open();
    let turns = 0;
    let isRunning = true;
    const count = (): void => {
      turns++;
      if (isRunning) setImmediate(count);
    };
    count();
    await code("for (let n = 0; n < 500; n++) await tools.double({ n })");
    isRunning = false;
    expect(turns).toBeGreaterThan(5);
  });

  test("cannot call or find a tool that the policy denies", async () => {
    const { code, ran } = open({ policy: { deny: ["keep"] } });
    const result = await code(
      "try { await tools.keep({}) } catch (e) { return [e.code, await api.describe('keep'), await api.search('keep')] }",
    );
    const [reason, declared, found] = (result as { details: { value: [string, string, { name: string }[]] } }).details
      .value;
    expect(["tool_not_found", "denied"]).toContain(reason);
    expect(declared).toContain('no tool "keep"');
    expect(found.map(({ name }) => name)).not.toContain("keep");
    expect(ran).toEqual([]);
  });

  test("has no more than its caller's toolkit, and no more in its second pass", async () => {
    const { haft, ran } = open();
    const toolkit = haft.tools.toolkit("agent", ["run_code", "send"]);
    const program = { code: "await tools.send({ n: 1 }); try { await tools.keep({}) } catch (e) { return e.code }" };
    const pending = await toolkit.execute("run_code", program, { id: "p" });
    expect(pending).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    const ended = new Promise<ToolEvent>((resolve) =>
      haft.on("tool_call_completed", (e) => e.toolName === "run_code" && resolve(e)),
    );
    if (pending.status === "pending") await haft.approvals.approve(pending.pending.id);
    expect(await ended).toMatchObject({
      callId: "p",
      result: { details: { value: expect.stringMatching(/denied|tool_not_found/) } },
    });
    expect(ran).toEqual(["send 1"]);
  });

  test("declares tools as TypeScript, from their schemas", async () => {
    const { code } = open();
    const result = await code("return await api.describe('double')");
    expect(result).toMatchObject({
      details: { value: "/** Does double */\ntools.double(input: { n?: number /* A number */ }): Promise<unknown>" },
    });
  });

  test("reports the position of an error, and suggests the tool that was probably meant", async () => {
    const { code } = open();
    const result = await code("const a = 1;\nreturn await doubel({ n: a });");
    expect(result).toMatchObject({ status: "failed", error: { code: "failed", data: { line: 2 } } });
    const { message } = (result as { error: { message: string } }).error;
    expect(message).toContain("'doubel' is not defined".replaceAll("'", ""));
    expect(message).toContain("> return await doubel({ n: a });");
    expect(message).toContain("Did you mean tools.double(…)?");
  });

  test("keeps what was printed before the program failed", async () => {
    const { code } = open();
    const result = await code("console.log('so far'); throw new Error('enough')");
    expect(result).toMatchObject({ status: "failed", details: { output: ["so far"] } });
    expect(JSON.stringify(result.content)).toContain("so far");
  });

  test("asks for each call that needs an approval; the program continues after it, and ends once", async () => {
    const { haft, code, ran, events } = open();
    const pending = await code(
      "const a = await tools.send({ n: 1 }); const b = await tools.send({ n: 2 }); return a.twice + b.twice",
      "once",
    );
    expect(pending).toMatchObject({ status: "pending", callId: "once" });
    expect(ran).toEqual([]);
    for (let round = 0; round < 2; round++) {
      const requested = (await haft.approvals.list()).find(({ state }) => state === "pending");
      expect((await haft.approvals.approve(requested!.id)).status).toBe("completed");
    }
    expect(ran).toEqual(["send 1", "send 2"]);
    expect(terminal(events, "run_code")).toMatchObject([{ callId: "once", result: { details: { value: 6 } } }]);
    // Made again, it is known.
    expect(
      await code(
        "const a = await tools.send({ n: 1 }); const b = await tools.send({ n: 2 }); return a.twice + b.twice",
        "once",
      ),
    ).toMatchObject({ status: "completed", details: { value: 6 }, metadata: { known: "replay" } });
    expect(ran).toEqual(["send 1", "send 2"]);
  });

  test("gets a denial as an error that it may catch", async () => {
    const { haft, code, ran, events } = open();
    await code("try { await tools.send({ n: 1 }) } catch (e) { return e.code }", "refused");
    const [open1] = await haft.approvals.list();
    await haft.approvals.deny(open1!.id, "not today");
    expect(terminal(events, "run_code")).toMatchObject([{ result: { details: { value: "approval_denied" } } }]);
    expect(ran).toEqual([]);
  });

  test("waits inline if the runtime waits for people", async () => {
    const { code, ran } = open({ approver: async () => ({ approved: true, by: "ada" }) });
    expect(await code("return (await tools.send({ n: 4 })).twice")).toMatchObject({
      status: "completed",
      details: { value: 8 },
    });
    expect(ran).toEqual(["send 4"]);
  });

  test("asks several questions at once, and continues after the last answer", async () => {
    const { haft, code, ran, events } = open();
    const pending = await code(
      "const all = await Promise.all([1, 2, 3].map((n) => tools.send({ n }))); return all.map(({ n }) => n)",
    );
    expect(pending).toMatchObject({
      details: { approvals: [expect.any(String), expect.any(String), expect.any(String)] },
    });
    for (const { id } of await haft.approvals.list()) await haft.approvals.approve(id);
    expect(ran.toSorted()).toEqual(["send 1", "send 2", "send 3"]);
    expect(terminal(events, "run_code")).toMatchObject([{ result: { details: { value: [1, 2, 3] } } }]);
  });

  test("an absurd program fails like any other", async () => {
    const { code } = open({ code: { limits: { cpuMs: 100 } } });
    for (const source of ["while (true) {}", "})(", "return tools", "throw null", "__haft.settle(1, true, '1')"]) {
      const result = await code(source);
      expect(["failed", "completed"]).toContain(result.status);
    }
    expect(await code("return 1")).toMatchObject({ details: { value: 1 } });
  });
});

describe("a program that runs programs", () => {
  const NESTED = `
    const nested = async (code) => {
      try { return (await tools.run_code({ code })).value } catch (error) { return error.message }
    };`;

  test("shares its number of calls with them", async () => {
    const { code, ran } = open({ code: { limits: { maxCalls: 20 } } });
    const source = `${NESTED}
      const all = [];
      for (let i = 0; i < 5; i++) all.push(await nested("for (let n = 0; n < 7; n++) await tools.double({ n })"));
      return all;`;
    expect(await code(source)).toMatchObject({
      details: { value: expect.arrayContaining([expect.stringContaining("at most 20 calls")]) },
    });
    expect(ran.length).toBeLessThanOrEqual(18);
    expect(ran.length).toBeGreaterThan(7);
  });

  test("shares its number of calls with the chains below it", async () => {
    const { haft, code, ran } = open({ code: { limits: { maxCalls: 10 } } });
    const steps = Array.from({ length: 4 }, () => ({ tool: "double", input: () => ({ n: 1 }) }));
    haft.register(createChain({ name: "chain", description: "Four", kind: "readonly", parameters: [], steps }));
    const result = await code("for (let i = 0; i < 5; i++) await tools.chain({})");
    expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining("at most 10 calls") } });
    expect(ran).toHaveLength(8);
  });

  test("shares its computing time with them, one after the other or at once", async () => {
    const { code } = open({ code: { limits: { cpuMs: 600 } } });
    const spin = "const end = Date.now() + 250; while (Date.now() < end); return 1";
    const source = `${NESTED}
      return await Promise.all(Array.from({ length: 4 }, () => nested(${JSON.stringify(spin)})));`;
    const result = await code(source);
    const { value } = (result as { details: { value?: unknown[] } }).details;
    // The program itself may have none left for its end.
    expect(value?.filter((one) => one === 1).length ?? 0).toBeLessThanOrEqual(2);
    expect(JSON.stringify(result)).toMatch(/exceeded its CPU time limit/);
  });

  test("shares the length of its output with them", async () => {
    const { code } = open({ code: { limits: { maxPrintedBytes: 300 } } });
    const print = "for (let i = 0; i < 20; i++) console.log('0123456789'); return 1";
    const source = `${NESTED}
      const printed = [];
      for (let i = 0; i < 3; i++) printed.push((await tools.run_code({ code: ${JSON.stringify(print)} })).output.length);
      console.log("mine");
      return printed;`;
    expect(await code(source)).toMatchObject({ details: { value: [20, 8, 0], output: [] } });
  });

  test("shares its memory with them", async () => {
    const { code } = open({ code: { limits: { memoryBytes: 24 * 1024 * 1024 } } });
    const fill = (name: string): string => `const ${name} = new Uint8Array(14_000_000).fill(1); `;
    expect(await code(`${fill("a")} return a.length`)).toMatchObject({ status: "completed" });
    const both = `${NESTED} ${fill("a")} return [await nested(${JSON.stringify(`${fill("b")} return b.length`)}), a.length]`;
    expect(await code(both)).toMatchObject({
      details: { value: [expect.stringContaining("exceeded its memory limit"), 14_000_000] },
    });
    const after = `${NESTED} const first = await nested(${JSON.stringify(`${fill("b")} return b.length`)});
      return [first, await nested(${JSON.stringify(`${fill("c")} return c.length`)})]`;
    expect(await code(after)).toMatchObject({ details: { value: [14_000_000, 14_000_000] } });
  });
});

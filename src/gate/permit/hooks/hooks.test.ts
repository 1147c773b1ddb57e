import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import type { Call, CallOptions } from "../../../core/call.ts";
import { textOf } from "../../../core/content.ts";
import { createTool } from "../../../core/create-tool.ts";
import { ToolRegistry } from "../../../core/registry.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { Stage } from "../../../core/stage.ts";
import { bound, MemorySpill } from "../../bound.ts";
import { Calls } from "../../../calls/calls.ts";
import { Executor } from "../../executor.ts";
import { MemoryCallLog } from "../../audit-log.ts";
import { idempotencyStages } from "../../idempotency.ts";
import { resolve } from "../../resolve.ts";
import { ResultCache } from "../../result-cache.ts";
import { validate } from "../../validate.ts";
import { systemClock } from "../../../core/clock.ts";
import { withoutSandbox } from "../../../io/sandbox/program-sandbox.ts";
import type { HttpPost } from "./run-hook.ts";
import type { CommandHook, HookGroup, HookSettings, HttpHook } from "./hook-settings.ts";
import { createHooks } from "./hooks.ts";

/** The real gate with these hooks, around a tool that hooks know as `Bash`. */
function stage(
  settings: HookSettings,
  more: { post?: HttpPost; environment?: Record<string, string | undefined> } = {},
) {
  const folder = temporaryFolder("haft-hooks-");
  const ran: unknown[] = [];
  const registry = new ToolRegistry();
  registry.register(
    createTool({
      name: "exec",
      description: "",
      dialects: { claude: { name: "Bash", parameters: { path: "file_path" } } },
      parameters: z.object({ command: z.string(), path: z.string().optional() }),
      needsApproval: false,
      run: (input) => (ran.push(input), { stdout: `ran ${input.command}`, secret: "hunter2" }),
    }),
  );
  registry.register(
    createTool({
      name: "fail",
      description: "",
      parameters: [],
      needsApproval: false,
      run: () => Promise.reject(new Error("hunter2")),
    }),
  );
  registry.register(
    createTool({ name: "mcp__files__get", description: "", parameters: [], needsApproval: false, run: () => "got" }),
  );
  const hooks = createHooks([{ settings, origin: "settings.json" }], {
    workspace: folder,
    environment: more.environment ?? process.env,
    // These hooks write files and their process ids. test/mcp/confined-servers.test.ts has confined ones.
    programs: () => withoutSandbox(folder),
    post: more.post,
    revalidate: (call) => validate().enter!(call),
  });
  const verdicts: unknown[] = [];
  const judge: Stage = {
    name: "permit",
    enter(call: Call) {
      verdicts.push(hooks.verdictOf(call));
    },
  };
  const { first, known, claim, begin } = idempotencyStages({
    calls: new Calls({ clock: systemClock }),
    cache: new ResultCache(systemClock),
    log: new MemoryCallLog(),
    registry,
  });
  const stages = [
    first,
    resolve(registry),
    validate(),
    known,
    hooks.before,
    judge,
    claim,
    begin,
    bound(new MemorySpill()),
    hooks.after,
  ];
  const executor = new Executor(
    registry,
    stages.filter((one) => one !== undefined),
    { workspace: folder },
  );
  const execute = (input: unknown = { command: "ls" }, options?: CallOptions): Promise<ToolResult> =>
    executor.execute("exec", input, options);
  return { folder, ran, hooks, verdicts, executor, execute };
}

const command = (text: string, more: Partial<CommandHook> = {}): CommandHook => ({
  type: "command",
  command: text,
  ...more,
});
const pre = (...hooks: HookGroup["hooks"]): HookSettings => ({ PreToolUse: [{ matcher: "Bash", hooks }] });
const post = (...hooks: HookGroup["hooks"]): HookSettings => ({ PostToolUse: [{ hooks }] });
const says = (answer: object, more?: Partial<CommandHook>): CommandHook =>
  command(`cat >/dev/null; printf '%s' '${JSON.stringify(answer).replaceAll("'", "'\\''")}'`, more);
const decides = (permissionDecision: string, more: object = {}): CommandHook =>
  says({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...more } });

describe("a PreToolUse hook", () => {
  test("reads the call with Claude Code's field names", async () => {
    const { folder, execute } = stage(pre(command("cat > seen.json")));
    await execute({ command: "ls", path: "a" }, { id: "c1", mode: "acceptEdits", caller: { session: "s" } });
    expect(JSON.parse(readFileSync(join(folder, "seen.json"), "utf8"))).toEqual({
      session_id: "s",
      transcript_path: "",
      cwd: folder,
      permission_mode: "acceptEdits",
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      tool_input: { command: "ls", file_path: "a" },
      tool_use_id: "c1",
    });
  });

  test("gets the project's folder, and the same environment as commands", async () => {
    const environment = { PATH: process.env["PATH"], API_TOKEN: "hunter2" };
    const { folder, execute } = stage(
      pre(command('echo "$CLAUDE_PROJECT_DIR $HAFT_PROJECT_DIR [$API_TOKEN]" > seen')),
      {
        environment,
      },
    );
    await execute();
    expect(readFileSync(join(folder, "seen"), "utf8").trim()).toBe(`${folder} ${folder} []`);
  });

  test("blocks with exit code 2, even if its output allows, and its standard error is the reason", async () => {
    const allow = JSON.stringify({ hookSpecificOutput: { permissionDecision: "allow" } });
    const { execute, ran } = stage(pre(command(`echo '${allow}'; echo 'not on Fridays' >&2; exit 2`)));
    const result = await execute();
    expect(result).toMatchObject({ status: "failed", error: { code: "denied", name: "ToolPermissionError" } });
    expect(textOf(result.content)).toMatch(/^Permission denied: a hook of settings\.json refused.*not on Fridays/);
    expect(ran).toEqual([]);
  });

  test.each([
    ["deny", { permissionDecision: "deny", permissionDecisionReason: "no" }],
    ["the deprecated form", undefined, { decision: "block", reason: "no" }],
    ["a stop of the agent", { permissionDecision: "allow" }, { continue: false, stopReason: "no" }],
  ] as [string, object | undefined, object | undefined][])("refuses by %s", async (_what, specific, more = {}) => {
    const { execute, ran } = stage(pre(says({ ...more, ...(specific ? { hookSpecificOutput: specific } : {}) })));
    expect(await execute()).toMatchObject({ error: { code: "denied", message: expect.stringMatching(/call: no$/) } });
    expect(ran).toEqual([]);
  });

  test.each(["ask", "defer"])("asks by %s, and the verdict names the hook and the file", async (decision) => {
    const { execute, verdicts } = stage(pre(decides(decision, { permissionDecisionReason: "look first" })));
    await execute();
    expect(verdicts).toEqual([
      {
        decision: "ask",
        by: "hook",
        reason: "look first",
        rule: expect.stringMatching(/^PreToolUse\(Bash\): cat/),
        origin: "settings.json",
      },
    ]);
  });

  test("loosens nothing if it allows", async () => {
    const { execute, verdicts, ran } = stage(pre(decides("allow")));
    expect(await execute()).toMatchObject({ status: "completed" });
    expect([verdicts, ran.length]).toEqual([[undefined], 1]);
  });

  test("has no effect if its output is not an object", async () => {
    const { execute, verdicts } = stage(pre(command("echo deny everything")));
    expect(await execute()).toMatchObject({ status: "completed" });
    expect(verdicts).toEqual([undefined]);
  });

  test("is one of several: the strictest applies, also across groups", async () => {
    const group = (hook: CommandHook): HookGroup => ({ hooks: [hook] });
    const order = ["allow", "ask", "deny"].map((one) => decides(one, { permissionDecisionReason: one }));
    const all = stage({ PreToolUse: order.map(group) });
    expect(await all.execute()).toMatchObject({ error: { message: expect.stringContaining("call: deny") } });
    const two = stage({ PreToolUse: order.slice(0, 2).map(group) });
    await two.execute();
    expect(two.verdicts).toMatchObject([{ decision: "ask" }]);
  });

  test("that is in the files twice runs once", async () => {
    const hook = command("echo x >> count");
    const { folder, execute } = stage({ PreToolUse: [{ hooks: [hook] }, { matcher: "*", hooks: [{ ...hook }] }] });
    await execute();
    expect(readFileSync(join(folder, "count"), "utf8")).toBe("x\n");
  });
});

describe("an input that a hook replaces", () => {
  test("is what runs, read with Claude Code's names, and the old input is gone", async () => {
    const { execute, ran } = stage(pre(decides("allow", { updatedInput: { command: "ls -l", file_path: "b" } })));
    await execute({ command: "ls", path: "a" });
    expect(ran).toEqual([{ command: "ls -l", path: "b" }]);
  });

  test.each([
    ["of the wrong type", { command: 5, nothing: 1 }],
    ["with a prototype in it", JSON.parse('{"command":"ls","__proto__":{"a":1}}')],
  ])("%s is refused, and the message names the hook for the person", async (_what, updatedInput) => {
    const { execute, ran } = stage(pre(decides("allow", { updatedInput })));
    const result = await execute();
    expect(result).toMatchObject({ error: { code: "denied", message: expect.stringContaining("is not valid") } });
    expect(ran).toEqual([]);
  });

  test("is refused if two hooks replace it differently, and accepted if they agree", async () => {
    const rewrites = (text: string, pad = ""): CommandHook =>
      command(`${decides("allow", { updatedInput: { command: text } }).command}${pad}`);
    const { execute } = stage(pre(rewrites("a"), rewrites("b")));
    expect(await execute()).toMatchObject({ error: { message: expect.stringContaining("want different inputs") } });
    const same = stage(pre(rewrites("a"), rewrites("a", " ")));
    await same.execute();
    expect(same.ran).toEqual([{ command: "a" }]);
  });

  test("does not change the call's identity: repeated under its id, it is answered and does not run", async () => {
    const { execute, ran } = stage(pre(decides("allow", { updatedInput: { command: "other" } })));
    const options = { id: "c", caller: { session: "s" } };
    await execute({ command: "ls" }, options);
    expect(await execute({ command: "ls" }, options)).toMatchObject({ metadata: { known: "replay" } });
    expect(ran).toHaveLength(1);
  });
});

describe("a hook that fails", () => {
  const cases: [string, CommandHook][] = [
    ["is missing", command("./no-such-hook.sh")],
    ["is missing, without a shell", command("/no/such/hook", { args: ["x"] })],
    ["takes too long", command("sleep 30", { timeout: 0.2 })],
    ["is killed", command("kill -9 $$")],
    ["answers with invalid JSON", command("echo '{oops'")],
    ["returns an unknown decision", decides("perhaps")],
  ];

  test.each(cases)("and %s blocks the call, unless its file says otherwise", async (_what, hook) => {
    const { execute, ran } = stage(pre(hook));
    expect(await execute()).toMatchObject({
      error: { code: "denied", message: expect.stringContaining("hook failed") },
    });
    expect(ran).toEqual([]);
    const open = stage(pre({ ...hook, onFailure: "ignore" }));
    expect(await open.execute()).toMatchObject({
      status: "completed",
      metadata: { hooks: [{ failed: expect.anything() }] },
    });
  });

  test("with an exit code that the contract calls harmless blocks nothing, unless its file says otherwise", async () => {
    const { execute } = stage(pre(command("exit 1")));
    expect(await execute()).toMatchObject({
      status: "completed",
      metadata: { hooks: [{ failed: "it ended with code 1" }] },
    });
    const shut = stage(pre(command("echo broken >&2; exit 1", { onFailure: "block" })));
    expect(await shut.execute()).toMatchObject({ error: { message: expect.stringContaining("code 1: broken") } });
  });

  test("because only another system has its type blocks the call, and is reported at the start", async () => {
    const { execute, hooks } = stage(pre({ type: "prompt" }));
    expect(await execute()).toMatchObject({ error: { code: "denied" } });
    expect(hooks.warnings).toEqual([expect.stringContaining("cannot be run")]);
  });

  test("by its time limit is killed with its child processes", async () => {
    const { folder, execute } = stage(pre(command("(sleep 1; touch late) & echo $! > pid; wait", { timeout: 0.3 })));
    await execute();
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(folder, "late"))).toBe(false);
  });

  test("to end before its caller cancels is killed with the call", async () => {
    const { folder, execute } = stage(pre(command("echo $$ > pid; sleep 30")));
    const controller = new AbortController();
    const running = execute({ command: "ls" }, { signal: controller.signal });
    await expect.poll(() => existsSync(join(folder, "pid"))).toBe(true);
    controller.abort();
    expect(await running).toMatchObject({ error: { code: "cancelled" } });
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

describe("a PostToolUse hook", () => {
  test("sees the tool's output", async () => {
    const { folder, execute } = stage(post(command("cat > seen.json")));
    await execute();
    expect(JSON.parse(readFileSync(join(folder, "seen.json"), "utf8"))).toMatchObject({
      hook_event_name: "PostToolUse",
      tool_name: "Bash",
      tool_response: { success: true, stdout: "ran ls", content: expect.stringContaining("ran ls") },
    });
  });

  test.each([
    ["a text", "[redacted]", "[redacted]"],
    ["text content", [{ type: "text", text: "[redacted]" }], "[redacted]"],
    ["data", { stdout: "[redacted]" }, '{\n  "stdout": "[redacted]"\n}'],
  ])("replaces the whole output by %s", async (_what, updatedToolOutput, shown) => {
    const { execute } = stage(post(says({ hookSpecificOutput: { updatedToolOutput } })));
    const result = await execute({ command: "ls" }, { id: "c" });
    expect(textOf(result.content)).toBe(shown);
    for (const one of [result, await execute({ command: "ls" }, { id: "c" })]) {
      expect(one.status).toBe("completed");
      expect(JSON.stringify(one)).not.toContain("hunter2");
    }
  });

  test("also replaces the output of a failed call", async () => {
    const { executor } = stage(post(says({ hookSpecificOutput: { updatedToolOutput: "[redacted]" } })));
    const result = await executor.execute("fail");
    expect(result).toMatchObject({ status: "failed", error: { message: "[redacted]" } });
    expect(JSON.stringify(result)).not.toContain("hunter2");
  });

  test("adds to a result: by context, by a block and by exit code 2", async () => {
    const hooks = [
      says({ hookSpecificOutput: { additionalContext: "run the tests" } }),
      says({ decision: "block", reason: "no tabs" }),
      command("echo too long >&2; exit 2"),
    ];
    const { execute } = stage(post(...hooks));
    const result = await execute();
    expect(result.status).toBe("completed");
    expect(textOf(result.content)).toMatch(/ran ls.*adds: run the tests.*objects: no tabs.*objects: too long/s);
  });

  test("that fails blocks nothing, unless it must see the output: then the output is withheld", async () => {
    const { execute } = stage(post(command("./no-such-hook.sh")));
    expect(await execute()).toMatchObject({
      status: "completed",
      metadata: { hooks: [{ failed: expect.anything() }] },
    });
    const strict = stage(post(command("./no-such-hook.sh", { onFailure: "block" })));
    const result = await strict.execute();
    expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining("withheld") } });
    expect(JSON.stringify(result)).not.toContain("hunter2");
  });

  test("does not run for a call that was refused", async () => {
    const { folder, execute } = stage({ ...pre(decides("deny")), ...post(command("touch asked")) });
    await execute();
    expect(existsSync(join(folder, "asked"))).toBe(false);
  });
});

test("the context of a PreToolUse hook reaches the model with the result, and again with a replay", async () => {
  const { execute } = stage(pre(decides("allow", { additionalContext: "the build is red" })));
  for (let i = 0; i < 2; i++) {
    const result = await execute({ command: "ls" }, { id: "c" });
    expect(textOf(result.content)).toMatch(/ran ls.*A hook \(settings\.json\) adds: the build is red/s);
  }
});

describe("a PermissionRequest hook", () => {
  const request = (...hooks: HookGroup["hooks"]): HookSettings => ({ PermissionRequest: [{ hooks }] });
  const behaves = (behavior: string): CommandHook =>
    says({ hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior, message: "not now" } } });

  async function ask(settings: HookSettings) {
    const { hooks, executor, folder } = stage({ ...settings, ...pre(command("true")) });
    let call: Call | undefined;
    const { verdictOf } = hooks;
    hooks.verdictOf = (one) => ((call = one), verdictOf(one));
    await executor.execute("exec", { command: "ls" });
    return { verdict: await hooks.beforeApproval(call!), folder };
  }

  test("may deny, with a reason", async () => {
    expect((await ask(request(behaves("deny")))).verdict).toMatchObject({
      decision: "deny",
      by: "hook",
      reason: "not now",
      origin: "settings.json",
    });
    expect((await ask(request(command("echo no >&2; exit 2")))).verdict).toMatchObject({ reason: "no" });
  });

  test("cannot allow: the person is asked", async () => {
    expect((await ask(request(behaves("allow")))).verdict).toBeUndefined();
    expect((await ask(request(command("cat > seen.json")))).verdict).toBeUndefined();
    expect((await ask({})).verdict).toBeUndefined();
  });

  test("that fails denies", async () => {
    expect((await ask(request(command("./no-such-hook.sh")))).verdict).toMatchObject({ decision: "deny" });
  });
});

describe("an http hook", () => {
  /** Posts over the network, as the runtime does. */
  const send: HttpPost = async (url, { headers, body, signal }) => {
    const response = await fetch(url, { method: "POST", headers, body, signal });
    return { status: response.status, body: await response.text() };
  };

  async function serve(answer: (body: string) => { status?: number; body?: string } | undefined) {
    const seen: { headers: Record<string, unknown>; body: Record<string, unknown> }[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        seen.push({ headers: request.headers, body: JSON.parse(body) as Record<string, unknown> });
        const said = answer(body);
        if (said) response.writeHead(said.status ?? 200).end(said.body ?? "");
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const hook = (more: Partial<HttpHook> = {}): HttpHook => ({ type: "http", url, ...more });
    return { seen, hook };
  }

  test("gets the same input as a command, and headers with the allowed variables", async () => {
    const { seen, hook } = await serve(() => ({}));
    const headers = { Authorization: "Bearer ${HOOK_KEY}", Other: "$SECRET" };
    const { execute } = stage(pre(hook({ headers, allowedEnvVars: ["HOOK_KEY"] })), {
      post: send,
      environment: { HOOK_KEY: "k", SECRET: "hunter2" },
    });
    expect(await execute({ command: "ls" }, { id: "c" })).toMatchObject({ status: "completed" });
    expect(seen).toMatchObject([
      {
        headers: { "content-type": "application/json", authorization: "Bearer k" },
        body: { hook_event_name: "PreToolUse", tool_name: "Bash", tool_use_id: "c" },
      },
    ]);
    expect(JSON.stringify(seen)).not.toContain("hunter2");
  });

  test("decides by its answer", async () => {
    const body = JSON.stringify({ hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no" } });
    const { hook } = await serve(() => ({ body }));
    const { execute, ran } = stage(pre(hook()), { post: send });
    expect(await execute()).toMatchObject({ error: { message: expect.stringContaining("call: no") } });
    expect(ran).toEqual([]);
  });

  test("that answers with an error, too late or not at all blocks the call, unless its file says otherwise", async () => {
    const failing = await serve(() => ({ status: 500 }));
    const silent = await serve(() => undefined);
    for (const hook of [failing.hook(), silent.hook({ timeout: 0.2 }), failing.hook({ url: "http://127.0.0.1:1/" })]) {
      const shut = stage(pre(hook), { post: send });
      expect(await shut.execute()).toMatchObject({ error: { message: expect.stringContaining("hook failed") } });
      const open = stage(pre({ ...hook, onFailure: "ignore" }), { post: send });
      expect(await open.execute()).toMatchObject({ status: "completed" });
    }
  });

  test("fails if the runtime cannot send requests", async () => {
    const { hook } = await serve(() => ({}));
    expect(await stage(pre(hook())).execute()).toMatchObject({
      error: { message: expect.stringContaining("cannot send") },
    });
  });
});

describe("without hooks", () => {
  test("plain calls pass no stage", () => {
    const tool = createTool({ name: "t", description: "T", parameters: {}, run: () => "" });
    const { before, after } = stage({}).hooks;
    expect([before.compile?.(tool), after.compile?.(tool)]).toEqual([{}, {}]);
    expect(stage(post(command("true"))).hooks.before.compile?.(tool)).toEqual({});
  });

  test("for this tool the call passes synchronously", async () => {
    const { folder, executor } = stage(pre(command("touch asked")));
    expect(await executor.execute("mcp__files__get")).toMatchObject({ status: "completed" });
    expect(existsSync(join(folder, "asked"))).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

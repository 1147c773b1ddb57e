import { describe, expect, test } from "vitest";
import { createAgent } from "../agent.ts";
import { createClient } from "../client.ts";
import { AgentToolkit, ToolRegistry as CompatRegistry } from "../compat.ts";
import { openHaft } from "../host.ts";
import { adopt, createHaft, createPolicyLayers, createTool, RuleSet } from "../index.ts";
import { createMcpEndpoint, serveHttp, serveMcpStdio } from "../server.ts";
import { openWorkspace } from "../workspace.ts";

const base = { name: "ping", description: "Answers", kind: "readonly", parameters: [], run: () => "pong" } as const;

/** As JavaScript passes them: the compiler refuses all of these. */
const wrong = (options: object): never => options as never;

function errorOf(use: () => unknown): string {
  try {
    use();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("an unknown option is an error that names the nearest known one", () => {
  const haft = createHaft({ tools: [base] });
  const cases: [string, () => unknown, RegExp][] = [
    ["a tool", () => createTool(wrong({ ...base, permision: "confirm" })), /"permision".*"permission"/],
    ["limits of a tool", () => createTool({ ...base, limits: wrong({ timeout: 5 }) }), /"timeout".*"timeoutMs"/],
    ["cache of a tool", () => createTool({ ...base, cache: wrong({ ttl: 5 }) }), /"ttl".*"ttlMs"/],
    ["a dialect", () => createTool({ ...base, dialects: { claude: wrong({ nam: "P" }) } }), /"nam".*"name"/],
    [
      "a registered tool",
      () => haft.register(wrong({ ...base, name: "b", validateParms: () => null })),
      /"validateParams"/,
    ],
    ["a runtime", () => createHaft(wrong({ polcy: {} })), /"polcy".*"policy"/],
    ["concurrency", () => createHaft({ concurrency: wrong({ maxConcurrentTools: 1 }) }), /"maxConcurrent"/],
    ["timeouts", () => createHaft({ timeouts: wrong({ max: 1 }) }), /"maxMs"/],
    ["approvals", () => createHaft({ approvals: wrong({ lifetime: 1 }) }), /"lifetime".*"lifetimeMs"/],
    ["a policy", () => createHaft({ policy: wrong({ denny: ["exec"] }) }), /"denny".*"deny"/],
    ["rules", () => createHaft({ rules: wrong({ dney: ["exec"] }) }), /"dney".*"deny"/],
    ["a rule set", () => new RuleSet([wrong({ origin: "a file", alow: [] })]), /a file.*"alow".*"allow"/],
    ["layers", () => createPolicyLayers({ agents: { a: wrong({ dny: [] }) } }), /agent "a".*"dny".*"deny"/],
    ["a workspace", () => openWorkspace(".", wrong({ denyGlob: [] })), /"denyGlobs"/],
    ["an agent", () => createAgent(wrong({ haft, model: {}, instruction: "" })), /"instructions"/],
    ["a client", () => createClient(wrong({ url: "http://127.0.0.1:1", tokn: "" })), /"token"/],
    ["an event", () => haft.on("TOOL_CALL_COMPLETED" as never, () => {}), /"tool_call_completed"/],
    ["an event of a registry", () => new CompatRegistry().on("toolRegisterd" as never, () => {}), /"tool_registered"/],
  ];
  test.each(cases)("%s", (_name, use, message) => {
    expect(use).toThrow(TypeError);
    expect(use).toThrow(message);
  });

  test.each<[string, () => unknown, string]>([
    [
      "a tool",
      () => createTool(wrong({ ...base, zzzz: 1 })),
      "name, description, inputSchema, outputSchema, kind, needs",
    ],
    [
      "a registered tool",
      () => haft.register(wrong({ ...base, name: "c", zzzz: 1 })),
      "name, description, inputSchema",
    ],
    ["an adopted tool", () => adopt(wrong({ ...base, name: "d", zzzz: 1 })), "name, description, inputSchema"],
    ["a runtime", () => createHaft(wrong({ zzzz: 1 })), "tools, workspace, policy, rules, defaultPermission, approver"],
  ])("%s: without a near name, the main ones", (_name, use, main) => {
    const message = errorOf(use);
    expect(message).toContain(`has no option "zzzz". Known: ${main}`);
    expect(message).toMatch(/, …; see its type\.$/);
    expect(message.length).toBeLessThan(200);
  });

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ["a host", () => openHaft(".", wrong({ aprover: 1 })), /"aprover".*"approver"/],
    ["an HTTP server", () => serveHttp(haft, wrong({ allowedHost: [] })), /"allowedHosts"/],
    ["an MCP server", () => serveMcpStdio(haft, wrong({ describe: () => [], identiy: {} })), /"identity"/],
    ["an MCP endpoint", () => createMcpEndpoint(haft, wrong({ describe: () => [], origin: [] })), /"origins"/],
    [
      "the manifest of a plugin",
      () => haft.tools.install({ manifest: wrong({ id: "p", tool: ["a"] }), register: () => {} }),
      /"tool".*"tools"/,
    ],
  ])("%s", async (_name, use, message) => {
    await expect(use()).rejects.toThrow(message);
  });
});

test("names of the design documents keep working", async () => {
  const seen: string[] = [];
  const registry = new CompatRegistry();
  registry.on("toolRegistered", ({ tool }) => seen.push(tool.name));
  registry.on("toolUnregistered", ({ tool }) => seen.push(`-${tool.name}`));
  const { name: id, parameters: schema, run: execute, ...rest } = base;
  const tool = createTool({ ...rest, id, schema, execute, label: "Ping" });
  registry.registerToolToLibrary(tool);
  const haft = createHaft({ registry });
  expect(await tool.execute({}, { taskId: "t", userId: "u" })).toMatchObject({ status: "completed" });
  registry.unregister("ping");
  expect(seen).toEqual(["ping", "-ping"]);
  await haft.shutdown();
});

describe("a call with an unknown option", () => {
  const ran: string[] = [];
  const tool = createTool({ ...base, run: (_input, { callId }) => void ran.push(callId) });
  const haft = createHaft({ tools: [tool] });
  const toolkit = haft.tools.toolkit("agent", ["ping"]);

  test.each<[string, object, RegExp]>([
    ["an option", { id: "1", modus: "plan" }, /"modus".*"mode"/],
    ["a verdict from outside", { id: "1", verdict: { decision: "allow" } }, /"verdict"/],
    ["a part of the caller", { id: "1", caller: { sesion: "s" } }, /"sesion".*"session"/],
    ["a part of a policy", { id: "1", policy: [{ denny: ["*"] }] }, /"denny".*"deny"/],
    ["a part of background", { id: "1", background: { delay: 5 } }, /"delay".*"delayMs"/],
    ["a mode", { id: "1", mode: "readonly" }, /no mode "readonly"/],
  ])("is answered and not run: %s", async (_name, options, message) => {
    const expected = { status: "failed", error: { code: "invalid_input", message: expect.stringMatching(message) } };
    for (const execute of [haft.execute, toolkit.execute]) {
      expect(await execute("ping", {}, wrong(options))).toMatchObject(expected);
    }
    expect(await tool.execute({}, wrong(options))).toMatchObject(expected);
    expect(await haft.executeMany([{ name: "ping" }], wrong(options))).toMatchObject([expected]);
    expect(ran).toEqual([]);
  });

  test("known ones are not mistaken for unknown ones", async () => {
    const options = { id: "ok", caller: { user: "u", session: "s", agent: "a", task: "t" }, mode: "plan" } as const;
    expect(await haft.execute(tool, {}, { ...options, timeoutMs: 5000, policy: { allow: ["ping"] } })).toMatchObject({
      status: "completed",
    });
    expect(new AgentToolkit("x").names()).toEqual([]);
  });
});

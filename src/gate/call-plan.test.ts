import { describe, expect, test } from "vitest";
import { createTool } from "../core/create-tool.ts";
import type { ToolEvent } from "../core/events.ts";
import { createRuntime, type RuntimeOptions } from "../runtime.ts";

/** A runtime whose tool was called once, so the plan of its plain calls is compiled. */
async function start(options: RuntimeOptions = {}, config: object = {}) {
  let runs = 0;
  const add = createTool({
    name: "add",
    description: "Adds one.",
    kind: "readonly",
    parameters: [],
    run: () => ++runs,
    ...config,
  });
  const haft = createRuntime({ tools: [add], ...options });
  expect(await haft.execute("add")).toMatchObject({ status: "completed", details: 1 });
  expect(await haft.execute(add)).toMatchObject({ status: "completed", details: 2 });
  return { haft, add, runs: () => runs };
}

describe("a compiled plan does not outlive its policy", () => {
  test("a rule that is added between two calls takes effect at once, and so does its removal", async () => {
    const { haft, add, runs } = await start();
    const { rules } = haft.policy;
    rules.add("add", "deny", "test");
    expect(await haft.execute("add")).toMatchObject({ error: { code: "denied" } });
    expect(await haft.execute(add)).toMatchObject({ error: { code: "denied" } });
    rules.remove("add", "deny", "test");
    expect(await haft.execute("add")).toMatchObject({ status: "completed" });
    rules.replace({ origin: "file", ask: ["add"] });
    expect(await haft.execute("add")).toMatchObject({ status: "pending" });
    rules.drop("file");
    expect(await haft.execute("add")).toMatchObject({ status: "completed" });
    expect(runs()).toBe(4);
  });

  test("a mode that denies questions applies at once", async () => {
    const { haft } = await start({ rules: { allow: ["add"] } });
    haft.policy.rules.replace({ origin: "host", ask: ["add"], defaultMode: "dontAsk" });
    expect(await haft.execute("add")).toMatchObject({ error: { code: "denied" } });
  });

  test("a grant for callers without a session applies at once, and a deny rule wins over it", async () => {
    const haft = createRuntime({
      tools: [
        createTool({
          name: "rm",
          description: "",
          kind: "write",
          parameters: [],
          permission: "confirm",
          run: () => "x",
        }),
      ],
    });
    expect(await haft.execute("rm")).toMatchObject({ status: "pending" });
    await haft.policy.grants.add("rm", {});
    expect(await haft.execute("rm")).toMatchObject({ status: "completed" });
    haft.policy.rules.add("rm", "deny", "test");
    expect(await haft.execute("rm")).toMatchObject({ error: { code: "denied" } });
  });

  test("a list of a policy that changes applies at once", async () => {
    const deny: string[] = [];
    const { haft } = await start({ policy: { deny } });
    deny.push("add");
    expect(await haft.execute("add")).toMatchObject({ status: "failed" });
  });

  test("a policy that differs by time is asked at every call", async () => {
    let isOpen = true;
    const { haft } = await start({ policy: () => (isOpen ? [] : [{ name: "night", policy: { deny: ["*"] } }]) });
    isOpen = false;
    expect(await haft.execute("add")).toMatchObject({ status: "failed" });
  });

  test("a tool that must be reviewed asks as soon as the host says so", async () => {
    const reasons: string[] = [];
    const { haft } = await start({ requiresApproval: () => reasons[0] });
    reasons.push("its definition has changed");
    expect(await haft.execute("add")).toMatchObject({ status: "pending" });
  });

  test("a name finds what the registry has now", async () => {
    const { haft, add, runs } = await start();
    haft.tools.registry.unregister("add");
    expect(await haft.execute("add")).toMatchObject({ error: { code: "tool_not_found" } });
    haft.register({ name: "add", description: "Another.", kind: "readonly", parameters: [], run: () => "other" });
    expect(await haft.execute("add")).toMatchObject({ details: "other" });
    haft.register({
      name: "add",
      version: "2.0.0",
      description: "Next.",
      kind: "readonly",
      parameters: [],
      run: () => "2",
    });
    haft.tools.registry.preferVersion("add@2");
    expect(await haft.execute("add")).toMatchObject({ details: "2", metadata: { version: "2.0.0" } });
    haft.tools.registry.split("add", { "1.0.0": 1, "2.0.0": 0 });
    expect(await haft.execute("add")).toMatchObject({ details: "other", metadata: { arm: "1.0.0" } });
    haft.tools.registry.endSplit("add");
    expect(await haft.execute("add")).toMatchObject({ details: "2" });
    expect(await haft.execute(add)).toMatchObject({ status: "completed" });
    expect(runs()).toBe(3);
  });

  test("a listener that is added later gets every event of the next call", async () => {
    const { haft } = await start();
    const seen: ToolEvent["type"][] = [];
    const stop = haft.on("*", ({ type }) => seen.push(type));
    await haft.execute("add");
    expect(seen).toEqual(["tool_call_requested", "tool_call_started", "tool_call_completed"]);
    stop();
    await haft.execute("add");
    expect(seen).toHaveLength(3);
  });

  test("labels of a call are recorded, and the session that has them asks", async () => {
    const send = createTool({
      name: "send",
      description: "Sends.",
      kind: "execute",
      parameters: [],
      labels: ["outside_effect"],
      needsApproval: false,
      run: () => "sent",
    });
    const page = createTool({
      name: "page",
      description: "Reads a page and a secret, then sends.",
      kind: "readonly",
      parameters: [],
      labels: ["untrusted_input", "sensitive_data"],
      run: () => "text",
    });
    const outer = createTool({
      name: "outer",
      description: "Calls others.",
      kind: "execute",
      parameters: [],
      needsApproval: false,
      run: async (_input, { call }) => {
        await call("page", {});
        return (await call("send", {})).status;
      },
    });
    const haft = createRuntime({ tools: [send, page, outer] });
    expect(await haft.execute("send")).toMatchObject({ status: "completed" });
    expect(await haft.execute("outer")).toMatchObject({ details: "pending" });
  });

  test("each call is recorded and counted, with the verdict that allowed it", async () => {
    const verdicts: unknown[] = [];
    const { haft } = await start({
      middleware: [{ name: "look", after: "permit", enter: (call) => void verdicts.push(call.verdict?.decision) }],
    });
    expect(verdicts).toEqual(["allow", "allow"]);
    expect(await haft.calls.log.recent()).toHaveLength(2);
    expect(haft.tools.stats().callStats["add"]?.count).toBe(2);
  });

  test("a call that is invalid, refused or too late is recorded too", async () => {
    const { haft } = await start();
    expect(await haft.execute("add", { wrong: 1 })).toMatchObject({ error: { code: "invalid_input" } });
    await haft.shutdown();
    expect(await haft.execute("add", { wrong: 1 })).toMatchObject({ error: { code: "shutdown" } });
    expect((await haft.calls.log.recent()).map(({ errorCode }) => errorCode)).toEqual([
      undefined,
      undefined,
      "invalid_input",
      "shutdown",
    ]);
  });

  test("a call with options passes every stage", async () => {
    const { haft } = await start({}, { kind: "write", permission: "auto" });
    expect(await haft.execute("add", {}, { mode: "plan" })).toMatchObject({ error: { code: "plan_mode" } });
    expect(await haft.execute("add", {}, { policy: { deny: ["add"] } })).toMatchObject({ status: "failed" });
    const once = { id: "one", caller: { session: "s" } };
    const [first, second] = [await haft.execute("add", {}, once), await haft.execute("add", {}, once)];
    expect([first, second]).toMatchObject([{ details: 3 }, { details: 3, metadata: { known: "replay" } }]);
  });
});

test("a tool whose schema cannot be described fails its calls, and nothing is thrown", async () => {
  const parameters = {
    get jsonSchema(): never {
      throw new Error("no description");
    },
    validate: (value: unknown) => ({ value }),
  };
  const haft = createRuntime({});
  haft.register({ name: "odd", description: "d", parameters, needsApproval: false, run: () => "ran" });
  for (const options of [undefined, { id: "1" }]) {
    expect(await haft.execute("odd", {}, options)).toMatchObject({ status: "failed" });
  }
  expect(await haft.calls.log.recent()).toHaveLength(2);
});

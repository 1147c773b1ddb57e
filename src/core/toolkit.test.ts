import { describe, expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { createTool } from "./create-tool.ts";
import type { ToolContext } from "./tool.ts";

const read = createTool({
  name: "read",
  description: "",
  kind: "readonly",
  aliases: ["cat"],
  parameters: [],
  run: () => "read",
});
const write = createTool({
  name: "write",
  description: "",
  kind: "write",
  parameters: [],
  needsApproval: false,
  run: () => "wrote",
});
const whoami = createTool({
  name: "whoami",
  description: "",
  parameters: [],
  needsApproval: false,
  run: (_i: unknown, { caller }: ToolContext) => caller,
});

function start() {
  const haft = createHaft({ tools: [read, write, whoami] });
  return { haft, toolkit: haft.tools.toolkit("writer", ["read", "whoami"]) };
}

describe("an agent's toolkit", () => {
  test("has only the given tools, by name and alias", () => {
    const { toolkit } = start();
    expect(toolkit.names()).toEqual(["read", "whoami"]);
    expect(toolkit.list()).toEqual([read, whoami]);
    expect(toolkit.get("cat")).toBe(read);
    expect(toolkit.get("write")).toBeUndefined();
    expect(toolkit.agentName).toBe("writer");
  });

  test("throws for a wrong name", () => {
    const { haft } = start();
    expect(() => haft.tools.toolkit("x", ["raed"])).toThrow(/"raed".*Near: "read"/);
  });

  test("runs its tools through the gate, with the agent as the caller", async () => {
    const { haft, toolkit } = start();
    expect(await toolkit.execute("cat")).toMatchObject({ status: "completed", details: "read", toolName: "read" });
    expect(await toolkit.execute("whoami", {}, { caller: { session: "s" } })).toMatchObject({
      details: { agent: "writer", session: "s" },
    });
    expect(await haft.calls.log.recent()).toMatchObject([{ toolName: "read", caller: { agent: "writer" } }, {}]);
  });

  test("refuses a tool that only the registry has, with the known phrase, and records the call", async () => {
    const { haft, toolkit } = start();
    const result = await toolkit.execute("write");
    expect(result).toMatchObject({ status: "failed", error: { code: "tool_not_found" } });
    expect(result.status === "failed" && result.error.message).toMatch(
      /^Tool 'write' not available in writer's toolkit/,
    );
    expect(await haft.calls.log.recent()).toMatchObject([{ toolName: "write", status: "failed" }]);
  });

  test("accepts more tools", async () => {
    const { toolkit } = start();
    toolkit.add(write);
    expect(await toolkit.execute("write")).toMatchObject({ details: "wrote" });
  });

  test("runs a tool object only if it is the same tool", async () => {
    const { toolkit } = start();
    expect(await toolkit.execute(read)).toMatchObject({ details: "read" });
    expect(await toolkit.execute(write)).toMatchObject({ error: { code: "tool_not_found" } });
    const other = createTool({
      name: "read",
      description: "",
      parameters: [],
      needsApproval: false,
      run: () => "another",
    });
    expect(await toolkit.execute(other)).toMatchObject({ error: { code: "tool_not_found" } });
  });

  test("does not let its tools call tools outside it", async () => {
    const { haft } = start();
    haft.register(
      createTool({
        name: "proxy",
        description: "",
        parameters: [],
        needsApproval: false,
        run: (_i: unknown, c: ToolContext) => c.call("write"),
      }),
    );
    const toolkit = haft.tools.toolkit("narrow", ["proxy"]);
    expect(await toolkit.execute("proxy")).toMatchObject({ status: "failed", error: { code: "tool_not_found" } });
  });
});

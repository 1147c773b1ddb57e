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
const write = createTool({ name: "write", description: "", kind: "write", parameters: [], run: () => "wrote" });
const whoami = createTool({
  name: "whoami",
  description: "",
  parameters: [],
  run: (_i: unknown, { caller }: ToolContext) => caller,
});

function start() {
  const haft = createHaft({ tools: [read, write, whoami] });
  return { haft, toolkit: haft.toolkit("writer", ["read", "whoami"]) };
}

describe("an agent's toolkit", () => {
  test("has the tools it was given, by name and alias, and no others", () => {
    const { toolkit } = start();
    expect(toolkit.names()).toEqual(["read", "whoami"]);
    expect(toolkit.list()).toEqual([read, whoami]);
    expect(toolkit.get("cat")).toBe(read);
    expect(toolkit.get("write")).toBeUndefined();
    expect(toolkit.agentName).toBe("writer");
  });

  test("is not made smaller in silence where a name is wrong", () => {
    const { haft } = start();
    expect(() => haft.toolkit("x", ["raed"])).toThrow(/"raed".*Near: "read"/);
  });

  test("runs its tools through the gate, in the agent's name", async () => {
    const { haft, toolkit } = start();
    expect(await toolkit.execute("cat")).toMatchObject({ status: "completed", details: "read", toolName: "read" });
    expect(await toolkit.execute("whoami", {}, { caller: { session: "s" } })).toMatchObject({
      details: { agent: "writer", session: "s" },
    });
    expect(await haft.log.recent()).toMatchObject([{ toolName: "read", caller: { agent: "writer" } }, {}]);
  });

  test("refuses, in the seed's words, what the registry knows and it does not; and that is recorded", async () => {
    const { haft, toolkit } = start();
    const result = await toolkit.execute("write");
    expect(result).toMatchObject({ status: "failed", error: { code: "tool_not_found" } });
    expect(result.status === "failed" && result.error.message).toMatch(
      /^Tool 'write' not available in writer's toolkit/,
    );
    expect(await haft.log.recent()).toMatchObject([{ toolName: "write", status: "failed" }]);
  });

  test("can be added to", async () => {
    const { toolkit } = start();
    toolkit.add(write);
    expect(await toolkit.execute("write")).toMatchObject({ details: "wrote" });
  });

  test("runs a tool that is given itself, only if it is this very one", async () => {
    const { toolkit } = start();
    expect(await toolkit.execute(read)).toMatchObject({ details: "read" });
    expect(await toolkit.execute(write)).toMatchObject({ error: { code: "tool_not_found" } });
    const other = createTool({ name: "read", description: "", parameters: [], run: () => "another" });
    expect(await toolkit.execute(other)).toMatchObject({ error: { code: "tool_not_found" } });
  });

  test("does not let a tool of it call what it does not hold", async () => {
    const { haft } = start();
    haft.register(
      createTool({
        name: "proxy",
        description: "",
        parameters: [],
        run: (_i: unknown, c: ToolContext) => c.call("write"),
      }),
    );
    const toolkit = haft.toolkit("narrow", ["proxy"]);
    expect(await toolkit.execute("proxy")).toMatchObject({ status: "failed", error: { code: "tool_not_found" } });
  });
});

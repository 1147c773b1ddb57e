import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toCategory, ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOrigin } from "../../core/tool.ts";
import { groupsOf, TOOL_GROUPS } from "./tool-groups.ts";
import { isToolAllowed, isToolAllowedByPolicy } from "./tool-policy.ts";

const toolOf = (name: string, category: string, origin: ToolOrigin) =>
  createTool({ name, description: "A tool.", kind: "readonly", category, origin, parameters: [], run: () => "done" });

/** The name and category of every built-in tool, also of those that need a browser or a server, from the sources. */
function readBuiltInTools(): { name: string; category: string }[] {
  const src = join(import.meta.dirname, "..", "..");
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => /^(tools|code)[/\\].*\.ts$/.test(file) && !/\.(test|suite|fixture)\.ts$/.test(file))
    .flatMap((file) => {
      const whole = readFileSync(join(src, file), "utf8");
      const tools = whole.split("createTool({").slice(1);
      return tools.map((source) => {
        const [, constant = "", text = new RegExp(`const ${constant} = "(\\w+)"`).exec(whole)?.[1]] =
          /^    name: (?:(\w+)|"(\w+)"),$/m.exec(source) ?? [];
        const category = /^    category: (?:ToolCategory\.|")(\w+)"?,$/m.exec(source)?.[1];
        if (!text || !category) throw new Error(`${file}: a tool whose name or category this test cannot read`);
        return { name: text, category: toCategory(category) };
      });
    });
}

const BUILT_IN = readBuiltInTools();

describe("groups", () => {
  test("contain each built-in tool by its category, in agreement with the names", () => {
    expect(BUILT_IN.length).toBeGreaterThan(40);
    for (const { name, category } of BUILT_IN) {
      const [group, ...others] = groupsOf(toolOf(name, category, { type: "builtin" }));
      expect(Object.keys(TOOL_GROUPS), name).toContain(group);
      expect(others, name).toEqual(category === ToolCategory.MCP ? ["group:mcp"] : []);
      const byName = Object.keys(TOOL_GROUPS).filter((each) => TOOL_GROUPS[each]!.includes(name));
      expect([group, undefined], name).toContain(byName[0]);
    }
  });

  test("list no name that is not a tool", () => {
    const names = BUILT_IN.map(({ name }) => name);
    expect(
      Object.values(TOOL_GROUPS)
        .flat()
        .filter((name) => !names.includes(name)),
    ).toEqual([]);
  });

  test("contain a new built-in tool without an entry, and no tool of another origin because of its category", () => {
    const policies = [{ deny: ["group:fs"] }, { allow: ["group:fs"] }, { profile: "coding" }];
    const decide = (origin: ToolOrigin) =>
      policies.map((policy) => isToolAllowed(toolOf("count_lines", "file", origin), policy));
    expect(decide({ type: "builtin" })).toEqual([false, true, true]);
    expect(decide({ type: "own" })).toEqual([true, false, false]);
    expect(decide({ type: "mcp", server: "files" })).toEqual([true, false, false]);
    expect(decide({ type: "plugin", plugin: "files" })).toEqual([true, false, false]);
  });

  test("deny a tool of any origin that has the name of a member", () => {
    for (const origin of [{ type: "own" }, { type: "mcp", server: "files" }] satisfies ToolOrigin[]) {
      expect(isToolAllowed(toolOf("read", "custom", origin), { deny: ["group:fs"] })).toBe(false);
    }
  });
});

test("the built-in profiles contain exactly the tools of their table", () => {
  const inProfile = (profile: string) =>
    Object.values(TOOL_GROUPS)
      .flat()
      .filter((name) => isToolAllowedByPolicy(name, { profile }));
  expect(inProfile("minimal")).toEqual(["session_status"]);
  expect(inProfile("messaging").sort()).toEqual(["message", "session_status", "sessions_history", "sessions_list"]);
  const coding = ["group:fs", "group:runtime", "group:sessions", "group:data"].flatMap((group) => TOOL_GROUPS[group]!);
  expect(inProfile("coding").sort()).toEqual([...coding].sort());
  expect(inProfile("full")).toEqual(Object.values(TOOL_GROUPS).flat());
});

import { describe, expect, test } from "vitest";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOrigin } from "../../core/tool.ts";
import { BUILT_IN_TOOLS } from "../../tools/built-in-tools.ts";
import { groupsOf, TOOL_GROUPS } from "./tool-groups.ts";
import { isToolAllowed, isToolAllowedByPolicy } from "./tool-policy.ts";

const toolOf = (name: string, category: string, origin: ToolOrigin) =>
  createTool({ name, description: "A tool.", kind: "readonly", category, origin, parameters: [], run: () => "done" });

describe("groups", () => {
  test("contain each built-in tool by its category and by its name", () => {
    for (const { name, category } of BUILT_IN_TOOLS) {
      const [group, ...others] = groupsOf(toolOf(name, category, { type: "builtin" }));
      expect(others, name).toEqual(category === ToolCategory.MCP ? ["group:mcp"] : []);
      const byName = Object.keys(TOOL_GROUPS).filter((each) => TOOL_GROUPS[each]!.includes(name));
      expect(byName, name).toEqual([group]);
    }
    expect(Object.values(TOOL_GROUPS).flat()).toHaveLength(BUILT_IN_TOOLS.length);
    expect(TOOL_GROUPS["group:web"]).toEqual(["http_get", "http_post", "http_request", "web_fetch", "web_search"]);
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

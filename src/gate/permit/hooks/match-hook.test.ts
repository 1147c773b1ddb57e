import { expect, test } from "vitest";
import { createTool } from "../../../core/create-tool.ts";
import { createMatcher, readHookSettings } from "./hook-settings.ts";

const tool = (name: string, claude?: string, builtin = true) =>
  createTool({
    name,
    description: "",
    parameters: [],
    run: () => 1,
    ...(claude ? { dialects: { claude: { name: claude } } } : {}),
    ...(builtin ? { origin: { type: "builtin" as const } } : {}),
  });
const means = (matcher: string, one: ReturnType<typeof tool>) =>
  createMatcher({ matcher, name: "h", origin: "f" })(one);

test.each([
  ["", "exec", "Bash", true],
  ["*", "exec", "Bash", true],
  ["Bash", "exec", "Bash", true],
  ["exec", "exec", "Bash", true],
  ["Bas", "exec", "Bash", false],
  ["bash", "exec", "Bash", false],
  ["Edit|Write", "write", "Write", true],
  ["Edit, Write", "write", "Write", true],
  ["Edit|Write", "exec", "Bash", false],
  ["Notebook.*", "exec", "Bash", false],
  ["^B.sh$", "exec", "Bash", true],
  ["mcp__memory__.*", "mcp__memory__put", undefined, true],
  ["mcp__.*__put", "mcp__memory__put", undefined, true],
  ["mcp__memory", "mcp__memory__put", undefined, false],
  [".*", "exec", "Bash", true],
])("the matcher %j and the tool %s (%s): %s", (matcher, name, claude, expected) => {
  expect(means(matcher, tool(name, claude))).toBe(expected);
});

test("a hook that guards files also matches a patch", () => {
  expect(means("Edit|Write", tool("apply_patch"))).toBe(true);
  expect(means("Write", tool("apply_patch", undefined, false))).toBe(false);
  expect(means("MultiEdit", tool("edit", "Edit"))).toBe(true);
});

test("refuses a matcher that is not a valid expression, with its place", () => {
  expect(() => means("(", tool("exec"))).toThrow('hook "h" of f');
});

test("refuses invalid settings with their place, and reports settings without effect", () => {
  const read = (settings: object) => readHookSettings([{ settings, origin: "f.json" }]);
  expect(() => read({ PreToolUse: {} })).toThrow("hooks.PreToolUse of f.json must be a list");
  expect(() => read({ PreToolUse: [{ hooks: ["x"] }] })).toThrow(/list of objects/);
  expect(() => read({ PreToolUse: [{ hooks: [{ type: "command" }] }] })).toThrow(/no command/);
  expect(() => read({ PreToolUse: [{ hooks: [{ type: "command", command: "x", onFailure: "deny" }] }] })).toThrow(
    /onFailure/,
  );
  expect(() => read({ PreToolUse: [{ hooks: [{ type: "command", command: "x", timeout: "1m" }] }] })).toThrow(
    /seconds/,
  );
  const { hooks, warnings } = read({
    Stop: [{ hooks: [] }],
    PreToolUse: [{ hooks: [{ type: "command", command: "x", if: "Bash(git *)", async: true }] }],
  });
  expect(hooks).toMatchObject([{ name: "PreToolUse: x", timeoutMs: 60_000 }]);
  expect(warnings).toEqual([
    expect.stringContaining("Hooks of Stop in f.json are not run"),
    expect.stringContaining('has "if"'),
    expect.stringContaining('has "async"'),
  ]);
});

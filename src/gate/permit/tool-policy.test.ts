import { describe, expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOrigin } from "../../core/tool.ts";
import { expandToolGroups, normalizeToolName, TOOL_GROUPS } from "./tool-groups.ts";
import { isToolAllowed, isToolAllowedByPolicy, type ToolPolicy } from "./tool-policy.ts";
import { isVisible } from "./visible-tools.ts";

const tool = (name: string, more: object = {}) =>
  createTool({ name, description: "", parameters: [], run: () => 1, ...more });
const from = (origin: ToolOrigin) => ({ origin });

describe("isToolAllowedByPolicy", () => {
  test.each([
    ["allows everything by default", "read", {}, true],
    ["allows everything with an empty allow list", "read", { allow: [] }, true],
    ["allows a listed tool", "read", { allow: ["read"] }, true],
    ["and nothing else", "write", { allow: ["read"] }, false],
    ["denies a listed tool", "read", { deny: ["read"] }, false],
    ["lets deny win over allow", "read", { allow: ["read"], deny: ["read"] }, false],
    ["expands groups to allow", "edit", { allow: ["group:fs"] }, true],
    ["expands groups to deny", "edit", { deny: ["group:fs"] }, false],
    ["lets a denied group win over an allowed name", "edit", { allow: ["edit"], deny: ["group:fs"] }, false],
    ["accepts * for everything", "anything", { allow: ["*"] }, true],
    ["denies everything by *", "anything", { allow: ["*"], deny: ["*"] }, false],
    ["accepts * inside a name", "mcp__github__list", { allow: ["mcp__*"] }, true],
    ["and matches it to the end", "mcp__github__list", { deny: ["mcp__*__get"] }, true],
    ["knows other systems' names of a tool", "Bash", { allow: ["exec"] }, true],
    ["knows them in the lists", "exec", { deny: ["bash"] }, false],
    ["knows them through groups", "read_file", { deny: ["group:fs"] }, false],
    ["folds case and dashes", "Web-Search", { allow: ["web_search"] }, true],
    ["folds case and blanks of groups", "read", { deny: [" Group:FS "] }, false],
    ["has profiles", "session_status", { profile: "minimal" }, true],
    ["that hold", "read", { profile: "minimal" }, false],
    ["with additions", "read", { profile: "minimal", alsoAllow: ["read"] }, true],
    ["and narrowed by an allow list", "write", { profile: "coding", allow: ["read"] }, false],
    ["which cannot widen it", "message", { profile: "coding", allow: ["message"] }, false],
    ["has a profile of everything", "anything", { profile: "full" }, true],
    ["still denies in it", "exec", { profile: "full", deny: ["group:runtime"] }, false],
  ] as [string, string, ToolPolicy, boolean][])("%s", (_what, name, policy, allowed) => {
    expect(isToolAllowedByPolicy(name, policy)).toBe(allowed);
  });

  test("lists the profiles if the requested one does not exist", () => {
    expect(() => isToolAllowedByPolicy("read", { profile: "evil" as never })).toThrow(
      /minimal, coding, messaging, full/,
    );
    expect(() => isToolAllowedByPolicy("read", { profile: "constructor" as never })).toThrow(/no profile/);
  });

  test.each([
    ["a*c", "abc", true],
    ["a*c", "ac", true],
    ["a*c", "acb", false],
    ["a*a", "a", false],
    ["*b*", "abc", true],
    ["a*b*c", "acb", false],
    ["a*b*c", "aXbXc", true],
    ["a**c", "abc", true],
    ["*", "", true],
  ])("matches the pattern %s against %s: %s", (pattern, name, matches) => {
    expect(isToolAllowedByPolicy(name, { deny: [pattern] })).toBe(!matches);
  });

  test("is fast with a hostile pattern", () => {
    expect(isToolAllowedByPolicy("a".repeat(10_000), { deny: [`${"a*".repeat(5000)}b`] })).toBe(true);
  });
});

describe("isToolAllowed", () => {
  test("denies a tool by any of its names, also by the aliases of its dialects and its version", () => {
    const read = tool("read", { aliases: ["cat"], dialects: { claude: { name: "View" } }, version: "2.0.0" });
    for (const entry of ["read", "cat", "CAT", "view", "read@2.0.0", "vi*", "group:fs"]) {
      expect(isToolAllowed(read, { deny: [entry] })).toBe(false);
      expect(isToolAllowed(read, { allow: [entry] })).toBe(true);
      expect(isToolAllowed(read, { allow: [entry], deny: ["cat"] })).toBe(false);
    }
  });

  test("knows where a tool comes from", () => {
    const mcp = tool("m", from({ type: "mcp", server: "GitHub" }));
    const plugin = tool("p", from({ type: "plugin", plugin: "acme" }));
    expect(isToolAllowed(mcp, { deny: ["group:mcp"] })).toBe(false);
    expect(isToolAllowed(mcp, { deny: ["group:mcp:github"] })).toBe(false);
    expect(isToolAllowed(mcp, { deny: ["group:mcp:other", "group:plugins"] })).toBe(true);
    expect(isToolAllowed(plugin, { allow: ["group:plugin:acme"] })).toBe(true);
    expect(isToolAllowed(tool("own"), { allow: ["group:plugins", "group:mcp"] })).toBe(false);
  });

  test.each([
    { type: "mcp", server: "s" },
    { type: "plugin", plugin: "p" },
    { type: "client", client: "c" },
  ] as ToolOrigin[])(
    "does not let a tool from $type in on the name of a built-in one that it is only called like",
    (origin) => {
      const shell = tool("shell", from(origin));
      expect(isToolAllowed(shell, { allow: ["exec"] })).toBe(false);
      expect(isToolAllowed(shell, { allow: ["group:runtime"] })).toBe(false);
      expect(isToolAllowed(shell, { profile: "coding" })).toBe(false);
      expect(isToolAllowed(shell, { allow: ["shell"] })).toBe(true);
      expect(isToolAllowed(shell, { allow: ["Shell"] })).toBe(true);
      expect(isToolAllowed(shell, { allow: ["*"] })).toBe(true);
      for (const entry of ["exec", "shell", "bash", "group:runtime"])
        expect(isToolAllowed(shell, { deny: [entry] })).toBe(false);
    },
  );
});

describe("layers", () => {
  test("only narrow, in any order", () => {
    const layers: ToolPolicy[] = [{ allow: ["read", "write"] }, { deny: ["write"] }, { allow: ["*"] }, {}];
    for (const some of [layers, layers.toReversed()]) {
      expect(["read", "write", "exec"].filter((name) => isVisible(tool(name), some))).toEqual(["read"]);
    }
    expect(isVisible(tool("exec"), [])).toBe(true);
  });
});

describe("groups", () => {
  test("expand to names, and keep other entries normalized, each once", () => {
    expect(expandToolGroups(["group:messaging", "Read_File", "read", "group:unknown"])).toEqual([
      "message",
      "read",
      "group:unknown",
    ]);
    expect(expandToolGroups(["group:fs"])).toEqual(TOOL_GROUPS["group:fs"]);
    expect(expandToolGroups(["constructor", "__proto__"])).toEqual(["constructor", "__proto__"]);
  });

  test("contain normalized names", () => {
    for (const names of Object.values(TOOL_GROUPS))
      for (const name of names) expect(normalizeToolName(name)).toBe(name);
  });
});

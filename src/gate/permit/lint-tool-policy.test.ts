import { expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOrigin } from "../../core/tool.ts";
import { createHaft } from "../../runtime.ts";
import { lintToolPolicy } from "./lint-tool-policy.ts";

const tool = (name: string, origin: ToolOrigin = { type: "own" }, aliases: string[] = []) =>
  createTool({ name, aliases, origin, description: "", parameters: [], run: () => 1 });

const tools = [
  tool("read", { type: "builtin" }, ["Read"]),
  tool("deploy"),
  tool("lint_code", { type: "plugin", plugin: "acme" }),
  tool("mcp__github__list", { type: "mcp", server: "GitHub" }),
];

test("a group that does not exist is told with the nearest one, on every list", () => {
  expect(lintToolPolicy({ deny: ["group:webb"] })).toEqual([
    '"group:webb" in "deny" of a policy is no group, so it concerns no tool. Did you mean "group:web"?',
  ]);
  expect(lintToolPolicy({ profile: "full", allow: ["group:x"], alsoAllow: ["group:y"] })).toHaveLength(2);
});

test("while the tools are not known, names, patterns and groups of plugins and servers are not judged", () => {
  const deny = ["group:fs", "GROUP:web", "group:plugins", "group:plugin:x", "group:mcp:files", "my_tool", "mcp__*"];
  expect(lintToolPolicy({ profile: "coding", deny })).toEqual([]);
});

test("once they are known, each of them is, with the nearest name", () => {
  const deny = [
    "deplyo",
    "group:plugin:acne",
    "group:mcp:github",
    "mcp__gitlab__*",
    "mcp__github__*",
    "browser",
    "bash",
  ];
  expect(lintToolPolicy({ deny }, { tools })).toEqual([
    '"deplyo" in "deny" of a policy is no tool that is there, so it concerns none. Did you mean "deploy"?',
    expect.stringMatching(/^"group:plugin:acne" .* is no group.* Did you mean "group:plugin:acme"/),
    '"mcp__gitlab__*" in "deny" of a policy matches no tool that is there.',
  ]);
});

test("every part of a policy is looked at, and the warning says which", () => {
  const deny = ["group:none"];
  const warnings = lintToolPolicy({
    profiles: { mine: ["group:none"] },
    byProvider: { openai: { deny } },
    agents: { coder: { deny } },
    sandbox: { deny },
    subagents: { deny, byDepth: { 2: { deny } } },
  });
  const parts = ['the profile "mine"', 'provider "openai"', 'agent "coder"', "the sandbox", "subagents is", "depth 2"];
  expect(warnings).toHaveLength(parts.length);
  for (const [i, part] of parts.entries()) expect(warnings[i]).toContain(part);
});

test("an allow list of plugins and servers alone is told, with what to do instead", () => {
  for (const allow of [["group:plugins"], ["group:plugin:acme", "mcp__github__list"], ["lint_code"]]) {
    expect(lintToolPolicy({ allow }, { tools })).toEqual([expect.stringContaining("no built-in tool is left")]);
  }
  for (const allow of [["group:plugins", "read"], ["*"], ["group:fs"], []]) {
    expect(lintToolPolicy({ allow }, { tools })).toEqual([]);
  }
});

test("what adds to no profile is told, and a profile that is none is refused", () => {
  expect(lintToolPolicy({ alsoAllow: ["read"] })).toEqual([expect.stringContaining("adds to a profile")]);
  expect(lintToolPolicy({ profiles: { mine: ["read"] }, agents: { a: { profile: "mine" } } })).toEqual([]);
  expect(() => lintToolPolicy({ agents: { a: { profile: "codng" } } })).toThrow('Did you mean "coding"?');
});

test("an unknown key is told, and what is no list is refused", () => {
  expect(lintToolPolicy({ dny: ["exec"] } as never)).toEqual(['A policy has no "dny". Did you mean "deny"?']);
  expect(lintToolPolicy({ agents: { a: { sandbox: {} } } } as never)).toHaveLength(1);
  expect(() => lintToolPolicy({ deny: "exec" } as never)).toThrow('"deny" of a policy is a list');
  expect(() => lintToolPolicy({ deny: [1] } as never)).toThrow("is no text");
});

test("a runtime tells its host", () => {
  const warnings: string[] = [];
  createHaft({ policy: { deny: ["group:nosuch"] }, onWarning: (warning) => warnings.push(warning) });
  expect(warnings).toHaveLength(1);
});

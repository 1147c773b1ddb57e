import { expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOrigin } from "../../core/tool.ts";
import { createHaft } from "../../runtime.ts";
import { lintToolPolicy } from "./lint-tool-policy.ts";

const tool = (name: string, origin: ToolOrigin = { type: "own" }, aliases: string[] = []) =>
  createTool({ name, aliases, origin, description: "", parameters: [], needsApproval: false, run: () => 1 });

const tools = [
  tool("read", { type: "builtin" }, ["Read"]),
  tool("deploy"),
  tool("lint_code", { type: "plugin", plugin: "acme" }),
  tool("mcp__github__list", { type: "mcp", server: "GitHub" }),
];

test("reports a group that does not exist with the nearest one, in every list", () => {
  expect(lintToolPolicy({ deny: ["group:webb"] })).toEqual([
    '"group:webb" in "deny" of a policy is not a group, so it matches no tool. Did you mean "group:web"?',
  ]);
  expect(lintToolPolicy({ profile: "full", allow: ["group:x"], alsoAllow: ["group:y"] })).toHaveLength(2);
});

test("does not check names, patterns and groups of plugins and servers before the tools are known", () => {
  const deny = ["group:fs", "GROUP:web", "group:plugins", "group:plugin:x", "group:mcp:files", "my_tool", "mcp__*"];
  expect(lintToolPolicy({ profile: "coding", deny })).toEqual([]);
});

test("checks each of them once the tools are known, with the nearest name", () => {
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
    '"deplyo" in "deny" of a policy is not a registered tool, so it has no effect. Did you mean "deploy"?',
    expect.stringMatching(/^"group:plugin:acne" .* is not a group.* Did you mean "group:plugin:acme"/),
    '"mcp__gitlab__*" in "deny" of a policy matches no registered tool.',
  ]);
});

test("checks every part of a policy, and the warning names it", () => {
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

test("reports an allow list with only plugins and servers, with what to do instead", () => {
  for (const allow of [["group:plugins"], ["group:plugin:acme", "mcp__github__list"], ["lint_code"]]) {
    expect(lintToolPolicy({ allow }, { tools })).toEqual([expect.stringContaining("no built-in tool is left")]);
  }
  for (const allow of [["group:plugins", "read"], ["*"], ["group:fs"], []]) {
    expect(lintToolPolicy({ allow }, { tools })).toEqual([]);
  }
});

test("reports alsoAllow without a profile, and refuses an unknown profile", () => {
  expect(lintToolPolicy({ alsoAllow: ["read"] })).toEqual([expect.stringContaining("adds to a profile")]);
  expect(lintToolPolicy({ profiles: { mine: ["read"] }, agents: { a: { profile: "mine" } } })).toEqual([]);
  expect(() => lintToolPolicy({ agents: { a: { profile: "codng" } } })).toThrow('Did you mean "coding"?');
});

test("reports an unknown key, and refuses a value that is not a list", () => {
  expect(lintToolPolicy({ dny: ["exec"] } as never)).toEqual(['A policy has no "dny". Did you mean "deny"?']);
  expect(lintToolPolicy({ agents: { a: { sandbox: {} } } } as never)).toHaveLength(1);
  expect(() => lintToolPolicy({ deny: "exec" } as never)).toThrow('"deny" of a policy must be a list');
  expect(() => lintToolPolicy({ deny: [1] } as never)).toThrow("is not a string");
});

test("a runtime reports the warnings to its host", () => {
  const warnings: string[] = [];
  createHaft({ policy: { deny: ["group:nosuch"] }, onWarning: (warning) => warnings.push(warning) });
  expect(warnings).toHaveLength(1);
  const tools = [{ name: "pay", description: "Pays", inputSchema: {}, run: () => "" }];
  const provenance = { tools: { pya: {} } };
  const rules = { deny: ["pyy"], limits: [{ tools: ["payy"], calls: 1 }] };
  createHaft({ tools, rules, provenance, onWarning: (warning) => warnings.push(warning) });
  expect(warnings.slice(1).map((warning) => warning.split(" ", 3).join(" "))).toEqual([
    "pyy in permissions.deny",
    "payy in permissions.limits",
    "pya in provenance.tools:",
  ]);
  expect(() => createHaft({ provenance: { tools: { pay: { label: [] } as object } } })).toThrow(
    'Did you mean "labels"',
  );
  expect(() => createHaft({ provenance: { mode: "strikt" as never } })).toThrow('Did you mean "strict"');
});

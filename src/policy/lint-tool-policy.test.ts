import { expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { lintToolPolicy } from "./lint-tool-policy.ts";

test("a group that does not exist is told with the nearest one, on every list", () => {
  expect(lintToolPolicy({ deny: ["group:webb"] })).toEqual([
    '"group:webb" in "deny" of a policy is no group, so it concerns no tool. Did you mean "group:web"?',
  ]);
  expect(lintToolPolicy({ allow: ["group:x"], alsoAllow: ["group:y"] })).toHaveLength(2);
});

test("groups that come with plugins and servers, names and patterns are not judged", () => {
  const deny = ["group:fs", "GROUP:web", "group:plugins", "group:plugin:x", "group:mcp:files", "my_tool", "mcp__*"];
  expect(lintToolPolicy({ profile: "coding", deny })).toEqual([]);
});

test("an unknown key is told, and what is no list is refused", () => {
  expect(lintToolPolicy({ dny: ["exec"] } as never)).toEqual(['A policy has no "dny". Did you mean "deny"?']);
  expect(() => lintToolPolicy({ deny: "exec" } as never)).toThrow('"deny" of a policy is a list');
});

test("a runtime tells its host", () => {
  const warnings: string[] = [];
  createHaft({ policy: { deny: ["group:nosuch"] }, onWarning: (warning) => warnings.push(warning) });
  expect(warnings).toHaveLength(1);
});

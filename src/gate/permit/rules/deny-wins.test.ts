import { tmpdir } from "node:os";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { CallMode } from "../../../core/call.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { openWorkspace } from "../../../workspace.ts";
import { RuleSet } from "./rule-set.ts";
import type { RuleSource } from "./rule.ts";

const workspace = openWorkspace(tmpdir());
afterAll(() => workspace.close());
const toolNamed = (name: string): AnyTool => workspace.tools.find((tool) => tool.name === name)!;

const MODES: readonly CallMode[] = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];

/** Calls, each with rules that deny it. */
const FORBIDDEN = [
  {
    tool: "exec",
    input: { command: "rm -rf x" },
    rules: ["Bash", "exec", "Bash(rm *)", "kind:execute", "group:runtime", "*"],
  },
  {
    tool: "exec",
    input: { command: "npm t && sudo curl x" },
    rules: ["Bash(curl:*)", "shell(curl *)", "Bash(sudo *)"],
  },
  { tool: "exec", input: { command: "cat .env" }, rules: ["Read(.env)", "Read(./.env)", "Bash(cat *)"] },
  {
    tool: "write",
    input: { path: "a/b.txt", content: "" },
    rules: ["Edit", "Write", "Edit(a/**)", "Edit(*.txt)", "kind:write"],
  },
  { tool: "read", input: { path: "a/b.txt" }, rules: ["Read", "read_file", "Read(a/)", "Read(**/b.txt)", "group:fs"] },
];
const LOOSE = [
  "Bash",
  "Bash(*)",
  "Bash(rm *)",
  "Bash(cat *)",
  "Bash(npm *)",
  "Bash(sudo *)",
  "Bash(curl *)",
  "Edit",
  "Edit(**)",
  "Write",
  "Read",
  "Read(**)",
  "kind:write",
  "kind:execute",
  "kind:readonly",
  "group:fs",
  "group:runtime",
];

test("what a rule denies stays denied in every mode, with any allow rule, in every order of sources", () => {
  fc.assert(
    fc.property(
      fc
        .constantFrom(...FORBIDDEN)
        .chain(({ rules, ...call }) => fc.record({ call: fc.constant(call), deny: fc.constantFrom(...rules) })),
      fc.array(
        fc.record({ allow: fc.subarray(LOOSE), ask: fc.subarray(LOOSE), defaultMode: fc.constantFrom(...MODES) }),
        {
          maxLength: 4,
        },
      ),
      fc.nat(4),
      fc.constantFrom(undefined, ...MODES),
      ({ call, deny }, others, place, mode) => {
        const sources: RuleSource[] = others.map((lists, at) => ({ origin: `source ${at}`, ...lists }));
        sources.splice(Math.min(place, sources.length), 0, { origin: "forbids", deny: [deny] });
        const tool = toolNamed(call.tool);
        const input = tool.build(call.input as never).params;
        const verdict = new RuleSet(sources).judge({ tool, input, mode, cwd: workspace.folder, home: "/home/x" });
        expect(verdict).toMatchObject({ decision: "deny", by: "rule", rule: deny, origin: "forbids" });
      },
    ),
    { numRuns: 500 },
  );
});

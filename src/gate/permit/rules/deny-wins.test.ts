import { tmpdir } from "node:os";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
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

describe("a program that may start a denied one", () => {
  const decide = (command: string, rules: Partial<RuleSource>) => {
    const call = { tool: toolNamed("exec"), input: { command }, cwd: tmpdir(), mode: "bypassPermissions" } as const;
    return new RuleSet([{ origin: "user", ...rules }]).judge(call).decision;
  };
  const exec = (command: string, allow: string[] = []) => decide(command, { deny: ["Bash(touch *)"], allow });

  test.each([
    "ssh -o ProxyCommand='touch x' h",
    "split --filter='touch x' a",
    "sqlite3 a '.shell touch x'",
    "socat - EXEC:'touch x'",
    "git grep -Otouch x",
    "git clone -u 'touch x' a b",
    "git status -c alias.x=!touch",
    "sed --expression=1e a",
    "sed '1e touch x' a",
    'gawk \'BEGIN { f = "system"; @f("touch x") }\'',
    "awk -f a",
    "sort --compress-program=./x a",
    "find . -exec ./x {} +",
    "test -v 'a[$(touch x)]'",
    "[[ $a -eq 1 ]]",
    "[[ -v a ]]",
    "printf -v 'a[$(touch x)]' b",
    "let a=b",
    "read 'a[$(touch x)]'",
    "declare -i a=b",
    "unset 'a[$(touch x)]'",
    "echo $((a))",
    "echo ${a[b]}",
    "((a))",
    "mapfile -C x a",
    "npm test",
    "make",
    "python3 a.py",
    "./script.sh",
    "tar -xf a --to-command=x",
    "rsync -e x a b",
    "vim a",
    "mytool",
  ])("needs approval, also in the mode bypassPermissions: %s", (command) => {
    expect(exec(command)).toBe("ask");
    expect(decide(command, {})).toBe("allow");
  });

  test.each([
    "ls -la",
    "cat *",
    "cp a b && rm -rf c",
    "mkdir -p a/b",
    "grep -r x . | sort | head",
    "git status",
    "git log --oneline | wc -l",
    "npm ls",
    "node --version",
    'for f in *; do cat "$f"; done',
    "if [ -f a ]; then echo yes; fi",
    "export A=b; echo $A",
    "sed -i s/a/b/ x",
    "find . -name '*.tmp' -delete",
    "timeout 5 cat a",
  ])("needs no approval if every program is known to start none: %s", (command) => {
    expect(exec(command)).toBe("allow");
  });

  test("a rule that allows the program is an approval", () => {
    expect(exec("npm test", ["Bash(npm test)"])).toBe("allow");
    expect(exec("npm test && make", ["Bash(npm test)"])).toBe("ask");
    expect(exec("ssh -o ProxyCommand=x h", ["Bash(ssh *)"])).toBe("ask");
  });
});

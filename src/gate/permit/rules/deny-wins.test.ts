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
    "jobs -x touch x",
    "wait -n -p 'a[$(touch x)]'",
    "wait -p'a[$(touch x)]' 1",
    "./ls",
    "bin/ls x",
    "/home/me/bin/ls",
    "/usr/bin/../../tmp/ls",
    "./env ls",
    "./timeout 5 ls",
    "LS x",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch x",
    "typeset -i a=b",
    "declare 'a=([$(touch x)]=1)'",
    "readarray -C 'touch x' a",
    "compgen -C x",
    "compgen -W '$(touch x)'",
    "complete -C x y",
    "enable -f ./x.so x",
    "hash -p ./x ls",
    "getopts a 'b[$(touch x)]'",
    "getconf -v x y",
    "source a",
    ". ./a",
    "DYLD_INSERT_LIBRARIES=x ls",
    "HOME=. git status",
    "HOME=.; git status",
    "XDG_CONFIG_HOME=. git status",
    "env HOME=. bash -lc ls",
    "env PATH=bin ls",
    "export HOME=.; bash -lc ls",
    "read PATH; ls",
    "for PATH in bin; do ls; done",
    "echo ${BASH_ENV:=x}; bash -c ls",
    "bash --rcfile x -ic ls",
    "bash -i --init-file x -c ls",
    "a=bc; echo ${a:b}",
    "a=bc; echo ${a:0:$b}",
  ])("needs approval, also in the mode bypassPermissions: %s", (command) => {
    expect(exec(command)).toBe("ask");
    expect(decide(command, { ask: ["Bash(touch *)"] })).toBe("ask");
    expect(exec(command, [`Bash(${command.replace(/[\\()*]/g, "\\$&")})`])).toBe("allow");
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
    "sleep 1 & wait $!",
    "jobs -l",
    "/usr/bin/ls -la",
    "test -f a && echo yes",
    "printf '%s' a",
    "mapfile -t lines",
    "bash -lc 'ls | wc -l'",
    "path=a; cat $path",
    "for path in a b; do cat $path; done",
    "a=bcd; echo ${a:1:2} ${a: -1}",
    "CI=1 ls",
  ])("needs no approval if every program is known to start none: %s", (command) => {
    expect(exec(command)).toBe("allow");
  });

  test("a rule that allows the program is an approval", () => {
    expect(exec("npm test", ["Bash(npm test)"])).toBe("allow");
    expect(exec("npm test && make", ["Bash(npm test)"])).toBe("ask");
    expect(exec("ssh -o ProxyCommand=x h", ["Bash(ssh *)"])).toBe("ask");
  });

  test("a rule with a star is an approval only if it names what is started", () => {
    expect(exec("npm run build", ["Bash(npm run *)"])).toBe("ask");
    expect(exec("npm run build", ["Bash(npm *)"])).toBe("ask");
    expect(exec("npm run build -- -v", ["Bash(npm run build *)"])).toBe("allow");
    expect(exec("bash a.sh", ["Bash(bash *)"])).toBe("ask");
    expect(exec("bash a.sh x", ["Bash(bash a.sh *)"])).toBe("allow");
    expect(exec("node a.js", ["Bash(node *)"])).toBe("ask");
    expect(exec("./a.sh x", ["Bash(./a.sh *)"])).toBe("allow");
    expect(exec("pytest tests", ["Bash(pytest *)"])).toBe("allow");
    expect(exec("ls -la", ["Bash(ls *)"])).toBe("allow");
    // A person who denies one command of npm and allows the others has decided about npm.
    expect(decide("npm test", { deny: ["Bash(npm publish *)"], allow: ["Bash(npm *)"] })).toBe("allow");
  });

  test("says why, and names the program and the rule", () => {
    const call = { tool: toolNamed("exec"), cwd: tmpdir(), mode: "bypassPermissions" } as const;
    const reason = (rules: Partial<RuleSource>) =>
      new RuleSet([{ origin: "user", ...rules }]).judge({ ...call, input: { command: "./ls" } }).reason;
    expect(reason({ deny: ["Bash(touch *)"] })).toBe(
      "./ls may start other programs, and the rule Bash(touch *) (user) denies some. A rule that names this exact command allows it.",
    );
    expect(reason({ ask: ["Bash(git push *)"] })).toMatch("the rule Bash(git push *) (user) asks about some");
  });

  test("a command that is too long to analyse is never allowed, whatever its words hide", () => {
    const many = "a ".repeat(1100);
    const rules = {
      deny: ["Bash(rm *)", "Read(secret.txt)"],
      allow: ["Bash(echo *)", "Bash(cat *)", "Bash(nice *)", "Bash(env *)", "Bash(bash *)", "Bash(ls *)"],
    };
    const denied = [`echo ${many}; rm a`, `echo $(rm a) ${many}`, `bash -c 'rm a' ${many}`, `cat secret.txt ${many}`];
    const asked = [
      `${"nice ".repeat(1100)}rm a`,
      `env ${"A=1 ".repeat(1100)}rm a`,
      `echo ${many}; r''m a`,
      `cat ${many}secret.txt`,
      `cat < secret.txt ${many}`,
      `ls ${many}> out.txt`,
    ];
    expect(denied.map((command) => decide(command, rules))).toEqual(denied.map(() => "deny"));
    expect(asked.map((command) => decide(command, rules))).toEqual(asked.map(() => "ask"));
  });

  test("a rule of one word denies the program with any words", () => {
    const denied = (command: string) => decide(command, { deny: ["Bash(touch)"] });
    expect(["touch", "touch x", "/usr/bin/touch x", "sudo touch x"].map(denied)).toEqual(Array(4).fill("deny"));
    expect(denied("touchy x")).not.toBe("deny");
    expect(
      new RuleSet([
        { origin: "user", deny: ["Bash(touch)", "Bash(git push *)", "Bash(rm:*)", "Bash(a* *)"] },
      ]).deniedPrograms(),
    ).toEqual(["touch", "rm"]);
  });
});

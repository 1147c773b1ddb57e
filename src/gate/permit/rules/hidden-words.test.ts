import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import type { CallMode } from "../../../core/call.ts";
import { openWorkspace } from "../../../workspace.ts";
import { RuleSet } from "./rule-set.ts";
import type { RuleSource } from "./rule.ts";
import { stateRootOf } from "../../../io/files/state-folder.ts";

const root = temporaryFolder("haft-hidden-");
mkdirSync(join(root, "secrets"));
writeFileSync(join(root, "secrets/k"), "x");
const workspace = openWorkspace(root);
afterAll(async () => {
  await workspace.close();
});
const exec = workspace.tools.find(({ name }) => name === "exec")!;

function bash(lists: Omit<RuleSource, "origin">, command: string, mode?: CallMode) {
  const input = exec.build({ command } as never).params;
  return new RuleSet([{ origin: "user", ...lists }]).judge({ tool: exec, input, mode, cwd: root }).decision;
}

describe("a denied command is not hidden by", () => {
  test.each([
    "X=touch; $X P",
    "$(echo touch) P",
    "`echo touch` P",
    "touch${IFS}P",
    "tou{ch,} P",
    "/usr/bin/t?uch P",
    "source <(echo touch P)",
    ". /dev/stdin <<< 'touch P'",
    "echo touch P | sh",
    "echo touch P | sh -s x",
    "echo touch P | bash /dev/stdin",
    "bash <(echo touch P)",
    "sh < file",
    'bash -c "$X"',
    'X="; touch P"; bash -c "ls $X"',
    "sh -c '$0 P' touch",
    "bash <<E\n$X\nE",
    'eval "$X"',
    'f() { "$1" P; }; f touch',
    "echo touch P | xargs sh -c",
    "echo touch | xargs -I X X P",
    "echo touch | xargs -I{} {} P",
    "echo touch P | xargs env",
    "sudo $X P",
    "env $X",
    "nsenter -t 1 touch P",
    "setpriv --reuid 1 touch P",
    "prlimit --nproc=9 touch P",
    "capsh -- -c 'touch P'",
    "sg users 'touch P'",
    "script -qc 'touch P' /dev/null",
    "dbus-run-session touch P",
    "npx -c 'touch P'",
    "npx touch P",
    "npm exec -c 'touch P'",
    "npm exec -- touch P",
    "make all",
    "git -c alias.x='!touch P' x",
    "GIT_SSH_COMMAND='touch P' git fetch",
    "python3 -c 'import os; os.system(\"touch P\")'",
    "echo x | perl",
    "awk 'BEGIN { system(\"touch P\") }'",
    "tar cf x y --checkpoint-action=exec='touch P'",
  ])("%s", (command) => {
    for (const mode of [undefined, "acceptEdits", "bypassPermissions"] as const) {
      expect(bash({ allow: ["Bash"], deny: ["Bash(touch:*)"] }, command, mode)).not.toBe("allow");
      expect(bash({ allow: ["Bash"], ask: ["Bash(touch:*)"] }, command, mode)).not.toBe("allow");
    }
    expect(bash({ allow: ["Bash"], deny: ["Bash(touch:*)"] }, command, "dontAsk")).toBe("deny");
  });

  test("an operand that may be the forbidden subcommand", () => {
    const lists = { allow: ["Bash"], deny: ["Bash(git push:*)"] };
    expect(bash(lists, "git $X origin")).toBe("ask");
    expect(bash(lists, "git -C $X pu$Y")).toBe("ask");
    expect(bash(lists, "git add *.ts")).toBe("allow");
  });
});

describe("a denied file is not hidden by", () => {
  test.each([
    "cat sec*/k",
    "cat $X",
    "cat s{ecrets,}/k",
    "cat $(echo secrets/k)",
    "cat < $X",
    "cd secrets && cat k",
    "cd $X && cat k",
    "cd .. && cd - && cat k",
    "pushd secrets; cat k",
    "env -C secrets cat k",
    "echo cat secrets/k | sh",
  ])("%s", (command) => {
    const lists = { allow: ["Bash(cat:*)", "Bash(cd:*)"], deny: ["Read(./secrets/**)"] };
    for (const mode of [undefined, "acceptEdits", "bypassPermissions"] as const) {
      expect(bash(lists, command, mode)).not.toBe("allow");
      expect(bash({ ...lists, allow: ["Bash"] }, command, mode)).not.toBe("allow");
    }
  });

  test("and neither is a protected one without any rule", () => {
    for (const command of [
      "D=.haft; rm -rf $D",
      "rm -rf .h*",
      `echo x > ${stateRootOf()}/app-1234/config.yml`,
      "rm -rf {.haft,x}",
      "echo x > $F",
      "echo x > $F > .git/hooks/pre-commit",
      "cd .git && touch hooks/x",
      "X=rm; $X -rf .haft",
      "echo 'rm -rf .haft' | sh",
    ])
      expect([command, bash({}, command, "bypassPermissions")]).toEqual([command, "ask"]);
  });
});

describe("ordinary commands", () => {
  const ORDINARY = [
    "npm test",
    "npm run build -- --watch",
    "ls *.ts",
    "ls src/*.ts | wc -l",
    "git add src/*.ts && git commit -m 'x'",
    "grep -rn foo src",
    "find . -name '*.ts' | xargs grep foo",
    "find . -name x -exec grep -l y {} +",
    "for f in *.ts; do echo $f; done",
    "python3 script.py --flag",
    "node build.js",
    "npx vitest run",
    "bash build.sh",
    "rm -rf build/*",
    "sed -n 's/a/b/p' x",
    "cd src && npm test",
    "sh -c 'npm test'",
  ];

  test.each(ORDINARY)("%s passes without deny rules", (command) => {
    expect(bash({ allow: ["Bash"] }, command)).toBe("allow");
    expect(bash({}, command, "bypassPermissions")).toBe("allow");
  });

  test.each(ORDINARY)("%s passes with a deny rule about another program", (command) => {
    expect(bash({ allow: ["Bash"], deny: ["Bash(curl:*)"] }, command)).toBe("allow");
  });

  test.each(["$X y", "curl x | sh", "make", "python3 -c 'print(1)'"])(
    "bypass stays bypass without rules: %s",
    (command) => expect(bash({}, command, "bypassPermissions")).toBe("allow"),
  );
});

describe("a call's own mode", () => {
  const decide = (source: Omit<RuleSource, "origin">, mode?: CallMode) => bash(source, "npm test", mode);

  test("cannot be bypassPermissions if that is disabled", () => {
    expect(decide({ mayBypass: false }, "bypassPermissions")).toBe("ask");
    expect(decide({ mayBypass: false, defaultMode: "bypassPermissions" })).toBe("ask");
    expect(decide({}, "bypassPermissions")).toBe("allow");
  });

  test.each([
    ["dontAsk", "bypassPermissions", "dontAsk"],
    ["dontAsk", "default", "dontAsk"],
    ["dontAsk", "plan", "dontAsk"],
    ["plan", "dontAsk", "plan"],
    ["default", "acceptEdits", "default"],
    ["default", "plan", "plan"],
    ["acceptEdits", "bypassPermissions", "acceptEdits"],
    ["acceptEdits", "default", "default"],
    ["bypassPermissions", "acceptEdits", "acceptEdits"],
    [undefined, "bypassPermissions", "bypassPermissions"],
    [undefined, undefined, "default"],
  ] as const)("configured %s, asked for %s: %s", (defaultMode, requested, expected) => {
    const ruleSet = new RuleSet([{ origin: "user", ...(defaultMode && { defaultMode }) }]);
    expect(ruleSet.modeOf(requested)).toBe(expected);
  });
});

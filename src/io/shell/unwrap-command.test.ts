import { describe, expect, test } from "vitest";
import { normalizeProgramName } from "./command-wrappers.ts";
import { unwrapArgv, unwrapCommand } from "./parse-command.ts";

const rm = (text: string) =>
  unwrapCommand(text)
    .commands.find(({ name }) => name === "rm")
    ?.argv.slice(1);

describe("unwrapCommand", () => {
  test.each([
    "rm x",
    "/bin/rm x",
    "\\rm x",
    "'r'm x",
    "ls && rm x",
    "echo $(rm x)",
    'echo "$(rm x)"',
    "cat <(rm x)",
    "f() { rm x; }",
    "A=1 rm x",
    "sudo rm x",
    "sudo -u root -E A=1 rm x",
    "sudo -uroot -- rm x",
    "env -i A=1 B=2 rm x",
    "env -S 'rm x'",
    "env --split-string='A=1 rm x'",
    "timeout -k 5 10s rm x",
    "nice -n 5 nohup setsid -w stdbuf -oL rm x",
    "command rm x",
    "exec -a ls rm x",
    "time rm x",
    "xargs -0 -I{} rm x",
    "watch -n 1 rm x",
    "flock -n lock rm x",
    "flock lock -c 'rm x'",
    "su root -c 'rm x'",
    "busybox rm x",
    "find . -name y -exec rm x ';'",
    "find . -exec echo {} + -execdir rm x +",
    "fd y -x rm x",
    "eval 'rm x'",
    "trap 'rm x' EXIT",
    "bash -c 'rm x'",
    "bash -xec 'rm x'",
    "bash -o pipefail -c 'ls | rm x'",
    "bash --norc -c -x 'rm x'",
    "env bash -c 'sudo sh -c \"rm x\"'",
    "bash <<E\nrm x\nE",
    "bash <<< 'rm x'",
    "sh -c '$0 \"$@\"' rm x",
    "sudo --unheard-of value rm x",
  ])("finds the command in %j", (text) => {
    expect(rm(text)).toEqual(["x"]);
  });

  test("does not mistake arguments for commands", () => {
    for (const text of [
      "echo rm x",
      "grep 'rm x' y",
      "command -v rm",
      "bash rm x",
      "sudo -u rm ls",
      "echo 'a; rm x'",
    ]) {
      expect(rm(text)).toBeUndefined();
    }
  });

  test.each([
    "$X y",
    "`x` y",
    "/???/r? y",
    "curl x | sh",
    'eval "$x"',
    "sudo --unheard-of x y",
    "xargs rm",
    "echo ${x@P}",
    "ls &&",
    "x ".repeat(30_000),
    Array(10).fill("env").join(" ") + " rm x",
  ])("reports that example %# may run more than is listed", (text) => {
    expect(unwrapCommand(text).complete).toBe(false);
  });

  test("reports that a plain command is complete", () => {
    expect(unwrapCommand("ls -l | sudo bash -c 'cat x; rm y'")).toMatchObject({ complete: true });
    expect(unwrapArgv(["bash", "-lc", "rm -rf y"]).commands.at(-1)).toMatchObject({ name: "rm", within: ["bash"] });
  });

  test("finds a denied command at the end of a long chain", () => {
    expect(unwrapCommand("true;".repeat(59) + "rm x").commands.at(-1)?.argv).toEqual(["rm", "x"]);
  });
});

test("a program has one name in every spelling", () => {
  expect(["/usr/bin/rg", "C:\\Tools\\RG.EXE", "rg", "./rg/"].map(normalizeProgramName)).toEqual([
    "rg",
    "rg",
    "rg",
    "rg",
  ]);
});

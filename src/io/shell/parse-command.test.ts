import { describe, expect, test } from "vitest";
import { COMMAND_LIMITS, parseCommand } from "./parse-command.ts";

const words = (text: string) => parseCommand(text).commands.map((command) => command.words.map(({ value }) => value));
const constructs = (text: string) => [...parseCommand(text).constructs];

describe("parseCommand", () => {
  test("lists every simple command, including those inside substitutions, groups and functions", () => {
    expect(words("a $(b c) | d; f() { e; }; (g & h)")).toEqual([
      ["a", "$(b c)"],
      ["b", "c"],
      ["d"],
      ["e"],
      ["g"],
      ["h"],
    ]);
    expect(words("echo `x \\`y z\\``")).toEqual([
      ["echo", "`x \\`y z\\``"],
      ["x", "`y z`"],
      ["y", "z"],
    ]);
  });

  test("returns the source of each command", () => {
    expect(
      parseCommand("echo `x \\`y z\\``")
        .commands.map(({ source }) => source)
        .slice(1),
    ).toEqual(["x `y z`", "y z"]);
  });

  test.each([
    ["A=1 ls", "assignment"],
    ["ls &", "background"],
    ["echo {a,b}", "brace expansion"],
    ["(ls)", "compound command"],
    ["if ls; then ls; fi", "compound command"],
    ["coproc ls", "coprocess"],
    ["echo $HOME", "expansion"],
    ['echo "$((1+1))"', "expansion"],
    ["f() { ls; }", "function"],
    ["ls *.ts", "glob"],
    ["cat <<E\nx\nE", "here-document"],
    ["ls \u200Bx", "hidden character"],
    ["! ls", "negation"],
    ["ls |& cat", "pipe of both streams"],
    ["diff <(ls) x", "process substitution"],
    ["echo ${x@P}", "prompt expansion"],
    ["ls > x", "redirection"],
    ["cat <<< x", "redirection"],
    ["echo $'\\x2d'", "special quote"],
    ["echo $(ls)", "substitution"],
    ["time ls", "time"],
  ])("names the construct in %j", (text, construct) => {
    expect(constructs(text)).toContain(construct);
  });

  test("marks a word as literal only if its value is certain", () => {
    const marks = (text: string) =>
      parseCommand(text)
        .commands[0]?.words.slice(1)
        .map(({ literal }) => literal);
    expect(marks(`x a 'b c' "d e" f'g'"h" --i='j k' HEAD~1 m#n`)).toEqual(Array(7).fill(true));
    expect(marks(`x a\\b "$c" ~ ~u a=~ $'d' "e\\$" [f] {g,h} *`)).toEqual(Array(10).fill(false));
  });

  test("separates redirections from the source of the command", () => {
    const { commands, redirections } = parseCommand("{ a > b c; } 2>> d");
    expect(commands[0]?.source).toBe("a c");
    expect(redirections.map(({ operator, target }) => `${operator} ${target?.value}`).sort()).toEqual(["> b", ">> d"]);
  });

  test.each([
    ["", "empty"],
    [" \n", "empty"],
    ["ls \0", "malformed"],
    ["ls \ud800", "malformed"],
    ["ls &&", "malformed"],
    ["echo 'x", "malformed"],
    ["echo $(ls", "malformed"],
    ["x".repeat(COMMAND_LIMITS.characters + 1), "tooComplex"],
    ["a;".repeat(COMMAND_LIMITS.commands + 2), "tooComplex"],
    ["a ".repeat(COMMAND_LIMITS.nodes + 1), "tooComplex"],
    [`echo '${";".repeat(COMMAND_LIMITS.separators + 1)}'`, "tooComplex"],
    ["(".repeat(60) + "ls" + ")".repeat(60), "tooComplex"],
    ["echo " + "$(".repeat(300), "tooComplex"],
    ["{".repeat(COMMAND_LIMITS.braces + 1), "tooComplex"],
    ['{" "'.repeat(30_000), "tooComplex"],
  ])("reports that it did not read example %# to the end", (text, kind) => {
    expect(parseCommand(text).problem?.kind).toBe(kind);
  });

  test("keeps the commands before a limit, so deny rules still apply", () => {
    expect(words("rm x; " + "a;".repeat(COMMAND_LIMITS.commands + 2))[0]).toEqual(["rm", "x"]);
  });

  test("keeps the first words of a command that is over the limit", () => {
    const parsed = parseCommand("git push " + "a ".repeat(COMMAND_LIMITS.nodes));
    expect(parsed.problem?.kind).toBe("tooComplex");
    expect(parsed.commands[0]?.words.map(({ value }) => value).slice(0, 3)).toEqual(["git", "push", "a"]);
    expect(parsed.commands[0]?.words.length).toBeLessThan(50);
  });
});

import { describe, expect, test } from "vitest";
import { COMMAND_LIMITS, unwrapCommand } from "./parse-command.ts";
import { readCommand, readCommandWith } from "./command-signature.ts";

const formsOf = (text: string) => readCommand(text).parts.map(({ forms }) => forms.map((form) => form.text));

test("a simple command is listed as written, then without its wrapper", () => {
  expect(formsOf("timeout 5 nice -n 2 npm 'run'  build && ls | wc -l")).toEqual([
    ["timeout 5 nice -n 2 npm 'run' build", "nice -n 2 npm 'run' build", "npm 'run' build"],
    ["ls"],
    ["wc -l"],
  ]);
  expect(formsOf("A=1 LANG=C make > log 2>&1")).toEqual([["make"]]);
});

test("a wrapper matches only by its whole text, so a prefix rule allows nothing", () => {
  const [part] = readCommand("nohup make x").parts;
  expect(part?.forms).toMatchObject([
    { text: "nohup make x", exactOnly: true },
    { text: "make x", exactOnly: false, starts: ["x"] },
  ]);
  expect(readCommand("find . -name x").parts[0]?.forms[0]?.exactOnly).toBe(false);
  expect(readCommand("find . -delete").parts[0]?.forms[0]?.exactOnly).toBe(true);
  expect(readCommand("find . $X").parts[0]?.forms[0]?.exactOnly).toBe(true);
});

test("nested commands are listed under their plain names", () => {
  const { seen } = readCommand("sudo /bin/sh -c 'cd x; /usr/bin/rm -rf y' && git -C a push");
  for (const text of ["rm -rf y", "/usr/bin/rm -rf y", "cd x", "git push", "git -C a push"])
    expect(seen).toContain(text);
});

test("files are found in redirections and in the arguments of known programs", () => {
  expect(readCommand("cp a b > c < d 2>&1 >> /dev/null")).toMatchObject({
    inputs: ["d"],
    outputs: ["c"],
    reads: ["d", "a", "b"],
    changes: ["c", "a", "b"],
  });
  expect(readCommand("grep -e x .env --file=y").reads).toEqual(["x", ".env", "y"]);
  expect(readCommand("dd if=a of=b").changes).toEqual(["a", "b"]);
});

test.each([
  ["x > $Y", "only known at run time"],
  ["cd a && x > b", "changes its folder"],
  ["(x)", "compound command"],
  ["f() { x; }", "compound command"],
  ["x \u200b", "hidden character"],
])("%j is closed: %s", (text, why) => expect(readCommand(text).closed).toMatch(why));

test("directory, variables and standard input are included", () => {
  expect(readCommandWith("make", { env: { CC: "x" } }).undetermined).toBe("it sets CC");
  expect(readCommandWith("make", { env: { CI: "1" } }).undetermined).toBeUndefined();
  expect(readCommandWith("sh", { stdin: "rm x" })).toMatchObject({ seen: ["sh", "rm x"] });
  // What only reads needs no rule.
  expect(readCommandWith("cat", { stdin: "rm x" }).undetermined).toBe("a rule does not cover its standard input");
  expect(readCommandWith("make", { stdin: "" }).undetermined).toBeUndefined();
});

test("unparsable text is split at everything that may separate commands", () => {
  const { problem, seen } = readCommand("echo 'a; rm b");
  expect(problem).toMatch("not valid bash");
  expect(seen).toContain("rm b");
  expect(readCommand(`echo ${"x".repeat(10_000)}`).problem).toMatch("longer than 10000");
});

test("the same text is parsed once", () => {
  expect(readCommand("make twice")).toBe(readCommand("make twice"));
});

describe("a hostile text of 64 KB", () => {
  const SIZE = 64 * 1024;
  const repeated = (unit: string, before = "", after = ""): [string, (size: number) => string] => [
    `${before}${unit}…${after}`,
    (size) => before + unit.repeat(Math.floor((size - before.length - after.length) / unit.length)) + after,
  ];
  const SHAPES = [
    repeated("{a,", "echo "),
    repeated("xargs "),
    repeated("ls;"),
    repeated("-C . ", "git ", "status"),
    repeated("--zz ", "xargs "),
    repeated("timeout 5 ", "", "ls"),
    repeated("su -c "),
    repeated("-a b ", "npx "),
    repeated("cd a;cat b;"),
    repeated("a/b/", "cat "),
    repeated("$(", "echo "),
    repeated("<<A ", "cat "),
    repeated("A=b "),
    repeated("fd -x "),
  ];

  /** The steps of an analysis, whatever the machine is doing: how many commands, words and paths come out of it. */
  function size(text: string): number {
    const { parts, seen, reads, changes, hides } = readCommand(text);
    const { commands, openings } = unwrapCommand(text);
    const words = commands.reduce((sum, { argv }) => sum + argv.length, 0);
    return (
      parts.length +
      reads.length +
      changes.length +
      (hides?.commands.length ?? 0) +
      words +
      openings.length +
      seen.length
    );
  }

  test.each(SHAPES)("is analysed in a bounded number of steps: %s", (_, text) => {
    // Just below and far above the limit of characters.
    for (const length of [COMMAND_LIMITS.characters - 1, SIZE]) {
      expect(size(text(length))).toBeLessThan(length === SIZE ? SIZE / 2 : 8000);
    }
  });

  test("is not analysed, and says why", () => {
    expect(readCommand("ls;".repeat(300)).problem).toBe(
      "The command consists of over 60 commands. That is too complex to analyse.",
    );
    expect(readCommand(`cat ${"a ".repeat(6000)}`).problem).toMatch("longer than 10000 characters");
    const files = Array.from({ length: 300 }, (_each, at) => `f${at}`).join(" ");
    expect(readCommand(`rm ${files}`)).toMatchObject({
      problem: "The command names over 200 files: too many to check.",
    });
    expect(readCommand(`rm ${files}`).changes).toHaveLength(200);
  });
});

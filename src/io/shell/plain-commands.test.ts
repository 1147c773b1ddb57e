import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { findProgram } from "./find-program.ts";
import { parseCommand, plainChain } from "./parse-command.ts";

const plainCommands = (text: string) => plainChain(parseCommand(text))?.map(({ argv }) => argv) ?? null;

describe("plainChain", () => {
  test("returns the words of a chain", () => {
    expect(plainCommands(`a 'b c' && d "e" || f; g | h --i='j k' `)).toEqual([
      ["a", "b c"],
      ["d", "e"],
      ["f"],
      ["g"],
      ["h", "--i=j k"],
    ]);
  });

  test("joins a continued line, keeps a quoted line break and ignores the last line break", () => {
    expect(plainCommands("a b\\\nc \\\n d\n")).toEqual([["a", "bc", "d"]]);
    expect(plainCommands("a 'b\nc'")).toEqual([["a", "b\nc"]]);
  });

  test.each([
    "a\nb",
    "a & b",
    "a &",
    "a # b",
    "a |& b",
    "a ;; b",
    "a &&",
    "&& a",
    "! a",
    "time a",
    "(a)",
    "{ a; }",
    "A=1 a",
    "A=1",
    "a > b",
    "a <<< b",
    "a <(b)",
    "a $b",
    'a "$b"',
    'a "`b`"',
    'a "$\\\n(b)"',
    "a b*",
    "a [b]",
    "a b?",
    "a {b,c}",
    "a ~/b",
    "a b\\ c",
    "a $'b'",
    'a $"b"',
    "if a; then b; fi",
    "f() { a; }",
    "a\u00a0b",
    "a \u202eb",
    "a\rb",
  ])("refuses %j", (text) => {
    expect(plainCommands(text)).toBeNull();
  });
});

describe("plainChain agrees with bash", () => {
  const bash = findProgram("bash", process.env, { first: ["/bin", "/usr/bin"] }) as string;
  let folder: string;
  beforeAll(() => {
    folder = temporaryFolder("haft-plain-");
    // Files that globs and braces would match.
    for (const name of ["a", "b", "ab", "-a"]) writeFileSync(join(folder, name), "");
  });

  /**
   * Every program is unknown there, and bash hands what it would have run to this function, which notes it. In one
   * write: bash flushes at a line feed, and the commands of a pipe note theirs at the same time.
   */
  function commandsRunByBash(text: string): string[][] {
    const log = join(folder, "log");
    writeFileSync(log, "");
    spawnSync(bash, ["--noprofile", "--norc", "-c", text], {
      cwd: folder,
      env: {
        PATH: "/nonexistent",
        LC_ALL: "C.UTF-8",
        LOG: log,
        "BASH_FUNC_command_not_found_handle%%": `() { local IFS=$'\\1'; local all="$*"; builtin printf '%s\\2' "\${all//$'\\n'/$'\\3'}" >> "$LOG"; }`,
      },
      stdio: "ignore",
    });
    const ran = readFileSync(log, "utf8").split("\u0002").slice(0, -1);
    return ran.map((words) => words.replaceAll("\u0003", "\n").split("\u0001"));
  }

  /** Every stub succeeds, so commands after `||` do not run. The commands of a pipe run in any order. */
  function expectedRuns(text: string): string[][] | null {
    const chain = plainChain(parseCommand(text));
    if (!chain) return null;
    const runs: string[][] = [];
    let skips = false;
    for (const { operator, argv } of chain) {
      if (operator !== "|") skips = operator === "||";
      if (!skips) runs.push(argv);
    }
    return runs;
  }

  const sorted = (runs: string[][]) => runs.map((argv) => JSON.stringify(argv)).sort();

  const quoted = fc
    .string({ unit: fc.constantFrom(...'ab $`"\\!*~{},#;|&<>()\n\tü-='), maxLength: 6 })
    .map((text) => `'${text}'`);
  const doubled = fc
    .string({ unit: fc.constantFrom(..."ab !*~{},#;|&<>()\n\t.ü-='\\$"), maxLength: 6 })
    .map((text) => `"${text}"`);
  const bare = fc.string({ unit: fc.constantFrom(..."abz019_-./:=@%+,^!#~ü"), minLength: 1, maxLength: 5 });
  const word = fc
    .array(fc.oneof(bare, quoted, doubled), { minLength: 1, maxLength: 3 })
    .map((pieces) => pieces.join(""));
  const command = fc.array(word, { maxLength: 4 }).map((words) => ["zz", ...words].join(" "));

  test("for chains of quoted and bare words", () => {
    let plain = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(command, fc.constantFrom(" && ", " || ", "; ", " | ", "&&", ";", "|", " \\\n && ")), {
          minLength: 1,
          maxLength: 4,
        }),
        (parts) => {
          const text = parts.map(([words, operator], at) => (at === 0 ? words : operator + words)).join("");
          const expected = expectedRuns(text);
          if (!expected) return;
          plain++;
          expect(sorted(commandsRunByBash(text))).toEqual(sorted(expected));
        },
      ),
      { numRuns: 150 },
    );
    expect(plain).toBeGreaterThan(30);
  });

  test("for any text of characters that are special to a shell", () => {
    let plain = 0;
    const soup = fc.string({
      unit: fc.constantFrom(..."aabb  ''\"\"\\$`~#!{},=:;|&<>()[]*?-\n\t\r"),
      minLength: 1,
      maxLength: 9,
    });
    fc.assert(
      fc.property(soup, (tail) => {
        const text = `zz ${tail}`;
        const expected = expectedRuns(text);
        // Program names consist of letters of the alphabet above, and no such program exists.
        if (!expected || expected.some(([program = ""]) => /^[-:=,!#]*$/.test(program))) return;
        plain++;
        expect(sorted(commandsRunByBash(text))).toEqual(sorted(expected));
      }),
      { numRuns: 2000 },
    );
    expect(plain).toBeGreaterThan(30);
  });
});

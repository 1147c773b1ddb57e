import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileGlob, type GlobOptions, splitBase, withLiteralBrackets } from "./glob-pattern.ts";

const matchGlob = (pattern: string, path: string, options?: GlobOptions) => compileGlob(pattern, options).matches(path);

describe("what a pattern matches", () => {
  test.each([
    ["*.ts", "a.ts", true],
    ["*.ts", "src/a.ts", false],
    ["*.ts", "a.tsx", false],
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "src/deep/a.ts", true],
    ["src/**", "src/a/b", true],
    ["src/**", "src", false],
    ["src/**", "srcx/a", false],
    ["src/", "src/a/b", true],
    ["**", "a/b/c", true],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z", true],
    ["a/**/b/**/c", "a/x/b/c", true],
    ["a/**/b/**/c", "a/x/c", false],
    ["a/**/b/**", "a/b", false],
    ["a/**/b/**", "a/b/c", true],
    ["*.{ts,tsx}", "a.tsx", true],
    ["{src,test}/**/*.js", "test/x/y.js", true],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["a?c", "ac", false],
    ["[ab].txt", "b.txt", true],
    ["[!ab].txt", "b.txt", false],
    ["[^ab].txt", "c.txt", true],
    ["[a-c]x", "bx", true],
    ["[a-c]x", "dx", false],
    ["[c-a]x", "bx", false],
    ["[]a]x", "]x", true],
    ["[a-]x", "-x", true],
    ["a[", "a[", true],
    ["\\*.ts", "*.ts", true],
    ["\\*.ts", "a.ts", false],
    ["(x)/*.ts", "(x)/a.ts", true],
    ["*a*b*", "xxaxxbxx", true],
    ["*a*b*", "xxbxxaxx", false],
    ["*aa", "aaa", true],
    ["a*a", "a", false],
    ["a**b", "axxb", true],
    ["?*[0-9]", "a1", true],
    ["*[0-9]?*z", "ab1cz", true],
    ["--help", "--help", true],
    ["!a", "!a", true],
    ["!a", "b", false],
    ["./a.ts", "a.ts", true],
    ["日本*.txt", "日本語.txt", true],
    ["?.txt", "😀.txt", true],
  ])("%s and %s: %s", (pattern, path, expected) => {
    expect(matchGlob(pattern, path)).toBe(expected);
  });

  test("is case-sensitive by default", () => {
    expect(matchGlob("*.TXT", "a.txt")).toBe(false);
    expect(matchGlob("*.TXT", "a.txt", { caseSensitive: false })).toBe(true);
    expect(matchGlob("[A-C]?.txt", "bX.TXT", { caseSensitive: false })).toBe(true);
  });

  test("without hidden files a leading dot is matched only literally", () => {
    const shown = (pattern: string, path: string) => matchGlob(pattern, path, { hidden: false });
    expect(shown("*", ".env")).toBe(false);
    expect(shown("**/*.yml", ".github/ci.yml")).toBe(false);
    expect(shown("**/x", "a/.b/x")).toBe(false);
    expect(shown(".*", ".env")).toBe(true);
    expect(shown(".github/**/*.yml", ".github/a/ci.yml")).toBe(true);
    expect(shown("**/.github/*", "a/.github/x")).toBe(true);
  });
});

test("a pattern agrees with a simple recursive implementation", () => {
  const alphabet = fc.constantFrom("a", "b", "*", "?");
  const pattern = fc.array(alphabet, { maxLength: 8 }).map((parts) => parts.join(""));
  const name = fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
  const means = (p: string, n: string): boolean => {
    if (p === "") return n === "";
    if (p[0] === "*") return means(p.slice(1), n) || (n !== "" && means(p, n.slice(1)));
    return n !== "" && (p[0] === "?" || p[0] === n[0]) && means(p.slice(1), n.slice(1));
  };
  fc.assert(
    fc.property(pattern, name, (p, n) => {
      fc.pre(p !== "" && p !== "**");
      expect(matchGlob(p, n)).toBe(means(p, n));
    }),
    { numRuns: 2_000 },
  );
});

test("a pattern that would hang a backtracking engine is matched quickly", () => {
  const name = "a".repeat(250);
  const path = `${"a/".repeat(1_000)}c`;
  // As a regular expression each of these takes from minutes to forever.
  expect(matchGlob(`${"*a".repeat(30)}b`, name)).toBe(false);
  expect(matchGlob(`${"*[ab]".repeat(30)}c`, name)).toBe(false);
  expect(matchGlob(`${"**/a/".repeat(30)}b`, path)).toBe(false);
  expect(() => compileGlob("*".repeat(5_000))).toThrow(expect.objectContaining({ code: "bad_pattern" }));
});

test("the folders without wildcards are where a walk starts", () => {
  expect(splitBase("src/lib/**/*.ts")).toEqual({ base: "src/lib", rest: "**/*.ts" });
  expect(splitBase("src/a.ts")).toEqual({ base: "src", rest: "a.ts" });
  expect(splitBase("*.ts")).toEqual({ base: "", rest: "*.ts" });
  expect(splitBase("/abs/x/*")).toEqual({ base: "/abs/x", rest: "*" });
  expect(splitBase("../*")).toEqual({ base: "..", rest: "*" });
  expect(splitBase("app/[id]/x.ts")).toEqual({ base: "app", rest: "[id]/x.ts" });
  expect(splitBase("src/")).toEqual({ base: "src", rest: "**" });
});

test("brackets can be literal", () => {
  expect(withLiteralBrackets("a/*.ts")).toBeNull();
  const literal = withLiteralBrackets("app/[id]/\\[x]/*.ts") ?? "";
  expect(matchGlob(literal, "app/[id]/[x]/a.ts")).toBe(true);
  expect(matchGlob(literal, "app/i/[x]/a.ts")).toBe(false);
});

test("depth and names of matches are known for simple patterns", () => {
  expect(compileGlob("src/*.{ts,js}")).toMatchObject({ depth: 2, names: ["*.ts", "*.js"] });
  expect(compileGlob("**/*.ts").depth).toBe(Infinity);
  expect(compileGlob("**/*").names).toBeNull();
  expect(compileGlob("**/[ab].ts").names).toBeNull();
  expect(compileGlob("**/*.ts", { caseSensitive: false }).names).toBeNull();
});

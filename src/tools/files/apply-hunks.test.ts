import { structuredPatch } from "diff";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toFailure } from "../../core/error.ts";
import { applyHunks } from "./apply-patch.ts";
import { type Hunk, parsePatch } from "./parse-patch.ts";

function hunksOf(...body: string[]): Hunk[] {
  const [change] = parsePatch(["*** Begin Patch", "*** Update File: f", ...body, "*** End Patch"].join("\n"));
  if (change?.type !== "update") throw new Error("not an update");
  return change.hunks;
}
const patched = async (text: string, ...body: string[]): Promise<string> =>
  (await applyHunks(text, hunksOf(...body))).text;
const failing = (code: string, said: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(said) });

async function unlessAmbiguous<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (thrown) {
    if (toFailure(thrown).code !== "ambiguous") throw thrown;
    return undefined;
  }
}

describe("a hunk is found", () => {
  test.each([
    ["exactly", "a\nb\nc\n", ["@@", " a", "-b", "+B", " c"], "a\nB\nc\n"],
    ["but for trailing blanks, which kept lines keep", "a  \nb\n", ["@@", " a", "-b  ", "+B"], "a  \nB\n"],
    [
      "but for look-alikes, which kept lines keep",
      "say “a”\nb – c\n",
      ["@@", ' say "a"', "-b - c", "+d"],
      "say “a”\nd\n",
    ],
    [
      "but for indentation, with which added lines move",
      "    if a:\n        b\n",
      ["@@", " if a:", "-    b", "+    c", "+    d"],
      "    if a:\n        c\n        d\n",
    ],
    ["but for uneven indentation, with added lines as they are", "a\n  b\n", ["@@", "   a", "-b", "+c"], "a\nc\n"],
    ["below its context", "f:\n x\ng:\n x\n", ["@@ g:", "- x", "+ y"], "f:\n x\ng:\n y\n"],
    [
      "below stacked context",
      "A\n f\n  x\nB\n f\n  x\n",
      ["@@ B", "@@  f", "-  x", "+  y"],
      "A\n f\n  x\nB\n f\n  y\n",
    ],
    [
      "below context given in part",
      "class A(Base):\n  x\nclass B:\n  x\n",
      ["@@ class A", "-  x", "+  y"],
      "class A(Base):\n  y\nclass B:\n  x\n",
    ],
    ["at context that it repeats", "f:\n x\n", ["@@ f:", " f:", "- x", "+ y"], "f:\n y\n"],
    ["at the end first, when it says so", "x\ny\nx\n", ["@@", "-x", "+z", "*** End of File"], "x\ny\nz\n"],
    ["elsewhere, when it is not at the end after all", "x\ny\n", ["@@", "-x", "+z", "*** End of File"], "z\ny\n"],
    ["without the empty line that was mere spacing", "a\nb\n", ["@@", "-a", "+A", ""], "A\nb\n"],
  ])("%s", async (_, text, body, expected) => {
    expect(await patched(text, ...body)).toBe(expected);
  });
});

describe("added lines without old lines", () => {
  test("go to the end of the file, or below their context", async () => {
    expect(await patched("a\nb\n", "@@", "+c")).toBe("a\nb\nc\n");
    expect(await patched("a\nb\n", "@@ a", "+c")).toBe("a\nc\nb\n");
    expect(await patched("a\nb\n", "@@", "+c", "", "@@", "-a", "+A")).toBe("A\nb\nc\n");
  });
});

describe("the file keeps its form", () => {
  test.each([
    ["CRLF and byte order mark", "\uFEFFa\r\nb\r\n", ["@@", " a", "-b", "+c", "+d"], "\uFEFFa\r\nc\r\nd\r\n"],
    ["lone CR", "a\rb\r", ["@@", " a", "+c"], "a\rc\rb\r"],
    [
      "mixed ends: kept lines keep theirs, added ones get the common one",
      "a\nb\r\nc\r\nd\n\r\n",
      ["@@", " a", "-b", "+B", " c"],
      "a\nB\r\nc\r\nd\n\r\n",
    ],
    ["no final end, last line changed", "a\nb", ["@@", "-b", "+c", "+d"], "a\nc\nd"],
    ["no final end, line appended", "a\r\nb", ["@@", " b", "+c"], "a\r\nb\r\nc"],
    ["no final end, last line removed", "a\nb", ["@@", "-b"], "a"],
    ["no final end, last two changed into one", "a\nb\nc", ["@@", "-b", "+B", "@@", "-c"], "a\nB"],
    ["an empty file gets one", "", ["@@", "+a"], "a\n"],
    ["all lines removed", "a\n", ["@@", "-a"], ""],
  ])("%s", async (_, text, body, expected) => {
    expect(await patched(text, ...body)).toBe(expected);
  });
});

test("returns the positions, the steps and the splices", async () => {
  expect(await applyHunks("a\nb \nc\n", hunksOf("@@", "-b", "+B", "@@", "-c"))).toEqual({
    text: "a\nB\n",
    splices: [{ start: 2, end: 7, newText: "B\n" }],
    hunks: [
      { line: 2, step: "trailing_blanks" },
      { line: 3, step: "exact" },
    ],
  });
  expect((await applyHunks("a\n", hunksOf("@@", " a"))).splices).toEqual([]);
});

describe("a hunk is refused", () => {
  test("if it matches several positions", async () => {
    await expect(patched("x\ny\nx\n", "@@", "-x", "+z")).rejects.toThrow(failing("ambiguous", "lines 1, 3"));
    await expect(patched("f:\n x\nf:\n x\n", "@@ f:", "- x", "+ y")).rejects.toThrow(
      failing("ambiguous", "lines 2, 4"),
    );
  });

  test("if thousands of hunks match nearly everywhere, without looking at all of them", async () => {
    const hunks = Array.from({ length: 6_000 }, () => ["@@", "-x", "+y"]).flat();
    await expect(patched("x\n".repeat(30_000), ...hunks)).rejects.toThrow(failing("ambiguous", "Hunk 34 "));
  });

  test("but not if the other hunks leave only one position", async () => {
    expect(await patched("x\ny\nx\n", "@@", "-x", "+1", "@@", "-x", "+2")).toBe("1\ny\n2\n");
    expect(await patched("x\ny\nx\n", "@@", "-y", "+Y", "@@", "-x", "+z")).toBe("x\nY\nz\n");
    expect(await patched("x\ny\nx\n", "@@", "-x", "+z", "@@", "-y", "+Y")).toBe("z\nY\nx\n");
  });

  test("if it does not match, with the most similar lines", async () => {
    await expect(patched("alpha(1)\nb\n", "@@", "-alpha(2)", "+c")).rejects.toThrow(
      failing(
        "no_match",
        'Hunk 1 (patch line 3) does not match the file. The most similar lines:\n- line 1 is "alpha(1)", the hunk has "alpha(2)"',
      ),
    );
    await expect(patched("class A:\n  x\n", "@@ class AB:", "-  x")).rejects.toThrow(
      failing("no_match", 'the line after "@@" was not found'),
    );
  });

  test("if it is out of order", async () => {
    await expect(patched("a\nb\n", "@@", "-b", "+B", "@@", "-a", "+A")).rejects.toThrow(
      failing("no_match", "Hunk 2 (patch line 6) matches at line 1"),
    );
  });

  test("if a line in the middle differs", async () => {
    await expect(patched("a\nb\nc\n", "@@", " a", "-x", "+y", " c")).rejects.toThrow(failing("no_match", "Hunk 1"));
  });

  test("if it would add a placeholder", async () => {
    await expect(patched("a\nb\n", "@@", "-a", "+// ... rest of code")).rejects.toThrow(
      failing("elided", "patch line 3"),
    );
    expect(await patched("// ...\nb\n", "@@", "-// ...", "+// ...", "+c")).toBe("// ...\nc\nb\n");
  });
});

const eol = fc.constantFrom("\n", "\r\n");
const lines = fc.array(fc.constantFrom("a", "b", "c", "  a", "d e", "", "+x", "-y", "@@", "*** End Patch"), {
  maxLength: 14,
});

test("applying a diff to the old text gives the new text or is ambiguous", async () => {
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(lines, lines, eol, fc.nat(3), async (before, after, end, context) => {
      const join = (all: string[], eolOf = end): string => all.map((line) => line + eolOf).join("");
      const diff = structuredPatch("f", "f", join(before, "\n"), join(after, "\n"), "", "", { context });
      const body = diff.hunks.flatMap((hunk) => ["@@", ...hunk.lines.filter((line) => !line.startsWith("\\"))]);
      if (body.length === 0 || before.length === 0 || after.length === 0) return;
      const text = await unlessAmbiguous(() => patched(join(before), ...body));
      if (text === undefined) return;
      if (diff.hunks.some((hunk) => hunk.oldLines === 0)) return;
      expect(text).toBe(join(after));
      applied++;
    }),
    { numRuns: 1_000 },
  );
  expect(applied).toBeGreaterThan(300);
});

test("a hunk with the whole file always applies", async () => {
  await fc.assert(
    fc.asyncProperty(lines, lines, eol, async (before, after, end) => {
      if (before.length === 0) return;
      const text = before.map((line) => line + end).join("");
      const body = ["@@", ...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`), "*** End of File"];
      expect(await patched(text, ...body)).toBe(after.map((line) => line + end).join(""));
    }),
  );
});

test("many hunks on many equal lines leave the thread free, and stacked context is bounded", async () => {
  const text = "a\n".repeat(5_000);
  const body = Array.from({ length: 1_000 }, () => ["@@", "-a", "+b"]).flat();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await expect(patched(text, ...body)).rejects.toThrow(failing("ambiguous", "several positions"));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(2);
  expect(() => hunksOf(...Array.from({ length: 3_000 }, () => "@@ a"), "-a")).toThrow('lines with "@@"');
});

import { describe, expect, test } from "vitest";
import { parsePatch } from "./parse-patch.ts";

const wrap = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const bad = (reason: string, line?: number) =>
  expect.objectContaining({ code: "bad_patch", data: line === undefined ? { reason } : { reason, line } });
const update = ["*** Update File: a", "@@", "-x", "+y"];

test("parses every kind of section, with its patch line", () => {
  expect(
    parsePatch(
      wrap(
        "*** Add File: dir with blanks/new file.txt",
        "+one",
        "+",
        "+two",
        "*** Delete File: gone.txt",
        "*** Update File: old.txt",
        "*** Move to: sub/moved.txt",
        "@@ class A",
        "@@ def f",
        " keep",
        "-out",
        "+in",
        "",
        "*** End of File",
      ),
    ),
  ).toEqual([
    { type: "add", path: "dir with blanks/new file.txt", text: "one\n\ntwo\n", patchLine: 2 },
    { type: "delete", path: "gone.txt", patchLine: 6 },
    {
      type: "update",
      path: "old.txt",
      moveTo: "sub/moved.txt",
      patchLine: 7,
      hunks: [
        {
          context: ["class A", "def f"],
          lines: [
            { kind: "keep", text: "keep" },
            { kind: "remove", text: "out" },
            { kind: "add", text: "in" },
            { kind: "keep", text: "", bare: true },
          ],
          endOfFile: true,
          patchLine: 9,
        },
      ],
    },
  ]);
});

test("a first hunk needs no @@, later ones do", () => {
  const [change] = parsePatch(wrap("*** Update File: a", " x", "+y", "@@", "-z"));
  expect(change).toMatchObject({
    hunks: [
      { patchLine: 3, lines: [{}, {}] },
      { patchLine: 5, lines: [{ kind: "remove" }] },
    ],
  });
});

test("a move needs no hunk, and a move to itself is ignored", () => {
  expect(parsePatch(wrap("*** Update File: a", "*** Move to: b"))).toMatchObject([{ moveTo: "b", hunks: [] }]);
  expect(parsePatch(wrap("*** Update File: a", "*** Move to: ./a", "@@", "-x"))).toMatchObject([{ moveTo: undefined }]);
});

test("the ranges of a unified diff are not context, and an added file may be empty", () => {
  expect(parsePatch(wrap("*** Update File: a", "@@ -1,2 +1,3 @@ function f()", "-x"))).toMatchObject([
    { hunks: [{ context: [] }] },
  ]);
  expect(parsePatch(wrap("*** Add File: a"))).toMatchObject([{ text: "" }]);
});

test("an empty line inside an added file needs no plus, one after it is spacing", () => {
  expect(parsePatch(wrap("*** Add File: a", "+1", "", "+2", "", "*** Add File: b", "+3", ""))).toMatchObject([
    { text: "1\n\n2\n" },
    { text: "3\n" },
  ]);
});

describe("wrapping around a patch is removed", () => {
  test.each([
    ["a heredoc", `<<'EOF'\n${wrap(...update)}\nEOF\n`],
    ["a heredoc of a command", `apply_patch <<"PATCH"\n${wrap(...update)}\nPATCH`],
    ["a cell and a heredoc", `%%bash\ncat <<EOF\n${wrap(...update)}\nEOF`],
    ["a fence", `\`\`\`diff\n${wrap(...update)}\n\`\`\`\n`],
    ["blank lines and padding", `\n\n ${wrap(...update)} \n\n`],
    ["CRLF ends and a byte order mark", `\uFEFF${wrap(...update).replaceAll("\n", "\r\n")}\r\n`],
    ["no sentinels", update.join("\n")],
    ["no beginning", [...update, "*** End Patch"].join("\n")],
    ["a closed heredoc without end", `<<EOF\n*** Begin Patch\n${update.join("\n")}\nEOF`],
  ])("%s", (_, patch) => {
    expect(parsePatch(patch)).toMatchObject([{ path: "a", hunks: [{ lines: [{ text: "x" }, { text: "y" }] }] }]);
  });

  test.each([
    ["a patch that was cut off", `*** Begin Patch\n${update.join("\n")}`, 5],
    ["a heredoc that was cut off", `<<EOF\n*** Begin Patch\n${update.join("\n")}`, 6],
    ["a command before it", `cd other && apply_patch <<EOF\n${wrap(...update)}\nEOF`, 1],
    ["text after it", `${wrap(...update)}\nDone!`, 6],
    ["two patches", `${wrap(...update)}\n${wrap("*** Delete File: b")}`, 6],
  ])("but not %s", (_, patch, line) => {
    expect(() => parsePatch(patch)).toThrow(bad("syntax", line));
  });
});

describe("an ambiguous patch is refused with its line", () => {
  test.each([
    ["no text", " \n", "syntax", undefined],
    ["no section", wrap(), "empty", undefined],
    ["prose", "please change a to b", "syntax", 1],
    ["an unknown section", wrap("*** Rename File: a"), "syntax", 2],
    ["a missing path", wrap("*** Add File: "), "syntax", 2],
    ["an update without hunks", wrap("*** Update File: a"), "syntax", 2],
    ["a hunk without lines", wrap("*** Update File: a", "@@ f", "*** Delete File: b"), "syntax", 3],
    ["a hunk line without sign", wrap("*** Update File: a", "@@", "x"), "syntax", 4],
    ["an added line without plus", wrap("*** Add File: a", "+1", "2"), "syntax", 4],
    ["a body below a deletion", wrap("*** Delete File: a", "-x"), "syntax", 3],
    ["lines after the end of the file", wrap(...update, "*** End of File", "+z"), "syntax", 7],
    ["an end of file without hunk", wrap("*** Update File: a", "*** End of File"), "syntax", 3],
    ["a path twice", wrap(...update, "*** Delete File: ./a"), "duplicate_path", 6],
    ["a path spelt another way", wrap("*** Add File: d/../a", "+1", ...update), "duplicate_path", 4],
    [
      "a move onto another section's path",
      wrap("*** Add File: b", "*** Update File: a", "*** Move to: b"),
      "duplicate_path",
      3,
    ],
  ])("%s", (_, patch, reason, line) => {
    expect(() => parsePatch(patch)).toThrow(bad(reason, line));
  });
});

test("lines that look like sections are lines if they have a sign", () => {
  expect(
    parsePatch(wrap("*** Update File: a", "@@", " *** End Patch", "-*** Add File: b", "+*** End of File")),
  ).toMatchObject([
    { hunks: [{ lines: [{ text: "*** End Patch" }, { text: "*** Add File: b" }, { text: "*** End of File" }] }] },
  ]);
});

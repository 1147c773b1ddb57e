import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toFailure } from "../../core/error.ts";
import { type TextEdit, replaceText } from "./edit.ts";

const edit = (oldString: string, newString: string, replaceAll?: boolean): TextEdit => ({
  oldString,
  newString,
  replaceAll,
});
const replaced = (text: string, ...edits: TextEdit[]): string => replaceText(text, edits).text;
const failing = (code: string, said: string | RegExp = "") =>
  expect.objectContaining({
    code,
    message: typeof said === "string" ? expect.stringContaining(said) : expect.stringMatching(said),
  });

/** Any other failure than a refused edit is a bug. */
function unlessRefused<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (thrown) {
    const { code } = toFailure(thrown);
    if (!["no_match", "ambiguous", "no_change", "invalid_input"].includes(code)) throw thrown;
    return undefined;
  }
}

test("dollar signs in new text are literal", () => {
  expect(replaced("a NAME b", edit("NAME", "$&$1$$$`$'"))).toBe("a $&$1$$$`$' b");
});

test("returns the step, the number of matches and their lines", () => {
  expect(replaceText("a\nb\na\n", [edit("a", "c", true), edit("b", "d")]).edits).toEqual([
    { step: "exact", replacements: 2, lines: [1, 3] },
    { step: "exact", replacements: 1, lines: [2] },
  ]);
  expect(replaceText("  one\n  two\n", [edit("1: one\n2: two\n", "1: ONE\n2: two\n3: three\n")])).toMatchObject({
    text: "  ONE\n  two\n  three\n",
    edits: [{ step: "indentation", stripped: "line_numbers", lines: [1] }],
  });
});

describe("line ends, marks and the final line end of the file are preserved", () => {
  test.each([
    ["LF text into CRLF", "a\r\nb\r\nc\r\n", "b", "B\nX", "a\r\nB\r\nX\r\nc\r\n"],
    ["CRLF text into LF", "a\nb\n", "b", "B\r\nX", "a\nB\nX\n"],
    ["mixed ends, line for line", "a\nb\r\nc\n", "a\nb\nc", "A\nB\nC", "A\nB\r\nC\n"],
    ["mixed ends, further lines like the neighbour", "a\n1\r\nb\n", "1", "1\n2", "a\n1\r\n2\r\nb\n"],
    ["lone CR", "a\rb\rc\r", "b", "B\nX", "a\rB\rX\rc\r"],
    ["a mark that is quoted", "\uFEFFa\nb", "\uFEFFa", "\uFEFFA", "\uFEFFA\nb"],
    ["a mark that the new text forgets", "\uFEFFa\nb", "\uFEFFa", "A", "\uFEFFA\nb"],
    ["no final end, one quoted", "a\nlast", "last\n", "LAST\nmore\n", "a\nLAST\nmore"],
    ["no final end, last line removed", "a\nlast", "last\n", "", "a"],
    ["no line end at all", "one", "one", "1\r\n2", "1\r\n2"],
  ])("%s", (_, text, old, now, expected) => {
    expect(replaced(text, edit(old, now))).toBe(expected);
  });
});

describe("a fuzzy match changes only the lines that the edit changes", () => {
  test("common lines keep the file's whitespace, quotes and indentation", () => {
    const text = "keep  \n  a = ‘1’;  \r\n  b = ‘2’;\t\n  c = ‘3’;\nkeep  \n";
    expect(replaced(text, edit("a = '1';\nb = '2';\nc = '3';\n", "a = '1';\nb = '9';\nb2\nc = '3';\n"))).toBe(
      "keep  \n  a = ‘1’;  \r\n  b = '9';\n  b2\n  c = ‘3’;\nkeep  \n",
    );
  });

  test("new lines are indented like the old ones", () => {
    expect(
      replaced(
        "class A:\n\tdef f(self):\n\t\treturn 1\n",
        edit("def f(self):\n    return 1", "def f(self):\n    if x:\n        return 2"),
      ),
    ).toBe("class A:\n\tdef f(self):\n\t\tif x:\n\t\t\treturn 2\n");
  });

  test("text without indentation gets the depth of what it replaces", () => {
    const text = "def f():\n    if a:\n        b()\n    return 1\n";
    expect(replaced(text, edit("if a:\nb()\nreturn 1", "if a:\nc()\nd()\nreturn 1"))).toBe(
      "def f():\n    if a:\n        c()\n        d()\n    return 1\n",
    );
    expect(replaced(text, edit("def f():\nif a:\nb()", "def f():\nif a:\nb()\nc()"))).toContain(
      "        b()\n        c()\n",
    );
  });

  test("removing whole lines leaves no empty line", () => {
    expect(replaced("a\nb  \nc\n", edit("b\n", ""))).toBe("a\nc\n");
  });

  test("replace all changes every match, each at its own depth", () => {
    expect(replaced("  go();  \n  end\n    go();\n    end\n", edit("go();\nend\n", "run();\nend\n", true))).toBe(
      "  run();\n  end\n    run();\n    end\n",
    );
  });

  test("replace all does not multiply a guess", () => {
    expect(() => replaced("f( a )\nf(  a)\n", edit("f(a)", "g", true))).toThrow(
      failing("ambiguous", "whitespace inside lines"),
    );
  });
});

describe("what is refused", () => {
  test("an ambiguous text, with its lines, in every step", () => {
    expect(() => replaced("x\ny\nx\n", edit("x", "z"))).toThrow(failing("ambiguous", "lines 1, 3"));
    expect(() => replaced(" x;\n  x;\n", edit("\tx;", "z"))).toThrow(failing("ambiguous", "lines 1, 2"));
  });

  test("a missing text, with the most similar lines", () => {
    expect(() => replaced("alpha(1)\n", edit("alpha(2)", "z"))).toThrow(failing("no_match", 'line 1 is "alpha(1)"'));
  });

  test("an edit that changes nothing", () => {
    expect(() => replaced("a", edit("a", "a"))).toThrow(failing("no_change"));
    expect(() => replaced("a\r\nb", edit("a\r\nb", "a\nb"))).toThrow(failing("no_change"));
  });

  test("an empty old text, unless the file is empty", () => {
    expect(() => replaced("a", edit("", "b"))).toThrow(failing("invalid_input", "has content"));
    expect(() => replaced("", edit("", "b"), edit("b", "c"))).toThrow(failing("invalid_input"));
    expect(replaced("", edit("", "a\r\nb"))).toBe("a\r\nb");
    expect(replaced("\uFEFF", edit("", "a"))).toBe("\uFEFFa");
    expect(() => replaced("a")).toThrow(failing("invalid_input", "at least one edit"));
  });

  test("a placeholder, even after a line number", () => {
    expect(() => replaced("a\nb\n", edit("a\nb\n", "A\n// ... rest of code\n"))).toThrow(failing("elided", "Line 2"));
    expect(() => replaced("a\nb\n", edit("1: a\n2: b\n", "1: A\n2: // ... rest of code\n"))).toThrow(failing("elided"));
  });
});

describe("several edits", () => {
  test("all refer to the original", () => {
    expect(replaced("a b", edit("a", "b"), edit("b", "a"))).toBe("b a");
    expect(() => replaced("a", edit("a", "b"), edit("b", "c"))).toThrow(
      failing("no_match", "edits[1]: old_string was not found"),
    );
  });

  test("may be adjacent but not overlap", () => {
    expect(replaced("ab", edit("b", "B"), edit("a", "A"))).toBe("AB");
    expect(() => replaced("1\n2\n3\n", edit("2\n3", "x"), edit("1\n2", "y"))).toThrow(
      failing("overlap", "edits[0] and edits[1] overlap at line 2"),
    );
    expect(() => replaced("a a", edit("a", "b", true), edit("a a", "c"))).toThrow(failing("overlap"));
    expect(() => replaced("a\nx\nlast", edit("x\n", "y\n"), edit("last\n", ""))).toThrow(
      failing("overlap", "same line end"),
    );
  });
});

test("nothing outside the splices changes, and the reported line has the new text", () => {
  const piece = fc.constantFrom("a", "b ", "  a", "\t", "‘q’", "\n", "\r\n", "\n", "x( y )", "1: ", "\uFEFF");
  const some = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(some, some, some, fc.boolean(), (text, oldString, newString, replaceAll) => {
      const result = unlessRefused(() => replaceText(text, [{ oldString, newString, replaceAll }]));
      if (result === undefined) return;
      expect(result.text).not.toBe(text);
      let oldAt = 0;
      let newAt = 0;
      for (const { start, end, newText } of result.splices) {
        expect(start).toBeGreaterThanOrEqual(oldAt);
        expect(result.text.slice(newAt, newAt + start - oldAt)).toBe(text.slice(oldAt, start));
        newAt += start - oldAt;
        expect(result.text.startsWith(newText, newAt)).toBe(true);
        newAt += newText.length;
        oldAt = end;
      }
      expect(result.text.slice(newAt)).toBe(text.slice(oldAt));
    }),
    { numRuns: 1_000 },
  );
});

test("a unique exact text is replaced in place and literally in a file of LF ends", () => {
  const part = fc.string({ maxLength: 20 }).map((text) => text.replace(/[\r\uFEFF]/g, ""));
  fc.assert(
    fc.property(part, part, part, (before, after, now) => {
      const result = replaced(`${before}\n<<unique>>\n${after}`, edit("<<unique>>", `[${now}]`));
      expect(result).toBe(`${before}\n[${now}]\n${after}`);
    }),
  );
});

describe("an empty new text", () => {
  test.each([
    ["a line", "a\nb\nc\n", edit("b", ""), "a\nc\n"],
    ["several lines", "a\nb\nc\n", edit("a\nb", ""), "c\n"],
    ["a line with CRLF", "a\r\nb\r\nc\r\n", edit("b", ""), "a\r\nc\r\n"],
    ["lines with CRLF that were quoted with LF", "a\r\nb\r\nc\r\n", edit("a\nb", ""), "c\r\n"],
    ["the last line without a line end", "a\nb", edit("b", ""), "a"],
    ["the last line without a line end, with CRLF", "a\r\nb", edit("b", ""), "a"],
    ["the only line", "a\n", edit("a", ""), ""],
    ["the first line after a byte order mark", "\uFEFFa\nb\n", edit("a", ""), "\uFEFFb\n"],
    ["every such line", "x\na\nx\nax\n", edit("x", "", true), "a\na\n"],
    ["a line that was quoted with other indentation", "if\n    b();\nc\n", edit("\tb();", ""), "if\nc\n"],
    ["a line with its line end", "a\nb\nc\n", edit("b\n", ""), "a\nc\n"],
    ["a line with the line end before it", "a\n\nb\nc\n", edit("\nb", ""), "a\n\nc\n"],
  ])("removes %s", (_, text, given, expected) => {
    expect(replaced(text, given)).toBe(expected);
  });

  test("removes the lines of several edits", () => {
    expect(replaced("a\nb\nc\nd\n", edit("a", ""), edit("b", ""), edit("d", ""))).toBe("c\n");
  });

  test("leaves the rest of a line, and an empty line that was there", () => {
    expect(replaced("a b\nc\n", edit(" b", ""))).toBe("a\nc\n");
    expect(replaced("a\n\nb\n", edit("a", ""))).toBe("\nb\n");
  });
});

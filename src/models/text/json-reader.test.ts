import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Malformed, markerSet, Source } from "./text-source.ts";
import { type JsonDialect, readJson } from "./json-reader.ts";

const LENIENT: JsonDialect = { quotesUntil: markerSet(["</end>"]) };

function mend(text: string, dialect = LENIENT, chunks = [text]) {
  const source = new Source();
  const repairs: string[] = [];
  let json = "";
  const reading = readJson(
    { source, dialect, repair: (what) => void repairs.push(what), write: (piece) => void (json += piece) },
    "object",
  );
  for (const chunk of chunks) {
    source.feed(chunk);
    reading.next();
  }
  source.ended = true;
  reading.next();
  return { json, repairs, left: source.left };
}

function reasonOf(text: string, dialect = LENIENT): string {
  try {
    mend(text, dialect);
  } catch (thrown) {
    return thrown instanceof Malformed ? thrown.reason : String(thrown);
  }
  return "";
}

describe("JSON as it should be", () => {
  test("comes out as it is, but for blanks, in any chunks, and nothing is mended", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 1, 2, "\t"), fc.nat(), (value, space, seed) => {
        const text = JSON.stringify([value], null, space);
        const at = seed % text.length;
        for (const chunks of [[text], text.split(""), [text.slice(0, at), text.slice(at)]]) {
          expect(mend(text, LENIENT, chunks)).toEqual({ json: JSON.stringify([value]), repairs: [], left: 0 });
        }
      }),
    );
  });

  test("is written while it comes: a key before its value, a string before its end", () => {
    const source = new Source();
    let json = "";
    const reading = readJson(
      { source, dialect: {}, repair: () => {}, write: (piece) => void (json += piece) },
      "object",
    );
    source.feed('{ "pa');
    reading.next();
    expect(json).toBe('{"pa');
    source.feed('th" : "src/a');
    reading.next();
    expect(json).toBe('{"path":"src/a');
  });
});

describe("what has one meaning is mended, and said", () => {
  test.each([
    ["{a: 1, $b_2: 2}", { a: 1, $b_2: 2 }, "keys without quotation marks were quoted in the JSON"],
    ['{"a": 1,}', { a: 1 }, "a trailing comma was removed from the JSON"],
    ['{"a": [1, 2,],}', { a: [1, 2] }, "a trailing comma was removed from the JSON"],
    ['{"a": 1, // one "\n "b": 2 /* } */}', { a: 1, b: 2 }, "comments were removed from the JSON"],
    ["{'a': 'it''s'}", { a: "it''s" }, "single quotation marks were replaced in the JSON"],
    ['{"a": True, "b": None}', { a: true, b: null }, "True was written as true in the JSON"],
    ['{"a": "one\n\ttwo"}', { a: "one\n\ttwo" }, "line ends and tabs inside a string were escaped"],
    ['{"a": "C:\\dir \\d+ \\\'"}', { a: "C:\\dir \\d+ '" }, "a backslash inside a string was escaped"],
    [
      '{"a": "He said "hello", then left", "b": 1}',
      { a: 'He said "hello", then left', b: 1 },
      "quotation marks inside a string were escaped",
    ],
    ['{"a": ["x "y" z", "w"]}', { a: ['x "y" z', "w"] }, "quotation marks inside a string were escaped"],
    ['{"a": +1.50, "b": .5}', { a: 1.5, b: 0.5 }, "the number +1.50 was written as JSON"],
  ])("%s", (text, value, repair) => {
    const { json, repairs } = mend(text);
    expect(JSON.parse(json)).toEqual(value);
    expect(repairs).toContain(repair);
    expect(mend(text, LENIENT, text.split("")).json).toBe(json);
  });
});

describe("what has no one meaning is refused", () => {
  test.each([
    ['{"a": 1', "ended"],
    ['{"a": "x', "ended inside a string"],
    ['{"a" 1}', "where a colon should stand"],
    ['{"a": 1 "b": 2}', 'where "," or "}" should stand'],
    ['{"a": yes}', '"yes" in its JSON has no quotation marks'],
    ['{"a": 1-2}', "is no number"],
    ['{"a": }', "where a value should stand"],
    [`${"[".repeat(80)}${"]".repeat(80)}`, "nested deeper than 64 levels"],
    [`{"a": ${"x".repeat(500)}}`, "too long"],
  ])("%s", (text, reason) => expect(reasonOf(text)).toContain(reason));
});

test("quotation marks inside of strings are forgiven no farther than the end of the call, and only where asked", () => {
  expect(reasonOf('{"a": "x" y</end>, "b"}')).toContain("not clear where a string in it ends");
  expect(JSON.parse(mend('{"a": "</end> x"}').json)).toEqual({ a: "</end> x" });
  expect(reasonOf('{"a": "x "y" z"}', {})).toContain('where "," or "}" should stand');
});

const PYTHON: JsonDialect = { ...LENIENT, python: true };

describe("Python's literals", () => {
  test.each([
    ["{'a': (1, 2), 'b': {'x', 'y'}, 3: None}", { a: [1, 2], b: ["x", "y"], 3: null }],
    [
      "{'a': 'it\\'s', 'b': \"q\\x41\\n\", 'c': '''one\n'two' three''', 'd': ''}",
      { a: "it's", b: "qA\n", c: "one\n'two' three", d: "" },
    ],
    ["{'a': 007, 'b': 1_000, 'c': 1., 'd': True}", { a: 7, b: 1000, c: 1, d: true }],
    ["{}", {}],
  ])("%s", (text, value) => {
    const { json, repairs } = mend(text, PYTHON);
    expect(JSON.parse(json)).toEqual(value);
    expect(repairs).toEqual([]);
    expect(mend(text, PYTHON, text.split("")).json).toBe(json);
  });
});

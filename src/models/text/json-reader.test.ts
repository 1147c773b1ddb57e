import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Malformed, markerSet, Source } from "./text-source.ts";
import { type JsonDialect, readJson } from "./json-reader.ts";

const LENIENT: JsonDialect = { quotesUntil: markerSet(["</end>"]) };

function read(text: string, dialect = LENIENT, chunks = [text]) {
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
    read(text, dialect);
  } catch (thrown) {
    return thrown instanceof Malformed ? thrown.reason : String(thrown);
  }
  return "";
}

describe("valid JSON", () => {
  test("is written compactly, in any chunks, without repairs", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 1, 2, "\t"), fc.nat(), (value, space, seed) => {
        const text = JSON.stringify([value], null, space);
        const at = seed % text.length;
        for (const chunks of [[text], text.split(""), [text.slice(0, at), text.slice(at)]]) {
          expect(read(text, LENIENT, chunks)).toEqual({ json: JSON.stringify([value]), repairs: [], left: 0 });
        }
      }),
    );
  });

  test("is written while it arrives: a key before its value, a string before its end", () => {
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

describe("what has only one meaning is repaired and reported", () => {
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
    const { json, repairs } = read(text);
    expect(JSON.parse(json)).toEqual(value);
    expect(repairs).toContain(repair);
    expect(read(text, LENIENT, text.split("")).json).toBe(json);
  });
});

describe("what is ambiguous is rejected", () => {
  test.each([
    ['{"a": 1', "ended"],
    ['{"a": "x', "ended inside a string"],
    ['{"a" 1}', "expected a colon"],
    ['{"a": 1 "b": 2}', 'expected "," or "}"'],
    ['{"a": yes}', '"yes" in its JSON has no quotation marks'],
    ['{"a": 1-2}', "is not a number"],
    ['{"a": }', "expected a value"],
    [`${"[".repeat(80)}${"]".repeat(80)}`, "nested deeper than 64 levels"],
    [`{"a": ${"x".repeat(500)}}`, "too long"],
  ])("%s", (text, reason) => expect(reasonOf(text)).toContain(reason));
});

test("quotation marks inside strings are repaired only if enabled, and only up to the end of the call", () => {
  expect(reasonOf('{"a": "x" y</end>, "b"}')).toContain("not clear where a string in it ends");
  expect(JSON.parse(read('{"a": "</end> x"}').json)).toEqual({ a: "</end> x" });
  expect(reasonOf('{"a": "x "y" z"}', {})).toContain('expected "," or "}"');
});

const PYTHON: JsonDialect = { ...LENIENT, python: true };

describe("Python literals", () => {
  test.each([
    ["{'a': (1, 2), 'b': {'x', 'y'}, 3: None}", { a: [1, 2], b: ["x", "y"], 3: null }],
    [
      "{'a': 'it\\'s', 'b': \"q\\x41\\n\", 'c': '''one\n'two' three''', 'd': ''}",
      { a: "it's", b: "qA\n", c: "one\n'two' three", d: "" },
    ],
    ["{'a': 007, 'b': 1_000, 'c': 1., 'd': True}", { a: 7, b: 1000, c: 1, d: true }],
    ["{}", {}],
  ])("%s", (text, value) => {
    const { json, repairs } = read(text, PYTHON);
    expect(JSON.parse(json)).toEqual(value);
    expect(repairs).toEqual([]);
    expect(read(text, PYTHON, text.split("")).json).toBe(json);
  });
});

import { expect, test } from "vitest";
import { geminiFormat } from "./gemini.ts";
import { mistralFormat } from "./mistral.ts";
import { openaiFormat } from "./openai-chat.ts";
import { parseArguments } from "./model-calls.ts";

test.each([
  ["a trailing comma", '{"a": [1, 2,],}', { a: [1, 2] }],
  ["a code fence", '```json\n{"a": 1}\n```', { a: 1 }],
  ["Python literals", '{"a": True, "b": None}', { a: true, b: null }],
  ["a raw line break in a string", '{"a": "x\ny"}', { a: "x\ny" }],
  ["single quotation marks", "{'a': 'b'}", { a: "b" }],
  ["an extra bracket", '{"a": 1}}', { a: 1 }],
])("%s in arguments is repaired and reported", (_what, text, input) => {
  const parsed = parseArguments(text);
  expect(parsed.input).toEqual(input);
  expect(parsed.repairs).toHaveLength(_what === "Python literals" ? 2 : 1);
});

test.each([
  ["ends inside a string", '{"path": "/etc/pass'],
  ["ends after a number, which may be incomplete", '{"count": 1'],
  ["is two objects", '{"a": 1}{"a": 2}'],
  ["has a duplicate key", '{"a": 1, "a": 2}'],
  ["has words around it", 'Sure: {"a": 1}'],
  ["has a number that would lose digits", '{"a": 12345678901234567890}'],
])("arguments whose text %s stay unchanged for the gate", (_what, text) => {
  expect(parseArguments(text)).toEqual({ input: text, repairs: [] });
});

test("empty arguments are an empty object", () => {
  expect(parseArguments(" ")).toEqual({ input: {}, repairs: [] });
});

test("ids distinguish calls with the same index, and an id repeated in every chunk is one call", () => {
  const reader = openaiFormat.createReader();
  const push = (id: string | undefined, piece: string, index?: number): void =>
    reader.push({ choices: [{ delta: { tool_calls: [{ index, id, function: { name: "f", arguments: piece } }] } }] });
  push("a", '{"n":', 0);
  push("a", "1}", 0);
  push("b", '{"n":', 0);
  push(undefined, "2}", 0);
  push("c", '{"n":');
  push(undefined, "3}");
  expect(reader.calls()).toMatchObject([
    { id: "a", name: "f", input: { n: 1 } },
    { id: "b", input: { n: 2 } },
    { id: "c", input: { n: 3 } },
  ]);
});

test("an empty or duplicate id is replaced for the gate and restored for the provider", () => {
  const call = (id: string) => ({ id, function: { name: "f", arguments: "{}" } });
  const calls = openaiFormat.readCalls({ tool_calls: [call(""), call("same"), call("same")] });
  expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
  expect(openaiFormat.toMessages(calls, []).map((message) => message.tool_call_id)).toEqual(["", "same", "same"]);
});

test("a generated id stays the same while a stream continues", () => {
  const reader = mistralFormat.createReader();
  const push = (piece: string): void =>
    reader.push({
      data: {
        choices: [{ delta: { toolCalls: [{ id: "null", index: 0, function: { name: "f", arguments: piece } }] } }],
      },
    });
  push('{"a":');
  const [before] = reader.calls();
  push("1}");
  expect(reader.calls()).toMatchObject([{ id: before!.id, name: "f", input: { a: 1 } }]);
});

test("Gemini's streamed arguments are assembled by their paths", () => {
  const reader = geminiFormat.createReader();
  const push = (functionCall: object): void =>
    reader.push({ candidates: [{ content: { parts: [{ functionCall }] } }] });
  push({ name: "f", id: "g1", willContinue: true });
  push({ partialArgs: [{ jsonPath: "$.lines[0].text", stringValue: "Hel", willContinue: true }], willContinue: true });
  push({ partialArgs: [{ jsonPath: "$.lines[0].text", stringValue: "lo" }], willContinue: true });
  push({
    partialArgs: [
      { jsonPath: "$['a b']", numberValue: 2 },
      { jsonPath: "$.none", nullValue: "NULL_VALUE" },
    ],
    willContinue: true,
  });
  push({ partialArgs: [{ jsonPath: "$.__proto__.bad", boolValue: true }] });
  push({ name: "g", args: { n: 1 } });
  const [first, second] = reader.calls();
  expect(first).toMatchObject({ id: "g1", name: "f", input: { lines: [{ text: "Hello" }], "a b": 2, none: null } });
  expect(({} as Record<string, unknown>)["bad"]).toBeUndefined();
  expect(second).toMatchObject({ name: "g", input: { n: 1 } });
  expect(
    geminiFormat
      .toMessages([first!, second!], [])[0]!
      .parts.map((part) => "functionResponse" in part && part.functionResponse.id),
  ).toEqual(["g1", undefined]);
});

test("Gemini's schemas have one type each, lengths as strings, and null as nullable", () => {
  const parameters = {
    type: "object",
    properties: {
      a: { type: ["string", "null"], minLength: 2 },
      b: { anyOf: [{ type: "object", properties: { x: { type: "number" } } }, { type: "null" }] },
      c: { type: ["string", "integer", "array"] },
      d: { type: "array", items: {} },
      e: { anyOf: [{ type: "string" }, { type: "boolean" }] },
    },
    required: ["a"],
  };
  const { tools } = geminiFormat.toTools([
    { name: "f", description: "F", parameters },
    { name: "g", description: "G", parameters: { type: "object", properties: {} } },
  ]);
  expect(tools[0]!.parameters).toEqual({
    type: "OBJECT",
    properties: {
      a: { type: "STRING", nullable: true, minLength: "2" },
      b: { type: "OBJECT", nullable: true, properties: { x: { type: "NUMBER" } } },
      c: { anyOf: [{ type: "STRING" }, { type: "INTEGER" }, { type: "ARRAY", items: { type: "STRING" } }] },
      d: { type: "ARRAY", items: { type: "STRING" } },
      e: { anyOf: [{ type: "STRING" }, { type: "BOOLEAN" }] },
    },
    required: ["a"],
  });
  expect(tools[1]).toEqual({ name: "g", description: "G" });
});

import { describe, expect, test } from "vitest";
import { jsonResult } from "../core/result.ts";
import { readOutput } from "./tool-output.ts";

const textBlock = (text: string) => ({ type: "text", text });

describe("readOutput", () => {
  test.each([
    ["text", "hello", "hello", "hello"],
    ["a number", 42, "42", 42],
    ["null", null, "null", null],
    ["false", false, "false", false],
    ["an object", { a: 1 }, '{"a":1}', { a: 1 }],
    ["a list", [1, 2], "[1,2]", [1, 2]],
    ["a date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}', { at: "1970-01-01T00:00:00.000Z" }],
    ["a map", { m: new Map([["a", 1]]) }, '{"m":[["a",1]]}', { m: [["a", 1]] }],
    ["a file's content", { content: "text of a file" }, '{"content":"text of a file"}', { content: "text of a file" }],
    [
      "data with an empty content list",
      { content: [], total: 0 },
      '{"content":[],"total":0}',
      { content: [], total: 0 },
    ],
    ["data with a success", { success: true, total: 3 }, '{"success":true,"total":3}', { success: true, total: 3 }],
  ])("takes %s as plain data", (_what, value, text, details) => {
    expect(readOutput(value, false)).toMatchObject({ content: [textBlock(text)], details, error: undefined });
  });

  test("takes a ToolOutput apart", () => {
    expect(
      readOutput({ content: "for the model", details: { n: 1 }, display: "for a person", metadata: { m: 1 } }, false),
    ).toEqual({
      content: [textBlock("for the model")],
      details: { n: 1 },
      display: "for a person",
      metadata: { m: 1 },
      error: undefined,
      pending: undefined,
    });
  });

  test("accepts jsonResult and lists of content blocks", () => {
    expect(readOutput(jsonResult({ a: 1 }), false)).toMatchObject({ details: { a: 1 } });
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    expect(readOutput({ content: [textBlock("a"), image] }, false).content).toEqual([textBlock("a"), image]);
    expect(readOutput({ content: [] }, false)).toMatchObject({ content: [], details: undefined });
  });

  test("accepts results with the field names of other conventions", () => {
    expect(readOutput({ success: true, llmContent: "for the model", displayContent: "for you" }, false)).toMatchObject({
      content: [textBlock("for the model")],
      display: "for you",
    });
    expect(readOutput({ success: true, data: { n: 1 }, error: null }, false)).toMatchObject({
      details: { n: 1 },
      error: undefined,
    });
    expect(readOutput({ success: false, error: "broken" }, false)).toMatchObject({
      error: { code: "failed", message: "broken" },
    });
    expect(readOutput({ success: false, data: null }, false).error?.message).toContain("without saying why");
  });

  test("treats data that resembles a result as data if the tool declares its output", () => {
    expect(readOutput({ success: false, data: 1 }, true)).toMatchObject({
      details: { success: false, data: 1 },
      error: undefined,
    });
  });

  test("knows the codes of the table and no others", () => {
    const code = (error: unknown) => readOutput({ content: "x", error }, false).error;
    expect(code({ code: "exit_code", message: "1", data: { exitCode: 1 } })).toMatchObject({
      code: "exit_code",
      data: { exitCode: 1 },
    });
    expect(code({ code: "made_up", message: "m" })).toMatchObject({ code: "failed", message: "m", actor: "tool" });
    expect(code({ code: "toString", message: "m" })).toMatchObject({ code: "failed", message: "m", actor: "tool" });
    expect(code("text")).toMatchObject({ code: "failed", message: "text" });
    expect(code(null)).toBeUndefined();
  });

  test("accepts a pending answer only with a kind that somebody can resolve", () => {
    expect(readOutput({ content: "x", pending: { kind: "job", id: "j" } }, false).pending).toEqual({
      kind: "job",
      id: "j",
    });
    for (const pending of [true, { kind: "nobody", id: "x" }, { kind: { toString: () => "job" }, id: 1 }]) {
      expect(readOutput({ content: "x", pending }, false)).toMatchObject({
        pending: undefined,
        error: { code: "bad_output" },
      });
    }
  });

  test("keeps the readable part, and reports the rest with its place", () => {
    const read = readOutput({ rows: [{ ok: 1 }, { n: 5n }], when: Number.NaN }, false);
    expect(read.details).toEqual({ rows: [{ ok: 1 }, { n: "5" }], when: null });
    expect(read.error).toMatchObject({ code: "bad_output", data: { faults: ["rows[1].n: a BigInt became text"] } });
    expect(read.metadata).toEqual({ warnings: ["when: NaN became null"] });
  });

  test.each([
    ["a text", () => "x".repeat(100_000_000), /^output: 100000000 characters were cut to \d+$/],
    ["a field", () => ({ ok: 1, a: "x".repeat(100_000_000) }), /^a: 100000000 characters were cut to \d+$/],
    [
      "details",
      () => ({ content: "done", details: { a: "x".repeat(100_000_000) } }),
      /^details.a: 100000000 characters were cut to \d+$/,
    ],
    ["a list", () => Array.from({ length: 1_000_000 }, (_, i) => i), /^output: \d+ items were cut$/],
  ])("completes with %s of 100 MB, and says what was left out", (_what, create, part) => {
    const read = readOutput(create(), false);
    expect(read.error).toBeUndefined();
    const truncated = { reason: "result_too_large", parts: [expect.stringMatching(part)] };
    expect(read.metadata?.["truncated"]).toEqual(truncated);
    expect(JSON.stringify(read.content[0])).toContain("[result_too_large: ");
  });

  test.each([
    ["a promise that was not awaited", Promise.resolve(1), "Promise"],
    ["a generator", (function* () {})(), "Generator"],
    ["a response", new Response("text"), "Response"],
  ])("takes %s as lost, not as an empty object", (_what, value, name) => {
    expect(readOutput({ ok: 1, value }, false)).toMatchObject({
      details: { ok: 1 },
      error: { code: "bad_output", data: { faults: [`value: a ${name} was left out`] } },
    });
    expect(readOutput(value, false).error).toMatchObject({ code: "bad_output" });
  });

  test("leaves out a __proto__ key instead of setting a prototype", () => {
    const read = readOutput(JSON.parse('{"__proto__":{"polluted":true},"a":1}'), false);
    expect(read.details).toEqual({ a: 1 });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

test("of too many blocks as many are kept as fit, and the call stays completed", () => {
  const content = Array.from({ length: 50_001 }, (_, at) => ({ type: "text", text: `x${at}` }));
  const read = readOutput({ content, details: { a: 1 } }, false);
  expect(read.error).toBeUndefined();
  expect(read.details).toEqual({ a: 1 });
  expect(read.metadata?.["truncated"]).toBeDefined();
  expect(read.content.length).toBeGreaterThan(1000);
  expect(read.content.every((block) => block.type === "text" && typeof block.text === "string")).toBe(true);
});

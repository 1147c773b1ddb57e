import { describe, expect, test } from "vitest";
import type { OptionSpecs } from "./command.ts";
import { findCommand } from "./command-table.ts";
import { checkOperands, parseArguments, splitCommand, UsageError } from "./arguments.ts";

const SPECS = {
  quiet: { type: "flag", short: "q", about: "" },
  port: { type: "number", short: "p", about: "" },
  kind: { type: "text", about: "", oneOf: ["write", "readonly"] },
  deny: { type: "list", about: "" },
  timeout: { type: "duration", about: "" },
} as const satisfies OptionSpecs;
const parse = (...argv: string[]) => parseArguments(argv, SPECS);

describe("options", () => {
  test("stand anywhere, short and long, and are read by their types", () => {
    expect(parse("a", "-q", "--port=80", "b=-1", "--deny", "x,y", "--deny", "z", "--timeout", "1.5s")).toEqual({
      options: { quiet: true, port: 80, kind: undefined, deny: ["x", "y", "z"], timeout: 1500 },
      operands: ["a", "b=-1"],
      rest: [],
    });
    expect(parse("-qp", "1").options).toMatchObject({ quiet: true, port: 1 });
  });

  test("that nobody says are absent, false or an empty list of their own", () => {
    (parse("--deny", "x").options["deny"] as string[]).push("y");
    expect(parse().options).toEqual({ quiet: false, deny: [] });
  });

  test.each([
    [["--prot", "1"], "--prot", '"--port"'],
    [["--kind", "wriet"], "--kind", '"write"'],
    [["--port", "http"], "--port", ""],
    [["--port"], "--port", ""],
    [["--quiet=yes"], "--quiet", ""],
    [["--timeout", "5"], "--timeout", ""],
    [["--constructor", "5"], "--constructor", ""],
  ])("that are wrong are refused with what to write: %j", (argv, named, near) => {
    const refusal = (() => {
      try {
        parse(...argv);
      } catch (error) {
        return error as UsageError;
      }
      return undefined;
    })();
    expect(refusal).toBeInstanceOf(UsageError);
    expect(refusal!.message).toContain(named);
    expect(refusal!.next ?? "").toContain(near);
  });

  test("end at --, and what follows is passed on where the command takes it", () => {
    expect(parseArguments(["a", "--", "--port", "b"], SPECS, true)).toMatchObject({
      operands: ["a"],
      rest: ["--port", "b"],
    });
    expect(parse("a", "--", "--port", "b")).toMatchObject({ operands: ["a", "--port", "b"], rest: [] });
  });
});

test("a word that is missing, or one too many, is named", () => {
  const operands = [{ name: "NAME" }, { name: "FILE", isOptional: true }];
  expect(() => checkOperands([], { operands })).toThrow("NAME");
  expect(() => checkOperands(["a", "b", "c"], { operands })).toThrow('"c"');
  expect(() => checkOperands(["a", "b", "c"], { operands: [{ name: "WORDS", isRest: true }] })).not.toThrow();
  const client = [{ name: "CLIENT", oneOf: ["cursor", "codex"] }];
  expect(() => checkOperands(["cursor"], { operands: client })).not.toThrow();
  expect(() => checkOperands(["curser"], { operands: client })).toThrow('cursor, codex. It is "curser".');
});

describe("the command", () => {
  test("is found after the options that hold everywhere, and before its own", () => {
    expect(splitCommand(["-C", "folder", "tools", "--json", "list", "x"])).toEqual({
      words: ["tools", "list"],
      others: ["-C", "folder", "--json", "x"],
    });
    expect(splitCommand(["--port", "0"])).toEqual({ words: [], others: ["--port", "0"] });
    expect(splitCommand(["record", "file", "--", "tools", "list"])).toEqual({
      words: ["record", "file"],
      others: ["--", "tools", "list"],
    });
  });

  test("has one word or two, and a group alone gives its commands", () => {
    expect(findCommand(["undo", "call_1"])).toMatchObject({ entry: { path: "undo" }, used: 1 });
    expect(findCommand(["tools", "list"])).toMatchObject({ entry: { path: "tools list" }, used: 2 });
    expect(findCommand(["audit"])).toMatchObject({ group: "audit", entries: { length: 4 } });
    expect(() => findCommand(["tool", "list"])).toThrow('"tool"');
  });
});

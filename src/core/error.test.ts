import { describe, expect, test } from "vitest";
import {
  ERROR_CODES,
  failureText,
  isErrorCode,
  toFailure,
  ToolError,
  toolError,
  ToolNotFoundError,
  ToolPermissionError,
  ToolTimeoutError,
  ToolValidationError,
} from "./error.ts";

describe("the named errors", () => {
  test.each([
    [new ToolNotFoundError("x"), "ToolNotFoundError", "tool_not_found", 'Tool "x" not found'],
    [
      new ToolValidationError("x", ["a"], "Send a."),
      "ToolValidationError",
      "invalid_input",
      "Parameter validation failed. Send a.",
    ],
    [new ToolTimeoutError("x", 500), "ToolTimeoutError", "timeout", "Tool execution timed out after 500ms"],
    [new ToolPermissionError("x", "no"), "ToolPermissionError", "denied", "Permission denied: no"],
  ])("are thin names over ToolError, in the seed's words", (error, name, code, message) => {
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toMatchObject({ name, code, message, toolName: "x" });
  });

  test("append the next step as a separate sentence", () => {
    expect(toolError("failed", "It broke", { next: "Try again." }).message).toBe("It broke. Try again.");
    expect(toolError("failed", "Did it break?", { next: "Look." }).message).toBe("Did it break? Look.");
  });
});

describe("toFailure", () => {
  test("keeps what happened and what to do apart, and the text of a result joins them", () => {
    const thrown = toolError("busy", "It is busy", { next: "Wait." });
    expect(thrown).toMatchObject({ message: "It is busy. Wait.", summary: "It is busy", next: "Wait." });
    expect(toFailure(thrown)).toMatchObject({ message: "It is busy", next: "Wait." });
    const older = Object.assign(toolError("busy", "It is busy. Wait."), { summary: undefined });
    expect(toFailure(older)).toMatchObject({ message: "It is busy. Wait." });
    expect(failureText(toFailure(thrown))).toBe(thrown.message);
  });

  test("keeps code, data and message of our own errors", () => {
    expect(toFailure(toolError("busy", "later", { data: { n: 1 } }))).toEqual({
      code: "busy",
      message: "later",
      actor: "runtime",
      retryable: true,
      name: "ToolError",
      data: { n: 1 },
    });
  });

  test.each([
    [new TypeError("wrong"), "wrong", "TypeError"],
    [new Error(""), "Error", "Error"],
    ["text", "text", "Error"],
    [null, "The tool threw null.", "Error"],
    [undefined, "The tool threw undefined.", "Error"],
    [42, "The tool threw 42.", "Error"],
    [Symbol("s"), "The tool threw Symbol(s).", "Error"],
    [{ a: 1 }, "The tool threw a value that is not an Error (object).", "Error"],
  ])("makes data of %o", (thrown, message, name) => {
    expect(toFailure(thrown)).toEqual({ code: "failed", message, actor: "tool", retryable: false, name });
  });

  test("converts attached data to plain data", () => {
    const cycle: Record<string, unknown> = { n: 1n, f: () => 1 };
    cycle["self"] = cycle;
    const { data } = toFailure(toolError("failed", "x", { data: cycle }));
    expect(JSON.parse(JSON.stringify(data))).toEqual(data);
  });

  test("keeps the message of an error with an unknown code", () => {
    for (const code of ["made_up", "constructor", "__proto__", 5]) {
      expect(toFailure(toolError(code as never, "still here"))).toMatchObject({
        code: "failed",
        message: "still here",
        actor: "tool",
      });
    }
  });

  test("never throws, and always returns text", () => {
    const evil = Object.assign(new Error("x"), {
      message: {
        toString: () => {
          throw new Error("no");
        },
      },
    });
    const unnamed = Object.assign(new Error(""), { name: { deep: 1 } });
    for (const thrown of [
      evil,
      unnamed,
      new Proxy(
        {},
        {
          getPrototypeOf: () => {
            throw new Error("no");
          },
        },
      ),
    ]) {
      expect(toFailure(thrown)).toMatchObject({
        code: "failed",
        message: expect.any(String),
        name: expect.any(String),
      });
    }
  });
});

test("the table is closed: every code has an actor, and nothing else is a code", () => {
  for (const [code, { actor, retryable }] of Object.entries(ERROR_CODES)) {
    expect(isErrorCode(code)).toBe(true);
    expect(["model", "policy", "caller", "tool", "runtime"]).toContain(actor);
    expect(retryable).toBeTypeOf("boolean");
  }
  for (const other of ["toString", "", null, 1, "FAILED"]) expect(isErrorCode(other)).toBe(false);
});

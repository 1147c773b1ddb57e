import { expect, test } from "vitest";
import { createEnvOverlay } from "./shell-environment.ts";

test("set and unset return the previous value", () => {
  const overlay = createEnvOverlay();
  expect(overlay.set("APP_MODE", "test")).toBeUndefined();
  expect(overlay.set("APP_MODE", "a\nb")).toBe("test");
  expect(overlay.get("APP_MODE")).toBe("a\nb");
  expect([...overlay.entries()]).toEqual([["APP_MODE", "a\nb"]]);
  expect(overlay.unset("APP_MODE")).toBe("a\nb");
  expect(overlay.get("APP_MODE")).toBeUndefined();
});

test.each([
  "",
  "A B",
  "A=B",
  "1A",
  "A\0",
  "\u0410PP",
  "NODE_OPTIONS ",
  "A-B",
  "constructor",
  "__proto__",
  "toString",
  "prototype",
])("%j is not a valid name", (name) => {
  expect(() => createEnvOverlay().set(name, "x")).toThrow(expect.objectContaining({ code: "invalid_input" }));
});

test.each(["LD_PRELOAD", "ld_preload", "Node_Options"])(
  "%s is denied, and the message names an alternative",
  (name) => {
    const overlay = createEnvOverlay();
    expect(() => overlay.set(name, "x")).toThrow(expect.objectContaining({ code: "name_denied" }));
    expect(() => overlay.set(name, "x")).toThrow(/in front of the command/);
    expect(overlay.get(name)).toBeUndefined();
  },
);

test("values that are too long and too many names are refused", () => {
  const overlay = createEnvOverlay();
  expect(() => overlay.set("A", "x\0y")).toThrow(expect.objectContaining({ code: "invalid_input" }));
  expect(() => overlay.set("A", "x".repeat(131_070))).toThrow(expect.objectContaining({ code: "input_too_large" }));
  expect(overlay.set("A", "x".repeat(131_069))).toBeUndefined();
  for (let count = 1; count < 256; count++) overlay.set(`NAME${count}`, "x");
  expect(() => overlay.set("ONE_MORE", "x")).toThrow(expect.objectContaining({ code: "too_large" }));
  expect(overlay.set("A", "changed")).toHaveLength(131_069);
});

import { describe, expect, test } from "vitest";
import { EventEmitter } from "./emitter.ts";
import type { ToolEvent } from "./event.ts";

const event: ToolEvent = { type: "tool_registered", at: 1, toolName: "a", source: "own" };

describe("the emitter", () => {
  test("tells those who listen to the type, and those who listen to everything", () => {
    const emitter = new EventEmitter();
    const heard: string[] = [];
    emitter.on("tool_registered", () => void heard.push("type"));
    emitter.on("tool_unregistered", () => void heard.push("other"));
    emitter.on("*", () => void heard.push("all"));
    emitter.emit(event);
    expect(heard).toEqual(["type", "all"]);
  });

  test("says whether anybody would hear", () => {
    const emitter = new EventEmitter();
    expect(emitter.hears("tool_registered")).toBe(false);
    const listener = (): void => {};
    const stop = emitter.on("tool_registered", listener);
    const stopAgain = emitter.on("tool_registered", listener);
    expect([emitter.hears("tool_registered"), emitter.hears("tool_unregistered")]).toEqual([true, false]);
    stop();
    stopAgain();
    stop();
    expect(emitter.hears("tool_registered")).toBe(false);
    const stopAll = emitter.on("*", () => {});
    expect(emitter.hears("tool_unregistered")).toBe(true);
    stopAll();
    expect(emitter.hears("tool_unregistered")).toBe(false);
  });

  test("goes on after a listener that throws or rejects, and reports each", async () => {
    const reported: unknown[] = [];
    const emitter = new EventEmitter((error, about) => void reported.push([(error as Error).message, about.type]));
    const heard: string[] = [];
    emitter.on("tool_registered", () => {
      throw new Error("sync");
    });
    emitter.on("tool_registered", (async () => {
      throw new Error("async");
    }) as () => void);
    emitter.on("tool_registered", () => void heard.push("last"));
    emitter.emit(event);
    expect(heard).toEqual(["last"]);
    await Promise.resolve();
    expect(reported).toEqual([
      ["sync", "tool_registered"],
      ["async", "tool_registered"],
    ]);
  });

  test("survives a reporter that throws", async () => {
    const emitter = new EventEmitter(() => {
      throw new Error("reporter");
    });
    emitter.on("*", () => {
      throw new Error("sync");
    });
    emitter.on("*", (() => Promise.reject(new Error("async"))) as () => void);
    expect(() => emitter.emit(event)).not.toThrow();
    await new Promise((done) => setImmediate(done));
  });

  test("lets a listener stop itself, or another, while it is told", () => {
    const emitter = new EventEmitter();
    const heard: string[] = [];
    const stop = emitter.on("*", () => {
      heard.push("once");
      stop();
      stopOther();
    });
    const stopOther = emitter.on("*", () => void heard.push("never"));
    emitter.emit(event);
    emitter.emit(event);
    expect(heard).toEqual(["once"]);
  });
});

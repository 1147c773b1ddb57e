import { describe, expect, test } from "vitest";
import { EventEmitter, type ToolEvent } from "./events.ts";

const event: ToolEvent = { type: "tool_registered", at: 1, toolName: "a", source: "own" };

describe("the emitter", () => {
  test("calls the listeners of the type and the listeners of all events", () => {
    const emitter = new EventEmitter();
    const received: string[] = [];
    emitter.on("tool_registered", () => void received.push("type"));
    emitter.on("tool_unregistered", () => void received.push("other"));
    emitter.on("*", () => void received.push("all"));
    emitter.emit(event);
    expect(received).toEqual(["type", "all"]);
  });

  test("reports whether there are listeners", () => {
    const emitter = new EventEmitter();
    expect(emitter.hasListeners("tool_registered")).toBe(false);
    const listener = (): void => {};
    const stop = emitter.on("tool_registered", listener);
    const stopAgain = emitter.on("tool_registered", listener);
    expect([emitter.hasListeners("tool_registered"), emitter.hasListeners("tool_unregistered")]).toEqual([true, false]);
    stop();
    stopAgain();
    stop();
    expect(emitter.hasListeners("tool_registered")).toBe(false);
    const stopAll = emitter.on("*", () => {});
    expect(emitter.hasListeners("tool_unregistered")).toBe(true);
    stopAll();
    expect(emitter.hasListeners("tool_unregistered")).toBe(false);
  });

  test("continues after a listener that throws or rejects, and reports each", async () => {
    const reported: unknown[] = [];
    const emitter = new EventEmitter((error, about) => void reported.push([(error as Error).message, about.type]));
    const received: string[] = [];
    emitter.on("tool_registered", () => {
      throw new Error("sync");
    });
    emitter.on("tool_registered", (async () => {
      throw new Error("async");
    }) as () => void);
    emitter.on("tool_registered", () => void received.push("last"));
    emitter.emit(event);
    expect(received).toEqual(["last"]);
    await Promise.resolve();
    expect(reported).toEqual([
      ["sync", "tool_registered"],
      ["async", "tool_registered"],
    ]);
  });

  test("survives an error handler that throws", async () => {
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

  test("lets a listener unsubscribe itself or another during an event", () => {
    const emitter = new EventEmitter();
    const received: string[] = [];
    const stop = emitter.on("*", () => {
      received.push("once");
      stop();
      stopOther();
    });
    const stopOther = emitter.on("*", () => void received.push("never"));
    emitter.emit(event);
    emitter.emit(event);
    expect(received).toEqual(["once"]);
  });
});

import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { boundedJson, ProtocolLog } from "./protocol-log.ts";

describe("the protocol log", () => {
  test("pairs responses with their requests, in both directions", async () => {
    const clock = createFakeClock();
    const log = new ProtocolLog(clock);
    log.push("sent", { jsonrpc: "2.0", id: 1, method: "tools/list" });
    log.push("received", { jsonrpc: "2.0", id: 1, method: "roots/list" });
    await clock.advance(30);
    log.push("received", { jsonrpc: "2.0", id: 1, result: { tools: [] } });
    log.push("sent", { jsonrpc: "2.0", id: 1, error: { code: -1, message: "no" } });
    log.push("received", { jsonrpc: "2.0", method: "notifications/progress" });
    expect(log.entries().map(({ text: _text, at: _at, ...entry }) => entry)).toEqual([
      { number: 1, direction: "sent", kind: "request", method: "tools/list" },
      { number: 2, direction: "received", kind: "request", method: "roots/list" },
      { number: 3, direction: "received", kind: "response", method: "tools/list", durationMs: 30 },
      { number: 4, direction: "sent", kind: "error", method: "roots/list", durationMs: 30 },
      { number: 5, direction: "received", kind: "notification", method: "notifications/progress" },
    ]);
    expect(log.entries(4)).toHaveLength(1);
  });

  test("keeps the last messages, each cut, and masks secrets", () => {
    const log = new ProtocolLog(createFakeClock());
    for (let id = 0; id < 500; id++) {
      log.push("sent", { jsonrpc: "2.0", id, method: "x", params: { text: "y".repeat(100_000) } });
    }
    const entries = log.entries();
    expect(entries).toHaveLength(200);
    expect(entries.at(-1)).toMatchObject({ number: 500 });
    expect(Math.max(...entries.map(({ text }) => text.length))).toBeLessThan(5000);
    const shown = boundedJson(
      { apiKey: "abc123456", list: ["Bearer abcdefgh1234", 1, null], deep: { token: "t0ps3cret" } },
      4000,
    );
    expect(shown).not.toMatch(/abc123456|abcdefgh1234|t0ps3cret/);
    expect(JSON.parse(shown)).toMatchObject({ list: ["Bearer [hidden]", 1, null] });
    // A cut inside a secret does not show its beginning.
    expect(boundedJson({ text: `${"a".repeat(80)} sk-${"b".repeat(40)}` }, 100)).not.toContain("bbbb");
  });
});

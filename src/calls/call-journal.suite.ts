import { describe, expect, test } from "vitest";
import type { ToolResult } from "../core/result.ts";
import type { CallJournal } from "./call-journal.ts";

const result = (details: unknown): ToolResult => ({
  callId: "c",
  toolName: "t",
  status: "completed",
  success: true,
  content: [{ type: "text", text: "done: ü \0 \ud800" }],
  display: "done",
  details,
  metadata: { warnings: ["w"] },
  startedAt: 1,
  completedAt: 3,
  durationMs: 2,
});

/** What the gate may rely on, wherever calls are remembered. */
export function describeCallJournal(name: string, open: () => CallJournal | Promise<CallJournal>): void {
  describe(`a journal in ${name}`, () => {
    test("knows nothing of a key until it is begun, and then that it runs", async () => {
      const journal = await open();
      expect(await journal.find("k", "f")).toBeUndefined();
      expect(await journal.begin("k", "f")).toBeUndefined();
      expect(await journal.find("k", "f")).toMatchObject({ state: "running" });
      expect(await journal.find("other", "f")).toBeUndefined();
    });

    test("gives back the result as it was, until it is forgotten", async () => {
      const journal = await open();
      await journal.begin("k", "f");
      const given = result({ list: [1, { a: "x" }] });
      await journal.end("k", given);
      (given.details as { list: unknown[] }).list.push("changed later");
      expect(await journal.find("k", "f")).toEqual({ state: "done", result: result({ list: [1, { a: "x" }] }) });
      await journal.forget("k");
      expect(await journal.find("k", "f")).toBeUndefined();
      expect(await journal.begin("k", "f")).toBeUndefined();
    });

    test("says when a key stands for another call, running or done", async () => {
      const journal = await open();
      await journal.begin("k", "f");
      expect(await journal.find("k", "g")).toEqual({ state: "other" });
      expect(await journal.begin("k", "g", { again: true })).toEqual({ state: "other" });
      await journal.end("k", result(1));
      expect(await journal.find("k", "g")).toEqual({ state: "other" });
    });

    test("lets one of many begin, and tells the others what stands there", async () => {
      const journal = await open();
      const begun = await Promise.all(Array.from({ length: 20 }, async () => await journal.begin("k", "f")));
      expect(begun.filter((entry) => entry === undefined)).toHaveLength(1);
      expect(begun.filter((entry) => entry?.state === "running")).toHaveLength(19);
      await journal.end("k", result(5));
      expect(await journal.begin("k", "f", { again: true })).toMatchObject({ state: "done", result: { details: 5 } });
    });

    test("does not mind the end of what was never begun", async () => {
      const journal = await open();
      await journal.end("k", result(1));
      await journal.forget("k");
      expect(await journal.find("k", "f")).toBeUndefined();
    });

    test("takes keys and fingerprints of any length and with any character", async () => {
      const journal = await open();
      const [key, fingerprint] = ["k\0\ud800'".repeat(5000), "f\0".repeat(500_000)];
      await journal.begin(key, fingerprint);
      await journal.end(key, result(1));
      expect(await journal.find(key, fingerprint)).toMatchObject({ state: "done" });
      expect(await journal.find(key, `${fingerprint}!`)).toEqual({ state: "other" });
      expect(await journal.find(`${key}!`, fingerprint)).toBeUndefined();
    });
  });
}

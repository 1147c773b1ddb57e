// The judge of the harness must find what it is there for.
import { expect, test } from "vitest";
import { aQuestion } from "../../../src/calls/approval.fixture.ts";
import type { StoredCall } from "../../../src/calls/stored-call.ts";
import { judge } from "./judge.ts";
import type { Heard, Played } from "./play.ts";
import { scheduleOf } from "./schedule.ts";

const PID = 7;

function round(row: Partial<StoredCall>, more: Partial<Played> = {}, heard: Partial<Heard>[] = []): string[] {
  const ended = aQuestion({ state: "ended", answer: { approved: true }, owner: "o", epoch: 1, ...row });
  return judge({
    schedule: scheduleOf(0),
    item: "item",
    rows: [ended],
    heard: heard.map((told) => ({ party: "asker", said: "completed", text: "", waits: true, ...told })),
    effects: [PID],
    hung: [],
    hasKilled: false,
    owners: new Map([[ended.id, PID]]),
    lost: new Set(),
    ...more,
  });
}

test("a call that completed, and whose parties were told so, has no faults", () => {
  expect(round({ outcome: "completed" }, {}, [{}, { said: "killed" }])).toEqual([]);
});

test.each<[string, RegExp, ...Parameters<typeof round>]>([
  ["ran twice", /^doubled/, { outcome: "completed" }, { effects: [PID, PID] }],
  ["completed without an effect", /^false/, { outcome: "completed" }, { effects: [] }],
  ["ran in another process than its row says", /^false/, { outcome: "completed" }, { effects: [8] }],
  ["ran without an approval", /^unasked/, { outcome: "completed", answer: undefined }],
  ["ran after a denial", /^unasked/, { outcome: "denied", answer: { approved: false } }],
  ["is unknown, although its process lives", /^false/, { outcome: "unknown" }],
  ["was denied by nobody", /^false/, { outcome: "denied" }, { effects: [] }],
  ["expired", /^lost/, { outcome: "expired" }, { effects: [] }],
  ["never ended", /^lost/, { state: "approved", outcome: undefined }, { effects: [] }],
  ["left a party without an answer", /^hung/, { outcome: "completed" }, { hung: ["asker"] }],
  [
    "completed, and a party was told that it is unknown",
    /^false/,
    { outcome: "completed" },
    {},
    [{ said: "unknown_outcome" }],
  ],
  ["completed, and a party that waits was told pending", /^false/, { outcome: "completed" }, {}, [{ said: "pending" }]],
])("finds a call that %s", (_what, fault, row, more, heard) => {
  expect(round(row, more, heard)).toContainEqual(expect.stringMatching(fault));
});

test("an unknown outcome is true only if the process that ran the call was killed", () => {
  const row = aQuestion({ state: "ended", outcome: "unknown", answer: { approved: true }, owner: "o", epoch: 1 });
  const more = { rows: [row], owners: new Map([[row.id, PID]]) };
  expect(round({}, { ...more, lost: new Set([row.id]) })).toEqual([]);
  expect(round({}, { ...more, lost: new Set(["another"]), hasKilled: true })).toHaveLength(1);
});

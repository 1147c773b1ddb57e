// What the transitions write. When they apply is compared with the model, on every row of it, in test/calls/model.
import { describe, expect, test } from "vitest";
import type { PendingResult, ToolResult } from "../core/result.ts";
import { aQuestion } from "./approval.fixture.ts";
import {
  approve,
  cancel,
  change,
  claim,
  deny,
  end,
  expire,
  giveBack,
  hold,
  lose,
  loseTaken,
  refuse,
  requeue,
  restart,
  resume,
  saveProgram,
  type StoredCall,
  suspend,
  take,
  type Transition,
} from "./stored-call.ts";

const NOW = 1_000_000;
const MINUTE = 60_000;
const RESULT = { status: "completed" } as ToolResult;
const PENDING = { status: "pending" } as PendingResult;
const job = { id: "j", seq: 1, priority: 0, runAt: 0, attempt: 2, attempts: 3, round: 1 };
const cancelled = { ...job, cancel: { reason: "stop" } };
const row = (more: Partial<StoredCall>): StoredCall => aQuestion({ key: "k", ...more });
const running = (more: Partial<StoredCall> = {}) => row({ state: "running", owner: "me", epoch: 1, ...more });
const taken = (more: Partial<StoredCall> = {}) => row({ state: "approved", holder: "me", holdUntil: 1, job, ...more });
const apply = (transition: Transition, to: StoredCall) => transition(to, NOW);

describe("a job", () => {
  test("that a worker takes counts the attempt, and belongs to the worker until it is given back", () => {
    expect(apply(take("me", "w"), row({ state: "approved", job }))).toEqual({
      ...{ holder: "me", holdUntil: Number.MAX_SAFE_INTEGER },
      job: { ...job, worker: "w", startedAt: NOW, attempt: 3 },
    });
  });

  test("that was started is queued again by its owner only, and the attempt counts if it is said so", () => {
    const start = { epoch: 1, began: true };
    const started = running({ job });
    expect(apply(requeue("me", { start, inMs: 500, counts: true }), started)).toMatchObject({
      ...{ state: "approved", owner: undefined, holder: undefined, holdUntil: undefined, epoch: 1 },
      job: { ...job, runAt: NOW + 500, attempt: 2 },
    });
    expect(apply(requeue("me", { start, inMs: 0, counts: false }), started)).toMatchObject({ job: { attempt: 1 } });
    expect(apply(requeue("you", { start, inMs: 0, counts: true }), started)).toBeUndefined();
  });

  test("that was not started is queued again by the worker that has it only", () => {
    const again = (me: string, to: StoredCall) => apply(requeue(me, { inMs: 0, counts: true }), to);
    expect(again("me", taken())).toMatchObject({ state: "approved", holder: undefined, epoch: 0 });
    expect(again("you", taken())).toBeUndefined();
    expect(again("me", running({ job, holder: "me" }))).toBeUndefined();
    expect(again("me", row({ state: "approved", job }))).toBeUndefined();
    expect(again("me", taken({ job: cancelled }))).toMatchObject({ outcome: "cancelled", note: "stop" });
  });

  test("that is refused keeps its key only if it was completed, and reports why it was cancelled", () => {
    const refused = (outcome: "completed" | "failed" | "cancelled", more = {}) =>
      apply(refuse("me", { outcome, result: RESULT }), taken(more));
    const ended = { state: "ended", result: RESULT, endedAt: NOW };
    expect(refused("completed")).toEqual({ ...ended, outcome: "completed", key: "k" });
    expect(refused("failed")).toEqual({ ...ended, outcome: "failed", key: undefined });
    expect(refused("cancelled")).toMatchObject({ ...ended, outcome: "cancelled", key: undefined });
    // An earlier start may have done something.
    expect(refused("cancelled", { epoch: 1 })).toEqual({ state: "ended", outcome: "unknown", endedAt: NOW });
  });

  test("whose worker disappears is given to another one, five times, unless it was cancelled", () => {
    const lost = (more: Partial<StoredCall>) => apply(loseTaken("me"), taken(more));
    expect(lost({ lost: 4 })).toEqual({
      ...{ holder: undefined, holdUntil: undefined, lost: 5 },
      job: { ...job, attempt: 1 },
    });
    expect(lost({ lost: 5 })).toMatchObject({ outcome: "cancelled", note: "6 workers ended while they had it" });
    expect(lost({ job: cancelled })).toMatchObject({ outcome: "cancelled", note: "stop" });
  });

  test("that a worker has is cancelled by that worker", () => {
    const marked = { job: { ...job, cancel: { reason: "stop" } } };
    expect(apply(cancel("stop"), taken())).toEqual(marked);
    expect(apply(cancel("stop"), running({ job }))).toEqual(marked);
    expect(apply(cancel("stop"), row({ state: "approved", job }))).toMatchObject({
      ...{ state: "ended", outcome: "cancelled", note: "stop", result: undefined },
    });
  });
});

describe("a program", () => {
  test("is saved and suspended by the start that runs it only", () => {
    expect(apply(saveProgram("me", 1, PENDING), running())).toEqual({ result: PENDING });
    expect(apply(suspend("me", 1, PENDING), running())).toEqual({
      ...{ state: "suspended", owner: undefined, result: PENDING },
    });
    for (const other of [running({ owner: "you" }), running({ epoch: 2 }), row({ state: "suspended", epoch: 1 })]) {
      expect(apply(saveProgram("me", 1, PENDING), other)).toBeUndefined();
      expect(apply(suspend("me", 1, PENDING), other)).toBeUndefined();
    }
  });

  test("is resumed once, and can be cancelled while it waits", () => {
    const waits = row({ state: "suspended", epoch: 1, result: PENDING });
    expect(apply(resume("me"), waits)).toEqual({ state: "running", owner: "me", epoch: 2, begunAt: NOW });
    for (const state of ["waiting", "approved", "running", "ended"] as const) {
      expect(apply(resume("me"), row({ state }))).toBeUndefined();
    }
    expect(apply(cancel("stop"), waits)).toMatchObject({ outcome: "unknown", note: "stop", result: undefined });
  });
});

describe("a call whose process disappears", () => {
  const lost = (more: Partial<StoredCall>) => apply(lose("me"), running({ repeatable: true, ...more }));
  const unknown = { state: "ended", outcome: "unknown", endedAt: NOW, result: undefined };

  test("waits again if it may run twice, as what it was", () => {
    expect(lost({ result: PENDING, lost: 1 })).toEqual({ state: "suspended", owner: undefined, lost: 2 });
    expect(lost({ job, lost: 4 })).toEqual({
      ...{ holder: undefined, holdUntil: undefined, state: "approved", lost: 5 },
      job: { ...job, attempt: 1 },
    });
    expect(lost({})).toMatchObject({ state: "approved", lost: 1, deadline: NOW + MINUTE });
  });

  test("is unknown if it may not run twice, was cancelled, or was lost five times", () => {
    for (const more of [{ job }, { result: PENDING }, {}]) {
      expect(lost({ ...more, repeatable: false })).toEqual(unknown);
      expect(lost({ ...more, lost: 5 })).toEqual(unknown);
    }
    expect(lost({ job: cancelled })).toEqual(unknown);
    expect(lost({ question: undefined })).toEqual(unknown);
    expect(lost({ owner: "you" })).toBeUndefined();
  });

  test("is started again only while its outcome is unknown", () => {
    const ended = row({ state: "ended", outcome: "unknown", epoch: 1 });
    expect(apply(restart("me"), ended)).toMatchObject({ state: "running", owner: "me", epoch: 2, outcome: undefined });
    expect(apply(restart("me"), row({ state: "ended", outcome: "completed" }))).toBeUndefined();
  });
});

describe("the deadline", () => {
  test("leaves a minute to use an approval, and is never earlier than it was", () => {
    for (const [deadline, expected] of [
      [undefined, NOW + MINUTE],
      [NOW + 1, NOW + MINUTE],
      [NOW + 2 * MINUTE, NOW + 2 * MINUTE],
    ] as const) {
      expect(
        apply(
          approve({ approved: true }, () => false),
          row({ deadline }),
        ),
      ).toMatchObject({ deadline: expected });
      expect(apply(giveBack("me", 1), running({ deadline }))).toMatchObject({ deadline: expected, epoch: 0 });
    }
  });

  test.each([
    [999, "999 ms"],
    [1000, "1 s"],
    [119_999, "120 s"],
    [120_000, "2 min"],
    [7_199_999, "120 min"],
    [7_200_000, "2 h"],
  ])("of %i ms that nobody met is told as %s", (ms, shown) => {
    expect(
      apply(
        expire(() => true),
        row({ createdAt: 10, deadline: 10 + ms }),
      ),
    ).toMatchObject({
      ...{ outcome: "expired", note: `nobody answered within ${shown}` },
    });
  });

  test("of an approved call says that it was not started", () => {
    expect(
      apply(
        expire(() => true),
        row({ state: "approved" }),
      ),
    ).toMatchObject({ note: "the approved call was not started in time" });
    expect(
      apply(
        expire(() => true),
        row({ deadline: undefined, createdAt: NOW - 5 }),
      ),
    ).toMatchObject({ note: "nobody answered within 5 ms" });
    expect(
      apply(
        expire(() => false),
        row({}),
      ),
    ).toBeUndefined();
  });
});

test("a call that did not run says why and frees its key, except if it was denied", () => {
  expect(
    apply(
      deny({ approved: false, reason: "no" }, () => false),
      row({}),
    ),
  ).toMatchObject({
    ...{ outcome: "denied", note: "no", key: "k" },
  });
  expect(apply(change("me", "other"), row({}))).toMatchObject({ outcome: "changed", note: "other", key: undefined });
  expect(apply(cancel("stop"), row({}))).toMatchObject({ outcome: "cancelled", note: "stop", key: undefined });
  const stopped = end("me", 1, { outcome: "cancelled", result: RESULT, releasesKey: false });
  expect(apply(stopped, running())).toMatchObject({ outcome: "cancelled", result: RESULT, key: undefined });
  expect(apply(stopped, row({ state: "ended", outcome: "unknown", owner: "me", epoch: 1 }))).toMatchObject({
    ...{ outcome: "cancelled", result: RESULT },
  });
  expect(
    apply(end("me", 2, { outcome: "cancelled", result: RESULT, releasesKey: false }), running({ epoch: 2 })),
  ).toEqual({
    ...{ state: "ended", outcome: "unknown", endedAt: NOW, note: undefined },
  });
});

test("another process starts a call when its holder's promise has ended, not before", () => {
  const held = (holdUntil: number) => row({ state: "approved", holder: "you", holdUntil });
  const start = claim("me", () => false);
  expect(apply(start, held(NOW))).toMatchObject({ state: "running", owner: "me" });
  expect(apply(start, held(NOW + 1))).toBeUndefined();
  expect(apply(hold("me", NOW + 5), held(NOW + 1))).toBeUndefined();
});

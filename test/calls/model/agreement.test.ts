// The transitions of the product do what the statements of the model do, on every row of the model.
import { expect, test } from "vitest";
import * as product from "../../../src/calls/stored-call.ts";
import type { StoredCall, Transition } from "../../../src/calls/stored-call.ts";
import { NOBODY, type Row, Statements } from "./statements.ts";

const ME = 0;
const OTHER = 1;
const NOW = 1000;
const JOB = { id: "j", seq: 1, priority: 0, runAt: 0, attempt: 1, attempts: 1, round: 1 };
const RESULT = { status: "completed" } as never;

const model = new Statements([]);
const isExpired = ({ deadline = 0 }: StoredCall): boolean => deadline <= NOW;
const nameOf = (process: number): string | undefined => (process === NOBODY ? undefined : `p${process}`);

interface Pair {
  statement(row: Row): boolean | void;
  transition: Transition;
}

/** A dead holder or owner is a name in the product, and an entry of a list in the model. */
function pairsFor(dead: number | undefined): Record<string, Pair> {
  const deemedDead = [false, dead === OTHER];
  const deadName = dead === undefined ? undefined : nameOf(dead);
  const me = "p0";
  const ended = (outcome: "completed" | "cancelled") => ({ outcome, result: RESULT, releasesKey: false });
  return {
    approve: { statement: (row) => model.approve(row), transition: product.approve({ approved: true }, isExpired) },
    deny: { statement: (row) => model.deny(row), transition: product.deny({ approved: false }, isExpired) },
    claim: {
      statement: (row) => model.claim(row, ME, deemedDead),
      transition: product.claim(me, isExpired, deadName),
    },
    end: { statement: (row) => model.end(row, ME, 1, "completed"), transition: product.end(me, 1, ended("completed")) },
    "end as cancelled": {
      statement: (row) => model.end(row, ME, 2, "cancelled"),
      transition: product.end(me, 2, ended("cancelled")),
    },
    enqueue: {
      statement: (row) => model.enqueue(row, ME, 1),
      transition: product.enqueue(me, 1, { request: {} as never, job: JOB }),
    },
    take: { statement: (row) => model.take(row, ME), transition: product.take(me, "worker") },
    refuse: {
      statement: (row) => model.refuse(row, ME),
      transition: product.refuse(me, { outcome: "cancelled", result: RESULT }),
    },
    "requeue after an effect": {
      statement: (row) => row.isJob && model.requeue(row, ME, { epoch: 1, began: true }),
      transition: product.requeue(me, { start: { epoch: 1, began: true }, inMs: 0, counts: true }),
    },
    "requeue before an effect": {
      statement: (row) => row.isJob && model.requeue(row, ME, { epoch: 1, began: false }),
      transition: product.requeue(me, { start: { epoch: 1, began: false }, inMs: 0, counts: false }),
    },
    "lose taken": {
      statement: (row) => model.loseTaken(row, deemedDead),
      transition: product.loseTaken(deadName ?? "nobody"),
    },
    "give back": { statement: (row) => model.giveBack(row, ME, 1), transition: product.giveBack(me, 1) },
    change: {
      statement: (row) => model.change(row, ME, deemedDead),
      transition: product.change(me, "the file", deadName),
    },
    release: { statement: (row) => model.release(row, ME), transition: product.release(me) },
    hold: {
      statement: (row) => model.hold(row, ME, deemedDead),
      transition: product.hold(me, NOW + 1, deadName),
    },
    cancel: {
      // Of a running call the model notes a request; the product aborts the call of its own process.
      statement: (row) => (row.state === "running" && !row.isJob ? false : (model.cancel(row), true)),
      transition: product.cancel("not wanted"),
    },
    expire: { statement: (row) => model.expire(row), transition: product.expire(isExpired) },
    lose: {
      statement: (row) => model.lose(row, deemedDead, false),
      transition: product.lose(deadName ?? "nobody"),
    },
    restart: { statement: (row) => model.restart(row, ME), transition: product.restart(me) },
  };
}

/** Whether it is a job, and whether its worker should stop it. */
const JOBS = [
  [false, false],
  [true, false],
  [true, true],
] as const;

function* rows(): Generator<Row> {
  const outcomes = ["completed", "failed", "denied", "expired", "cancelled", "changed", "unknown"] as const;
  const ends = outcomes.map((outcome) => ({ state: "ended" as const, outcome }));
  const open = (["waiting", "approved", "running"] as const).map((state) => ({ state, outcome: "" as const }));
  for (const start of [...open, ...ends])
    for (const epoch of start.state === "running" ? [1, 2] : [0, 1, 2])
      for (const holder of [NOBODY, ME, OTHER])
        for (const owner of [ME, OTHER])
          for (const isHoldOver of [false, true])
            for (const isDeadlineOver of [false, true])
              for (const [isJob, isCancelRequested] of JOBS) {
                // A job has no question that waits and no deadline, and its worker has it for as long as it lives.
                if (isJob && (start.state === "waiting" || isDeadlineOver || isHoldOver)) continue;
                const fixed = { hasKey: true, round: 0, shown: 0, lost: 0, isJob, isCancelRequested, result: 0 };
                yield { ...fixed, ...start, epoch, holder, owner, isHoldOver, isDeadlineOver, replacedBy: -1 };
              }
}

function toProduct(row: Row): StoredCall {
  return {
    id: "r",
    callId: "c",
    key: row.hasKey ? "k" : undefined,
    fingerprint: "f",
    toolName: "t",
    caller: { depth: 0 },
    state: row.state,
    outcome: row.outcome || undefined,
    question: {} as never,
    request: row.isJob ? ({} as never) : undefined,
    job: row.isJob ? { ...JOB, cancel: row.isCancelRequested ? {} : undefined } : undefined,
    holder: nameOf(row.holder),
    holdUntil: row.isHoldOver ? NOW - 1 : NOW + 1,
    owner: nameOf(row.owner),
    epoch: row.epoch,
    lost: row.lost,
    deadline: row.isDeadlineOver ? NOW - 1 : NOW + 1,
    repeatable: false,
    createdAt: 0,
  };
}

test.each([undefined, OTHER])("every transition changes every row as in the model, with process %s dead", (dead) => {
  let compared = 0;
  for (const row of rows())
    for (const [name, { statement, transition }] of Object.entries(pairsFor(dead))) {
      const expected = { ...row };
      // `cancel` of a call that has ended changes nothing in either.
      const isChanged = name === "cancel" && row.state === "ended" ? false : statement(expected) !== false;
      const before = toProduct(row);
      const changes = transition(before, NOW);
      const shown = `${name} of ${JSON.stringify(row)}`;
      expect(changes !== undefined, shown).toBe(isChanged);
      compared++;
      if (!changes) continue;
      const after = { ...before, ...changes };
      expect([after.state, after.outcome ?? "", after.epoch, after.key !== undefined], shown).toEqual([
        expected.state,
        expected.outcome,
        expected.epoch,
        expected.hasKey,
      ]);
      // The holder has no meaning once the call has started, and the owner none before.
      const isUnstarted = after.state === "waiting" || after.state === "approved";
      expect(isUnstarted ? after.holder : undefined, shown).toBe(isUnstarted ? nameOf(expected.holder) : undefined);
      const isRunning = after.state === "running";
      expect(isRunning ? after.owner : undefined, shown).toBe(isRunning ? nameOf(expected.owner) : undefined);
    }
  expect(compared).toBeGreaterThan(5000);
});

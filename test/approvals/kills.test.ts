// kill -9 around an approval: afterwards the question is asked again or the call ran once; never twice, never unasked.
// The checker stands outside: what happened it knows from the file that the effect itself writes, what was answered from
// what it told the processes to answer.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { StoreLocation } from "../../src/store/store.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { childEnd } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { postgresStoreFactory, sqliteStoreFactory } from "./open-stores.ts";

const FULL = process.env["HAFT_FULL"] === "1";
const POINTS = [
  "asked",
  "after answer",
  "before claim",
  "after claim",
  "before effect",
  "after effect",
  "before ack",
] as const;
type Point = (typeof POINTS)[number];
type Role = "approve" | "deny" | "wait" | "answer" | "look";

let base: string;
let program: string;
beforeAll(async () => {
  base = temporaryFolder("haft-kills-");
  program = await bundleProgram("test/approvals/killed-process.ts", join(base, "out"));
}, 60_000);

interface Ended {
  output: string[];
  killed: boolean;
}

class Checker {
  readonly ledger: string;
  #calls = 0;

  constructor(
    readonly place: StoreLocation,
    name: string,
  ) {
    this.ledger = join(base, `${name}-ledger`);
    writeFileSync(this.ledger, "");
  }

  newCall(): string {
    return `call-${++this.#calls}`;
  }

  effects(callId: string): number {
    return readFileSync(this.ledger, "utf8")
      .split("\n")
      .filter((line) => line.startsWith(`${callId} `)).length;
  }

  start(callId: string, role: Role, failAt?: Point): ChildProcess {
    return spawn(process.execPath, [program, JSON.stringify(this.place), this.ledger, callId, role], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...(failAt ? { HAFT_FAIL_AT: failAt } : { HAFT_FAIL_AT: "" }) },
    });
  }

  async run(callId: string, role: Role, failAt?: Point): Promise<Ended> {
    return this.end(this.start(callId, role, failAt));
  }

  end(child: ChildProcess): Promise<Ended> {
    let output = "";
    for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (output += String(chunk)));
    return childEnd(child).then(({ signal }) => ({
      output: output.split("\n").filter(Boolean),
      killed: signal === "SIGKILL",
    }));
  }
}

/** What must be found after a kill at that point of a process that asks and is told yes. */
const FOUND: Record<Point, { effects: number; then: string }> = {
  asked: { effects: 0, then: "pending" },
  // The answer is there, and the call is made because of it when its caller makes it again.
  "after answer": { effects: 0, then: "completed" },
  "before claim": { effects: 0, then: "completed" },
  // Started: nobody can tell whether it had an effect.
  "after claim": { effects: 0, then: "unknown_outcome" },
  "before effect": { effects: 0, then: "unknown_outcome" },
  "after effect": { effects: 1, then: "unknown_outcome" },
  "before ack": { effects: 1, then: "completed" },
};

async function killAndCheck(checker: Checker, point: Point): Promise<void> {
  const callId = checker.newCall();
  const killed = await checker.run(callId, "approve", point);
  expect(killed.killed, `nothing was killed at "${point}": ${killed.output.join(" ")}`).toBe(true);
  const { effects, then } = FOUND[point];
  expect(checker.effects(callId), `effects after "${point}"`).toBe(effects);
  const asked = await checker.run(callId, "look");
  expect(asked.output, `after "${point}"`).toEqual([`result: ${then}`]);
  // Where it is asked again, nobody has said yes since: nothing may have happened.
  const again = then === "pending" ? await approveAfterNothing(checker, callId) : ["answering", "result: completed"];
  expect(again, `asked again after "${point}"`).toEqual(["answering", "result: completed"]);
  expect(checker.effects(callId), `effects in the end, after "${point}"`).toBe(
    point === "before effect" || point === "after claim" ? 0 : 1,
  );
}

async function approveAfterNothing(checker: Checker, callId: string): Promise<string[]> {
  if (checker.effects(callId) > 0) return ["it ran unasked"];
  return (await checker.run(callId, "approve")).output;
}

/** Two processes: one that waits for an answer and one that gives it; either may die at any point. */
async function killOneOfTwo(checker: Checker, victim: "wait" | "answer", point: Point): Promise<boolean> {
  const callId = checker.newCall();
  const waiting = checker.start(callId, "wait", victim === "wait" ? point : undefined);
  const ended = checker.end(waiting);
  let answered = false;
  let api: Ended = { output: [], killed: false };
  for (let i = 0; i < 20 && !answered && waiting.exitCode === null && waiting.signalCode === null; i++) {
    api = await checker.run(callId, "answer", victim === "answer" ? point : undefined);
    answered = api.output.includes("answering");
  }
  const asker = await ended;
  expect(checker.effects(callId)).toBeLessThanOrEqual(answered ? 1 : 0);
  const found = await checker.run(callId, "look");
  expect(found.output[0]).toMatch(/result: (completed|pending|unknown_outcome)/);
  expect(checker.effects(callId)).toBeGreaterThanOrEqual(found.output.includes("result: completed") ? 1 : 0);
  expect(checker.effects(callId)).toBeLessThanOrEqual(answered ? 1 : 0);
  await checker.run(callId, "approve");
  expect(checker.effects(callId)).toBeLessThanOrEqual(1);
  return asker.killed || api.killed;
}

/** A no is a no, also where its process died with it. */
async function killWithNo(checker: Checker): Promise<void> {
  const callId = checker.newCall();
  expect((await checker.run(callId, "deny", "after answer")).killed).toBe(true);
  expect((await checker.run(callId, "approve")).output).toEqual(["result: approval_denied"]);
  expect(checker.effects(callId)).toBe(0);
}

test.each([
  ["SQLite", sqliteStoreFactory, FULL ? 140 : POINTS.length, FULL ? 59 : 3],
  ["PostgreSQL", postgresStoreFactory, FULL ? 35 : 7, FULL ? 12 : 1],
] as const)(
  "with approvals in %s, processes that are killed have asked, or run once",
  async (name, make, kills, twos) => {
    const storeFactory = await make();
    try {
      const checker = new Checker(storeFactory.place, name);
      for (let kill = 0; kill < kills; kill++) await killAndCheck(checker, POINTS[kill % POINTS.length]!);
      await killWithNo(checker);
      let fell = 0;
      for (let kill = 0; kill < twos; kill++) {
        const victim = kill % 2 === 0 ? "wait" : "answer";
        const points =
          victim === "wait" ? POINTS.filter((point) => point !== "after answer") : (["after answer"] as const);
        if (await killOneOfTwo(checker, victim, points[(kill >> 1) % points.length]!)) fell++;
      }
      expect(fell).toBeGreaterThan(0);
    } finally {
      await storeFactory.remove();
    }
  },
  1_800_000,
);

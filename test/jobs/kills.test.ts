// fa-003: a worker is killed at every moment that matters, and somebody else goes on. The checker asks nobody: tools write
// what they did into a ledger of their own, outside of the store, and the test counts there.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHaft, type ToolEvent } from "haft";
import { openStore } from "haft/host";
import { prepareChildren, type TestChildren } from "../../src/store/start-child.fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const POINTS = [
  "before take",
  "after take",
  "before claim",
  "before effect",
  "after effect",
  "before end",
  "after end",
] as const;
const ROUNDS = process.env["HAFT_FULL"] ? 210 : POINTS.length * 2;

let children: TestChildren;
let folder: string;
beforeAll(async () => {
  children = await prepareChildren();
  folder = temporaryFolder("haft-job-kills-");
});
afterAll(() => {
  children.remove();
});

/** Accepts one job, says so, and dies when it runs it. */
const VICTIM = `
  import { appendFileSync } from "node:fs";
  const [folder, ledger, callId, kind, point] = process.argv.slice(2);
  const { jobs, calls, audit: log } = await openStore({ stateFolder: folder });
  const haft = createHaft({ jobs, calls, log, worker: false });
  const dieAt = (here) => {
    if (here !== point) return;
    process.kill(process.pid, "SIGKILL");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
  haft.register({ name: kind, description: "Acts", parameters: [], kind: kind === "reads" ? "readonly" : "write", async: true, needsApproval: false,
    run() { dieAt("before effect"); appendFileSync(ledger, callId + "\\n"); dieAt("after effect"); return "done"; } });
  haft.on("*", ({ type, callId }) => { if (/completed|failed/.test(type)) say("told " + callId); });
  const { pending } = await haft.execute(kind, {}, { id: callId });
  say("accepted " + pending.id);
  process.stdin.once("data", () => haft.jobs.work());
`;

test(`killed ${ROUNDS} times: nothing accepted is lost, nothing with effects happens twice, each call ends once`, async () => {
  const ledger = join(folder, "ledger");
  const outcomes: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const point = POINTS[round % POINTS.length]!;
    const kind = Math.floor(round / POINTS.length) % 2 ? "reads" : "acts";
    const callId = `${kind}-${round}`;
    process.env["HAFT_FAIL_AT"] = point;
    const victim = children.start(VICTIM, [folder, ledger, callId, kind, point]);
    delete process.env["HAFT_FAIL_AT"];
    await victim.waitForOutput("accepted");
    victim.process.stdin!.write("work\n");
    expect((await victim.ended).signal, point).toBe("SIGKILL");
    const jobId = victim.lines()[0]!.split(" ")[1]!;
    const { state, reported, error } = await resume({ ledger, callId, kind, jobId });
    const effects = existsSync(ledger)
      ? readFileSync(ledger, "utf8")
          .split("\n")
          .filter((line) => line === callId).length
      : 0;
    const ends = reported + victim.lines().filter((line) => line === `told ${callId}`).length;
    outcomes.push(`${point} ${kind} ${state}`);
    const isRight =
      kind === "reads"
        ? state === "completed" && effects >= 1
        : (state === "completed" && effects === 1) || (error === "unknown_outcome" && effects <= 1);
    expect(isRight, `${callId} killed at ${point}: ${state} ${error}, ${effects} effects`).toBe(true);
    // Who was to tell the end of an ended one is dead: it can be read, and nobody tells it again. The same holds for a call
    // whose outcome is unknown: no worker runs it.
    const isTold = point !== "after end" && error !== "unknown_outcome";
    expect(ends, `${callId} at ${point}`).toBe(isTold ? 1 : 0);
  }
  // The rounds did what their names say: what was done is known as done, what may have been done as unknown.
  for (const point of ["before take", "after take", "before claim", "after end"])
    expect(outcomes).toContain(`${point} acts completed`);
  for (const point of ["before effect", "after effect", "before end"])
    expect(outcomes).toContain(`${point} acts unknown`);
}, 600_000);

/** Another process, as far as the store knows. */
async function resume({ ledger, callId, kind, jobId }: Record<"ledger" | "callId" | "kind" | "jobId", string>) {
  const store = await openStore({ stateFolder: folder });
  const { jobs, calls, audit: log } = store;
  const haft = createHaft({ jobs, calls, log });
  haft.register({
    ...{
      name: kind,
      description: "Acts",
      parameters: [],
      kind: kind === "reads" ? "readonly" : "write",
      async: true,
      needsApproval: false,
    },
    run() {
      appendFileSync(ledger, `${callId}\n`);
      return "done";
    },
  } as never);
  let reported = 0;
  haft.on("*", (event: ToolEvent) => {
    if (/completed|failed/.test(event.type) && "callId" in event && event.callId === callId) reported++;
  });
  await haft.jobs.work();
  const result = await haft.jobs.wait(jobId);
  const job = await haft.jobs.get(jobId);
  await haft.shutdown();
  await store.close();
  return { state: job?.state, reported, error: result.status === "failed" ? result.error.code : undefined };
}

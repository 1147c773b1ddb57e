import process from "node:process";
import type { Vitest } from "vitest/node";

const EVERY_MS = 10_000;
/** Vitest's own limit is a timer in the worker: it does not fire if native code or a lock blocks the event loop there. */
const GRACE_MS = 60_000;

type Task = ReturnType<Vitest["state"]["getFiles"]>[number]["tasks"][number];

/** Ends the run with the name of a test that goes on long after its time limit. */
export function watchForHangs(vitest: Vitest): () => void {
  const timer = setInterval(() => {
    const hanging = vitest.state.getFiles().flatMap(({ tasks }) => tasks.flatMap(findHanging));
    if (hanging.length === 0) return;
    const names = hanging.map((test) => `${test.file.name} > ${test.name}`);
    process.stderr.write(`\nA test blocks its process and does not end:\n  ${names.join("\n  ")}\n`);
    process.exit(1);
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function findHanging(task: Task): Extract<Task, { type: "test" }>[] {
  if (task.type === "suite") return task.tasks.flatMap(findHanging);
  const { state, startTime } = task.result ?? {};
  if (state !== "run" || startTime === undefined) return [];
  return Date.now() - startTime > task.timeout + GRACE_MS ? [task] : [];
}

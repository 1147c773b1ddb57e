// Code mode: how long a program takes to start, what a call costs in it, and how many tokens it saves.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { importHaft, interleave, median } from "../harness.mjs";

export const name = "code";

const CALLS = 50;

export async function run({ report }) {
  const { createHaft } = await importHaft();
  const haft = createHaft({ code: {} });
  haft.register({
    name: "get_order",
    description: "Gives an order",
    kind: "readonly",
    parameters: [{ name: "id", type: "number", description: "Its number" }],
    run: ({ id }) => ({ id, customer: `Customer ${id}`, total: id * 3, lines: Array(10).fill(`article ${id}`) }),
  });
  try {
    const loop = `let sum = 0; for (let id = 0; id < ${CALLS}; id++) sum += (await tools.get_order({ id })).total; return sum`;
    const cases = {
      nothing: () => wall(() => haft.execute("run_code", { code: "return 1" })),
      direct: () => wall(() => calls(haft)),
      inCode: () => wall(() => haft.execute("run_code", { code: loop })),
    };
    await interleave(cases, 5);
    const taken = await interleave(cases, 40);
    report({ case: "run_code of nothing, after warm-up", value: median(taken.nothing), unit: "ms", atMost: 5 });
    const over = ((median(taken.inCode) - median(taken.nothing) - median(taken.direct)) / CALLS) * 1000;
    report({ case: "a call in a program, over the gate", value: over, unit: "µs", atMost: 100 });
    report({ case: "two threads that wake each other, there and back", value: await wakeUps(), unit: "µs wall" });
    const direct = (await calls(haft)).reduce((sum, { content }) => sum + content[0].text.length, 0);
    const { content } = await haft.execute("run_code", { code: loop });
    report({
      case: `characters a model reads of ${CALLS} calls in one program, × the calls one by one`,
      value: (loop.length + content[0].text.length) / direct,
      unit: "×",
      atMost: 0.1,
    });
  } finally {
    await haft.shutdown();
  }
}

/** The least that a call which crosses to another thread and back can take, without any work. */
async function wakeUps(count = 2000) {
  const shared = new SharedArrayBuffer(8);
  const words = new Int32Array(shared);
  const source = `
    const words = new Int32Array(require("node:worker_threads").workerData);
    for (let turn = 1; turn <= ${count}; turn++) {
      Atomics.wait(words, 0, turn - 1);
      Atomics.store(words, 1, turn);
      Atomics.notify(words, 1);
    }`;
  const worker = new Worker(source, { eval: true, workerData: shared });
  await once(worker, "online");
  const begun = performance.now();
  for (let turn = 1; turn <= count; turn++) {
    Atomics.store(words, 0, turn);
    Atomics.notify(words, 0);
    Atomics.wait(words, 1, turn - 1);
  }
  const took = performance.now() - begun;
  await worker.terminate();
  return (took / count) * 1000;
}

async function calls(haft) {
  const results = [];
  for (let id = 0; id < CALLS; id++) results.push(await haft.execute("get_order", { id }));
  return results;
}

async function wall(work) {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

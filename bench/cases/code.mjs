// Code mode: how long a program takes to start, what a call costs in it, and how many tokens it saves.
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

// Objects with execute(params, context): a Zod schema, a list of parameters, and `async` for the background.
import { createHaft } from "haft";
import { z } from "zod";

const greet = {
  name: "greet",
  description: "Greets",
  kind: "readonly",
  inputSchema: z.object({ name: z.string() }),
  execute: async (params) => `hello ${params.name}`,
};
const double = {
  id: "double",
  description: "Doubles",
  kind: "readonly",
  params: [{ name: "n", type: "number" }],
  execute: ({ n }) => n * 2,
};
const report = {
  name: "report",
  description: "Writes a report",
  needsApproval: false,
  params: [],
  async: true,
  execute: () => "written",
};
const haft = createHaft({ tools: [greet, double, report] });
console.log((await haft.execute("greet", { name: "Ann" })).display); //> hello Ann
console.log((await haft.execute("double", { n: 2 })).details); //> 4
const { pending } = await haft.execute("report");
console.log((await haft.jobs.wait(pending.id)).display); //> written
await haft.shutdown();

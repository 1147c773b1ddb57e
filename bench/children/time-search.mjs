// Arguments: whose index, how many tools, how many queries. Prints { indexMs, queryUs: { median, p95 } }.
import process from "node:process";
import { importHaft, median, percentile, timed } from "../harness.mjs";
import { makeQueries, makeTools, toJsonSchema, toZod } from "../synthetic-tools.mjs";

const ROUNDS = 7;
const WARM = 50;
const [whose, toolsText, queriesText] = process.argv.slice(2);
const specs = makeTools(Number(toolsText));
const queries = makeQueries(Number(queriesText));

// Each returns `index`, which does everything that comes before the first query's own work, and `search`.
const engines = {
  haft: () => haft(toJsonSchema),
  "haft-zod": () => haft(toZod),
  async minisearch() {
    const { default: MiniSearch } = await import("minisearch");
    const documents = specs.map(({ name, description, parameters }) => ({
      id: name,
      name: name.replaceAll("_", " "),
      description,
      parameters: parameters.map(([parameter, , text]) => `${parameter} ${text}`).join(" "),
    }));
    const engine = new MiniSearch({ fields: ["name", "description", "parameters"] });
    return { index: () => engine.addAll(documents), search: (query) => engine.search(query).slice(0, 10) };
  },
};

async function haft(toParameters) {
  const { createTool, ToolRegistry } = await importHaft();
  const registry = new ToolRegistry();
  const run = async () => "";
  for (const spec of specs) {
    const { name, description } = spec;
    registry.register(createTool({ name, description, parameters: toParameters(spec), kind: "readonly", run }));
  }
  // The registry builds its index when it is first asked.
  return { index: () => registry.search(queries[0]), search: (query) => registry.search(query, { limit: 10 }) };
}

const { index, search } = await engines[whose]();
const indexMs = await timed(index);
if (search(queries[0]).length === 0) throw new Error(`Error: nothing found for "${queries[0]}"`);
for (const query of queries.slice(0, WARM)) search(query);

// The best of several rounds for each query: what is left is how queries differ, not who else used the machine.
const best = queries.map((query) => {
  let min = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const started = process.hrtime.bigint();
    search(query);
    min = Math.min(min, Number(process.hrtime.bigint() - started) / 1000);
  }
  return min;
});
process.stdout.write(JSON.stringify({ indexMs, queryUs: { median: median(best), p95: percentile(best, 0.95) } }));

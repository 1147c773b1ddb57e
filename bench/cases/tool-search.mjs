// tool_search over 10,000 tools: whether it finds the right ones among them, how fast, and what a model is spared.
import { importHaft, median } from "../harness.mjs";
import { readLabelledTools } from "../labelled-tools.mjs";
import { makeTools, toJsonSchema } from "../synthetic-tools.mjs";

export const name = "tool-search";

const TOOLS = 10_000;
const FEW = 200;
const FOUND = 5;
const ROUNDS = 5;
const SETS = [
  { title: "functions, in the manner of BFCL", file: "functions.txt", atLeast: 0.85 },
  { title: "API collections, in the manner of ToolBench", file: "apis.txt", atLeast: 0.72 },
];

export async function run({ report }) {
  const { createHaft, createTool } = await importHaft();
  const sets = SETS.map((set) => ({ ...set, ...readLabelledTools(set.file) }));
  const labelled = sets.flatMap(({ tools }) => tools.map((tool) => toTool(createTool, tool)));
  const others = makeTools(TOOLS - labelled.length).map((tool) => toTool(createTool, tool, toJsonSchema(tool)));

  const haft = createHaft({ tools: [...labelled, ...others], toolSearch: {} });
  haft.search("warm");
  for (const { title, atLeast, questions } of sets) {
    const shares = questions.map(({ text, wanted }) => {
      const hits = haft.search(text, { limit: FOUND }).map((tool) => tool.name);
      return wanted.filter((each) => hits.includes(each)).length / wanted.length;
    });
    const recall = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    report({ case: `recall@${FOUND} among 10,000, ${title}`, value: recall, unit: "", atLeast });
  }
  const queries = sets.flatMap(({ questions }) => questions.map(({ text }) => text));
  const best = queries.map((query) => min(() => haft.search(query, { limit: FOUND })));
  report({ case: "a query, median", value: median(best), unit: "µs wall", atMost: 300 });
  const calls = [];
  for (const query of queries) {
    const started = process.hrtime.bigint();
    await haft.execute("tool_search", { query });
    calls.push(Number(process.hrtime.bigint() - started) / 1000);
  }
  report({ case: "a call of tool_search, through the gate, median", value: median(calls), unit: "µs wall" });
  await haft.shutdown();

  await reportTokens({ report, createHaft, few: others.slice(0, FEW) });
}

/** What definitions cost with 200 tools: at first, and when some were found. */
async function reportTokens({ report, createHaft, few }) {
  const haft = createHaft({ tools: few, toolSearch: { core: ["tool_search"] } });
  const tokensOf = (options) => haft.tokens.count(JSON.stringify(haft.toLLMTools(options)));
  const all = tokensOf({ budget: Infinity });
  const share = (tokens) => (1 - tokens / all) * 100;
  report({ case: `${FEW} tools, all definitions (${haft.tokens.name})`, value: all, unit: "tokens" });
  report({ case: `${FEW} tools, spared at first`, value: share(tokensOf()), unit: "%", atLeast: 85 });
  await haft.execute("tool_search", { query: "refund a payment" });
  report({ case: `${FEW} tools, spared after a search`, value: share(tokensOf()), unit: "%", atLeast: 85 });
  const compact = share(tokensOf({ budget: Infinity, definitions: "compact" }));
  report({ case: `${FEW} tools, spared by compact definitions of all`, value: compact, unit: "%" });
  await haft.shutdown();
}

function toTool(createTool, { name: toolName, description, category, parameters }, schema) {
  const properties = Object.fromEntries(parameters.map((each) => [each, { type: "string" }]));
  return createTool({
    name: toolName,
    description: description || toolName,
    ...(category ? { category } : {}),
    parameters: schema ?? { type: "object", properties },
    origin: { type: "mcp", server: "bench" },
    kind: "readonly",
    run: () => "",
  });
}

function min(work) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const started = process.hrtime.bigint();
    work();
    best = Math.min(best, Number(process.hrtime.bigint() - started) / 1000);
  }
  return best;
}

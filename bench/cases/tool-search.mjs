// tool_search over 10,000 tools: whether it finds the right ones among them, how fast, and what a model is spared. With
// `--data FOLDER` also on the labelled sets there, with and without past questions, beside the rules of others.
import { importHaft, median, percentile, SMOKE, timed } from "../harness.mjs";
import { SEARCH_RULES } from "../search-rules.mjs";
import { measure, readSets, recallOf, splitQuestions } from "../search-recall.mjs";
import { readLabelledTools } from "../labelled-tools.mjs";
import { makeTools, toJsonSchema } from "../synthetic-tools.mjs";

export const name = "tool-search";

const TOOLS = SMOKE ? 1000 : 10_000;
const FEW = 200;
const FOUND = 5;
const ROUNDS = 5;
const SETS = [
  { title: "functions, in the manner of BFCL", file: "functions.txt", atLeast: 0.85 },
  { title: "API collections, in the manner of ToolBench", file: "apis.txt", atLeast: 0.72 },
];

/** recall@5 with at most three past questions per tool. */
const GOALS = { bfcl: 0.89, toollens: 0.55, metatool: 0.8, livemcp: 0.46 };
const PAST = [1, 3, 10];
const USER = "bench";

export async function run({ report, data }) {
  const { createHaft, createTool } = await importHaft();
  const sets = SETS.map((set) => ({ ...set, ...readLabelledTools(set.file) }));
  const labelled = sets.flatMap(({ tools }) => tools.map((tool) => toTool(createTool, tool)));
  const others = makeTools(TOOLS - labelled.length).map((tool) => toTool(createTool, tool, toJsonSchema(tool)));

  const haft = createHaft({ tools: [...labelled, ...others], toolSearch: { store: storeOf(learnedByAll(sets)) } });
  const indexMs = await timed(() => haft.tools.search("warm"));
  report({ case: "index of 10,000 tools", value: indexMs, unit: "ms", atMost: 300 });
  for (const { title, atLeast, questions } of sets) {
    const shares = questions.map(({ text, wanted }) => {
      const hits = haft.tools.search(text, { limit: FOUND }).map((tool) => tool.name);
      return wanted.filter((each) => hits.includes(each)).length / wanted.length;
    });
    const recall = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    report({ case: `recall@${FOUND} among 10,000, ${title}`, value: recall, unit: "", atLeast });
  }
  const queries = sets.flatMap(({ questions }) => questions.map(({ text }) => text));
  const best = queries.map((query) => min(() => haft.tools.search(query, { limit: FOUND })));
  report({ case: "a query, median", value: median(best), unit: "µs wall", atMost: 300 });
  report({ case: "a query, 95th percentile", value: percentile(best, 0.95), unit: "µs wall", atMost: 1000 });
  const caller = { user: USER };
  const learned = queries.map((query) => min(() => haft.tools.search(query, { limit: FOUND, caller })));
  const title = `a query with ${MAX_QUESTIONS} past questions of each labelled tool, 95th percentile`;
  report({ case: title, value: percentile(learned, 0.95), unit: "µs wall", atMost: 1000 });
  const calls = [];
  for (const query of queries) {
    const started = process.hrtime.bigint();
    await haft.execute("tool_search", { query });
    calls.push(Number(process.hrtime.bigint() - started) / 1000);
  }
  report({ case: "a call of tool_search, through the gate, median", value: median(calls), unit: "µs wall" });
  await haft.shutdown();

  await reportTokens({ report, createHaft, few: others.slice(0, FEW) });
  for (const set of data === undefined ? [] : readSets(data)) await reportSet({ report, createHaft, createTool, set });
}

async function reportSet({ report, createHaft, createTool, set: { name: set, tools, queries } }) {
  const names = new Map();
  const own = tools.map(({ id, name: shown, description, parameters }, at) => {
    const properties = Object.entries(parameters?.properties ?? {});
    const texts = properties.map(([key, value]) => [key, { type: "string", description: value?.description || key }]);
    const unique = `${shown.replaceAll(/[^\w.]+/g, "_").replace(/^[._]+/, "") || "tool"}`;
    const chosen = names.has(unique) ? `${unique}_${at}` : unique;
    names.set(chosen, id);
    const schema = { type: "object", properties: Object.fromEntries(texts) };
    return toTool(createTool, { name: chosen, description, parameters: [] }, schema);
  });
  const nameOf = new Map([...names].map(([toolName, id]) => [id, toolName]));
  const open = (past) => {
    const rows = [...past].map(([id, questions]) => ({ tool: nameOf.get(id), questions, uses: 1, lastUsedAt: 0 }));
    const haft = createHaft({ tools: own, toolSearch: { store: storeOf(rows) } });
    const idsOf = (text, limit) =>
      haft.tools.search(text, { limit, caller: { user: USER } }).map((tool) => names.get(tool.name));
    return { haft, idsOf };
  };
  const rowsOf = (title, { recall5, recall10, ndcg10 }, atLeast) => {
    report({ case: `${set}, ${title}, recall@5`, value: recall5, unit: "", atLeast });
    report({ case: `${set}, ${title}, recall@10`, value: recall10, unit: "" });
    report({ case: `${set}, ${title}, nDCG@10`, value: ndcg10, unit: "" });
  };
  const texts = tools.map(({ id, name: shown, description = "", parameters }) => {
    const properties = Object.entries(parameters?.properties ?? {});
    return {
      id,
      name: shown,
      description,
      parameters: properties.map(([key, each]) => `${key} ${each?.description ?? ""}`).join(" "),
    };
  });
  for (const [title, rule] of Object.entries(SEARCH_RULES)) {
    const find = rule(texts);
    rowsOf(
      title,
      measure(queries, ({ text }, limit) => find(text, limit)),
    );
  }
  const plain = open(new Map());
  rowsOf(
    "Haft",
    measure(queries, ({ text }, limit) => plain.idsOf(text, limit)),
  );
  const inSteps = queries.filter(({ steps }) => steps?.length > 0);
  if (inSteps.length > 0) {
    const shares = inSteps.map((query) =>
      recallOf(
        query,
        [query.steps].flat().flatMap((step) => plain.idsOf(step, FOUND)),
      ),
    );
    const value = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    report({ case: `${set}, Haft, one search per step, ${FOUND} each, recall`, value, unit: "" });
  }
  const found = new Map(queries.map(({ text }) => [text, plain.idsOf(text, FOUND)]));
  await plain.haft.shutdown();
  const measureWithPast = async (max, isLearned = () => true) => {
    const folds = splitQuestions(queries, max);
    const sums = { recall5: 0, recall10: 0, ndcg10: 0 };
    for (const { tested, past } of folds) {
      const { haft, idsOf } = open(
        new Map([...past].map(([id, texts]) => [id, texts.filter((text) => isLearned(text, id))])),
      );
      const values = measure(tested, ({ text }, limit) => idsOf(text, limit));
      for (const key of Object.keys(sums)) sums[key] += (values[key] * tested.length) / queries.length;
      await haft.shutdown();
    }
    return sums;
  };
  for (const max of PAST) {
    rowsOf(`Haft, at most ${max} past questions`, await measureWithPast(max), max === 3 ? GOALS[set] : undefined);
  }
  // The same questions, but each is learned only for the tools that its search had found.
  const isFound = (text, id) => found.get(text).includes(id);
  rowsOf("Haft, at most 3 past questions, only tools that the search had found", await measureWithPast(3, isFound));
}

/** A store with what one user has taught. */
function storeOf(rows) {
  return { load: (user) => (user === USER ? rows : []), add: () => undefined, forget: () => 0 };
}

const MAX_QUESTIONS = 20;

/** The limit of questions for each labelled tool, in the words of the sets. */
function learnedByAll(sets) {
  return sets.flatMap(({ tools, questions }) =>
    tools.map(({ name: tool }, at) => {
      const texts = Array.from({ length: MAX_QUESTIONS }, (_, more) => questions[(at + more) % questions.length].text);
      return { tool, questions: texts, uses: 1, lastUsedAt: 0 };
    }),
  );
}

/** What definitions cost with 200 tools: at first, and when some were found. The budget is filled, so it is small here. */
async function reportTokens({ report, createHaft, few }) {
  const haft = createHaft({ tools: few, toolSearch: { core: ["tool_search"], budget: 3000 } });
  const tokensOf = (options) => haft.settings.tokens.count(JSON.stringify(haft.tools.definitions(options)));
  const all = tokensOf({ budget: Infinity });
  const share = (tokens) => (1 - tokens / all) * 100;
  report({ case: `${FEW} tools, all definitions (${haft.settings.tokens.name})`, value: all, unit: "tokens" });
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

// 25 recorded tasks on a small repository: the tokens of definitions, calls and results, and the calls that a wrong, cut
// or refused answer made necessary. Compare two builds with --dist.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { importHaft, importWorkspace } from "../harness.mjs";
import { makeTools, toJsonSchema } from "../synthetic-tools.mjs";
import { makeOrders, writeRepository } from "../tasks/repository.mjs";
import { TRACES } from "../tasks/traces.mjs";

export const name = "tasks";

const OTHER_TOOLS = 300;

export async function run({ report }) {
  const total = { definitions: 0, calls: 0, results: 0, made: 0, extra: 0, unanswered: 0 };
  for (const trace of TRACES) {
    const counts = await play(trace);
    for (const key of Object.keys(total)) total[key] += counts[key];
    const needed = counts.extra + counts.unanswered;
    if (needed > 0) report({ case: `"${trace.task}": further calls or missing answers`, value: needed, unit: "" });
  }
  report({ case: "definitions, shown once a task", value: total.definitions, unit: "tokens" });
  report({ case: "calls", value: total.calls, unit: "tokens" });
  report({ case: "results", value: total.results, unit: "tokens" });
  report({ case: "calls made", value: total.made, unit: "" });
  report({ case: "calls that a wrong, cut or refused answer made necessary", value: total.extra, unit: "" });
  report({
    case: `steps without an answer, of ${TRACES.flatMap(({ steps }) => steps).length}`,
    value: total.unanswered,
    unit: "",
    atMost: 0,
  });
}

async function play({ steps, manyTools = false }) {
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-tasks-"));
  const state = mkdtempSync(join(tmpdir(), "haft-bench-tasks-state-"));
  const { createHaft, createTool } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  writeRepository(folder);
  const haft = createHaft({
    workspace: openWorkspace(folder, { stateFolder: state }),
    tools: [ordersTool(createTool), ...(manyTools ? otherTools(createTool) : [])],
    toolSearch: {},
    approver: async () => ({ approved: true }),
  });
  const counts = {
    definitions: tokensOf(haft.tools.definitions()),
    calls: 0,
    results: 0,
    made: 0,
    extra: 0,
    unanswered: 0,
  };
  let spill = "";
  const make = async ({ call, input, expect, image = false }) => {
    const text = JSON.stringify(input).replaceAll("{spill}", spill);
    const result = await haft.execute(call, JSON.parse(text), { caller: { session: "task" } });
    const shown = result.content.map((part) => part.text ?? "").join("\n");
    counts.made += 1;
    counts.calls += tokensOf({ name: call, arguments: text });
    counts.results += countTokens(shown, { disallowedSpecial: new Set() });
    spill = /spill:[\w.-]+\w/.exec(shown)?.[0] ?? spill;
    if (!result.success) return false;
    if (image) return result.content.some(({ type }) => type === "image");
    return expect === undefined || expect.test(shown);
  };
  try {
    for (const { otherwise = [], ...step } of steps) {
      let answered = await make(step);
      for (const other of otherwise) {
        if (answered) break;
        counts.extra += 1;
        answered = await make(other);
      }
      if (!answered) counts.unanswered += 1;
    }
  } finally {
    await haft.shutdown();
    for (const each of [folder, state]) rmSync(each, { recursive: true, force: true });
  }
  return counts;
}

function tokensOf(value) {
  return countTokens(JSON.stringify(value), { disallowedSpecial: new Set() });
}

/** A tool of one's own whose result is JSON on one line. */
function ordersTool(createTool) {
  return createTool({
    name: "list_orders",
    description: "Lists all orders.",
    kind: "readonly",
    parameters: [],
    run: async () => ({ orders: makeOrders(2000) }),
  });
}

function otherTools(createTool) {
  return makeTools(OTHER_TOOLS).map((tool) =>
    createTool({
      ...tool,
      origin: { type: "mcp", server: "bench" },
      kind: "readonly",
      parameters: toJsonSchema(tool),
      run: async () => "done",
    }),
  );
}

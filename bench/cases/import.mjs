// What importing costs: CPU time of a fresh Node that imports a module, over that of one that imports nothing.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DIST, interleave, median, runNode } from "../harness.mjs";

export const name = "import";

const ROUNDS = 11;
const HAFT = pathToFileURL(join(DIST, "index.js")).href;
const ZOD = "zod";
const PEERS = {
  "AI SDK": "ai",
  "Mastra tools": "@mastra/core/tools",
  "LangChain tools": "@langchain/core/tools",
  "OpenAI Agents": "@openai/agents",
  "MCP v2 server": "@modelcontextprotocol/server",
  "MCP v2 client": "@modelcontextprotocol/client",
};

export async function run({ report, notMeasured, withoutPeers }) {
  const failures = new Map();
  const subjects = { bare: () => startNode(), haft: () => startNode(HAFT), zod: () => startNode(ZOD) };
  for (const specifier of withoutPeers ? [] : Object.values(PEERS)) {
    subjects[specifier] = async () => {
      if (failures.has(specifier)) return NaN;
      return startNode(specifier).catch((error) => {
        failures.set(specifier, error.message);
        return NaN;
      });
    };
  }
  const times = await interleave(subjects, ROUNDS);
  const bare = median(times.bare);

  // Programs with tools load Zod as well.
  const atMost = Math.max(60, Math.round(median(times.zod) - bare + 40));
  report({ case: 'import "haft"', value: median(times.haft) - bare, unit: "ms", atMost });
  report({ case: "a bare Node start", value: bare, unit: "ms" });
  report({ case: "Zod alone", value: median(times.zod) - bare, unit: "ms" });
  for (const [title, specifier] of Object.entries(PEERS)) {
    const why = withoutPeers ?? failures.get(specifier);
    if (why === undefined) report({ case: title, value: median(times[specifier]) - bare, unit: "ms" });
    else notMeasured(title, why);
  }
}

/** CPU milliseconds of a whole Node process up to the end of its imports. */
async function startNode(specifier) {
  const load = specifier === undefined ? "" : `await import(${JSON.stringify(specifier)});`;
  const say = "const { user, system } = process.cpuUsage();";
  const write = "process.stdout.write(String((user + system) / 1000), () => process.exit());";
  return Number(await runNode(["--input-type=module", "--eval", load + say + write]));
}

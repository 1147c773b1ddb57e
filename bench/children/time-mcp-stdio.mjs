// Argument: rounds. Prints { bare: wall µs, haft: wall µs, ratio } of one call over pipes; both servers are up, and take turns.
import { performance } from "node:perf_hooks";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { TOOLS } from "../add-tool.mjs";
import { interleave, median, medianRatio } from "../harness.mjs";

const CALLS = 400;
const program = fileURLToPath(new URL("serve-mcp-stdio.mjs", import.meta.url));

async function prepare(subject) {
  const client = new Client({ name: "bench", version: "1.0.0" });
  const env = { ...process.env };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, subject], env }));
  const call = (a) => client.callTool({ name: TOOLS["at-once"].name, arguments: { a, b: 1 } });
  const { content } = await call(2);
  if (content[0].text !== "3") throw new Error(`Error: ${subject} says that 2 + 1 is ${content[0].text}`);
  const batch = async () => {
    const from = performance.now();
    for (let i = 0; i < CALLS; i++) await call(i);
    return ((performance.now() - from) * 1000) / CALLS;
  };
  for (let warm = 0; warm < 3; warm++) await batch();
  return batch;
}

const [bare, haft] = [await prepare("bare"), await prepare("haft")];
const times = await interleave({ bare, haft }, Number(process.argv[2]));
const answer = { bare: median(times.bare), haft: median(times.haft), ratio: medianRatio(times.haft, times.bare) };
process.stdout.write(JSON.stringify(answer), () => process.exit());

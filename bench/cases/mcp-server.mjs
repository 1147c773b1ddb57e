// Tools served over MCP, against the same tools served with the SDK alone, which has no gate: one call in memory and over
// pipes, and what a server with many tools does for one request over HTTP.
import { interleave, median, runChild } from "../harness.mjs";

export const name = "mcp-server";

const PASSES = 3;
const MANY = 200;

export async function run({ report, notMeasured, withoutPeers }) {
  if (withoutPeers) return notMeasured("Haft, against the SDK alone", withoutPeers);
  const { memory, pipes, many } = await interleave(
    {
      memory: () => runChild("time-calls.mjs", ["haft-mcp-in-memory", "at-once", 1, 9, "mcp-in-memory"]),
      pipes: () => runChild("time-mcp-stdio.mjs", [9]),
      many: () => runChild("time-mcp-list.mjs", [MANY, 9]),
    },
    PASSES,
  );
  const of = (passes, read) => median(passes.map(read));
  report({ case: "one call in memory", value: of(memory, ({ ratio }) => ratio), unit: "× SDK", atMost: 1.15 });
  report({ case: "one call in memory, the SDK alone", value: of(memory, ({ direct }) => direct), unit: "µs" });
  report({ case: "one call over pipes, wall", value: of(pipes, ({ ratio }) => ratio), unit: "× SDK", atMost: 1.15 });
  report({ case: "one call over pipes, the SDK alone, wall", value: of(pipes, ({ bare }) => bare), unit: "µs" });
  for (const method of ["tools/list", "tools/call"]) {
    const ratio = of(many, (pass) => pass[method].ratio);
    report({ case: `${method} with ${MANY} tools, one HTTP request`, value: ratio, unit: "× SDK", atMost: 1.15 });
    report({ case: `${method} with ${MANY} tools, Haft`, value: of(many, (pass) => pass[method].haft), unit: "µs" });
  }
}

import type { TokenReport } from "../../contracts/statistics.ts";
import { defineCommand } from "../command.ts";
import { waitForTools } from "../mcp-servers.ts";
import { showDuration } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine } from "../output.ts";

const DAY_MS = 86_400_000;

export const stats = defineCommand({
  examples: [
    ["haft stats", "of the last day"],
    ["haft stats --since 7d --json", "of the last week, for a program"],
    ["haft stats --tokens", "how much of a model's context each tool uses"],
  ],
  options: {
    tokens: { type: "flag", about: "How much of a model's context definitions and results use" },
    since: { type: "moment", value: "WHEN", about: "2h (ago), or a date; default: 24h" },
    until: { type: "moment", value: "WHEN", about: "2h (ago), or a date; default: now" },
  },
  uses: ["statistics", "mcp"],
  async run({ connect, url, interrupted, output, options: { tokens, since, until } }) {
    const client = await connect(tokens ? {} : { only: [] });
    const to = until ?? Date.now();
    const from = since ?? to - DAY_MS;
    if (tokens) {
      await waitForTools(client, { url, interrupted, output });
      return output.data(await client.statistics.tokens({ from, to }), (report) => showTokens(report, output));
    }
    const found = await client.statistics.show({ from, to, buckets: 24 });
    output.data(found, ({ tools }) =>
      showColumns(
        [
          ["tool", "calls", "failed", "denied", "p50", "p95"],
          ...tools.map(({ tool, count, failures, denials, p50Ms, p95Ms }) => [
            safeLine(tool),
            String(count),
            String(failures),
            String(denials),
            showDuration(p50Ms),
            showDuration(p95Ms),
          ]),
        ],
        { paint: output.paint, columns: output.columns, styles: ["bold"] },
      ),
    );
    if (found.tools.length === 0) output.info("There were no calls in that time.");
  },
});

function showTokens(report: TokenReport, { paint }: Output): string[] {
  const { counter, allTokens, shownTokens, resultTokens, tools } = report;
  const rows = tools.map((tool) => [
    safeLine(tool.tool),
    String(tool.definitionTokens),
    String(tool.compactTokens),
    tool.isShown ? "yes" : "by search",
    String(tool.calls),
    `~${tool.resultTokens}`,
  ]);
  const shown = tools.filter(({ isShown }) => isShown).length;
  return [
    ...showColumns([["tool", "definition", "compact", "shown", "calls", "returned"], ...rows], {
      paint,
      styles: ["bold"],
    }),
    "",
    `A model gets ${shown} of ${tools.length} tools: ${shownTokens} of ${allTokens} tokens of definitions.`,
    `Results of that time: about ${resultTokens} tokens, estimated from their bytes.`,
    counter === "estimate"
      ? "Definitions are estimated too: npm install gpt-tokenizer to count them."
      : `Definitions are counted in ${counter}; other models count a little differently.`,
  ];
}

import { defineCommand } from "../command.ts";
import { awaitTools } from "../settled-servers.ts";
import { safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";
import { showTokens } from "../show-tokens.ts";
import { showDuration } from "../show-time.ts";

const DAY = 86_400_000;

export const command = defineCommand({
  examples: [
    ["haft stats", "of the last day"],
    ["haft stats --since 7d --json", "of the last week, for a program"],
    ["haft stats --tokens", "what each tool costs a model's context"],
  ],
  options: {
    tokens: { type: "flag", about: "What definitions and results cost a model's context" },
    since: { type: "moment", value: "WHEN", about: "2h (ago), or a date; 24h unless said" },
    until: { type: "moment", value: "WHEN", about: "2h (ago), or a date; now unless said" },
  },
  async run({ connect, url, interrupted, output, options: { tokens, since, until } }) {
    const client = await connect();
    const to = until ?? Date.now();
    if (tokens) {
      await awaitTools(client, { url, interrupted, output });
      const report = await client.tokenReport({ from: since ?? to - DAY, to });
      return output.data(report, (costs) => showTokens(costs, output));
    }
    const found = await client.statistics({ from: since ?? to - DAY, to, buckets: 24 });
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
        { paint: output.paint, styles: ["bold"] },
      ),
    );
    if (found.tools.length === 0) output.info("Nothing was called in that time.");
  },
});

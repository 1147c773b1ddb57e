import type { QuestionStatistics, TokenReport } from "../../contracts/statistics.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { waitForTools } from "../mcp-servers.ts";
import { showDuration } from "../../core/clock.ts";
import { countOf } from "../../core/results/count-of.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine } from "../output.ts";

const DAY_MS = 86_400_000;

export const stats = defineCommand({
  examples: [
    ["haft stats", "of the last day"],
    ["haft stats --since 7d --json", "of the last week, for a program"],
    ["haft stats --tokens", "how much of a model's context each tool uses"],
    ["haft stats --questions --since 7d", "what people were asked, and how they answered"],
  ],
  options: {
    tokens: { type: "flag", about: "How much of a model's context definitions and results use" },
    questions: { type: "flag", about: "Questions to people, their answers, and what proposals would save" },
    since: { type: "moment", value: "WHEN", about: "2h (ago), or a date; default: 24h" },
    until: { type: "moment", value: "WHEN", about: "2h (ago), or a date; default: now" },
  },
  uses: ["statistics", "mcp"],
  async run({ connect, url, interrupted, output, options: { tokens, questions, since, until } }) {
    if (tokens && questions) throw new UsageError("Give --tokens or --questions, not both.");
    const client = await connect(tokens ? {} : questions ? { connectsMcp: true } : { only: [] });
    const to = until ?? Date.now();
    const from = since ?? to - DAY_MS;
    if (tokens) {
      await waitForTools(client, { url, interrupted, output });
      return output.data(await client.statistics.tokens({ from, to }), (report) => showTokens(report, output));
    }
    if (questions)
      return output.data(await client.statistics.questions({ from, to }), (found) => showQuestions(found, output));
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

function showQuestions(found: QuestionStatistics, { paint, columns }: Output): string[] {
  const { asked, yes, no, unread, medianMs, open, ended, people, tools, risks, proposals } = found;
  const answers = yes + no;
  const share = (of: number, all: number): string => (all === 0 ? "-" : `${Math.round((of / all) * 100)} %`);
  const table = (title: string, of: QuestionStatistics["tools"]): string[] =>
    of.length === 0
      ? []
      : [
          "",
          ...showColumns(
            [
              [title, "asked", "yes", "share", "under 2 s", "median"],
              ...of.map((each) => [
                safeLine(each.name || "-"),
                String(each.asked),
                String(each.yes),
                share(each.yes, each.yes + each.no),
                String(each.unread),
                showDuration(each.medianMs),
              ]),
            ],
            { paint, columns, styles: ["bold"] },
          ),
        ];
  return [
    `${countOf(asked, "question")}: ${yes} yes, ${no} no, ${open} open, ${ended} ended without a person's answer.`,
    ...(answers > 0
      ? [`Half of the answers took less than ${showDuration(medianMs)}; ${unread} took less than 2 s: probably unread.`]
      : []),
    ...people.map(
      ({ name, asked: given, hours }) =>
        `  ${safeLine(name || "without a name")}: ${countOf(given, "answer")} in ${countOf(hours, "hour")}, ${(given / Math.max(1, hours)).toFixed(1)} an hour`,
    ),
    ...(proposals.count > 0
      ? [
          `${countOf(proposals.count, "proposal")} would have saved ${countOf(proposals.saved, "question")}: haft policy suggest`,
        ]
      : []),
    ...table("tool", tools),
    ...table("risk", risks),
  ];
}

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

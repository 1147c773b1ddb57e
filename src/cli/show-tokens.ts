import type { TokenReport } from "../http/wire.ts";
import { type Output, safeLine } from "./output.ts";
import { showColumns } from "./show-columns.ts";

/** What each tool costs a model's context, and all of them together. */
export function showTokens(report: TokenReport, { paint }: Pick<Output, "paint">): string[] {
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
    `A model is shown ${shown} of ${tools.length} tools: ${shownTokens} of ${allTokens} tokens of definitions.`,
    `Results of that time: about ${resultTokens} tokens, estimated from their bytes.`,
    counter === "estimate"
      ? "Definitions are estimated too: npm install gpt-tokenizer to count them."
      : `Definitions are counted in ${counter}; other models count a little differently.`,
  ];
}

import { createHaft } from "../runtime.ts";
import { Page, type PageOptions } from "./page.ts";
import { askFirst } from "./steps/ask-first.ts";
import { buildCall } from "./steps/build-call.ts";
import { chainTools } from "./steps/chain-tools.ts";
import { denyTool } from "./steps/deny-tool.ts";
import { filterTools } from "./steps/filter-tools.ts";
import { findTools } from "./steps/find-tools.ts";
import { getTools } from "./steps/get-tools.ts";
import { mcpTools } from "./steps/mcp-tools.ts";
import { planMode } from "./steps/plan-mode.ts";
import { playTool } from "./steps/play-tool.ts";
import { readStatistics } from "./steps/read-statistics.ts";
import { refuseInput } from "./steps/refuse-input.ts";
import { registerTools } from "./steps/register-tools.ts";
import { streamProgress } from "./steps/stream-progress.ts";
import type { Example, TourStep } from "./tour.ts";

/** Walks through the tool system and checks what it says on the way. Gives how many checks held, and how many did not. */
export async function runTour(example: Example, options: PageOptions): Promise<{ held: number; failed: number }> {
  const page = new Page(options);
  // Nobody sits before the tour: it says yes to what its tools ask, and shows the question in a step of its own.
  const haft = createHaft({ approver: async () => ({ approved: true, by: "tour" }) });
  page.heading(["Tool system tour", "工具系统测试"]);
  for (const { title, run } of stepsOf(example)) await page.step(title, () => run({ haft, example, page }));
  await haft.shutdown();
  const { held, failed } = page;
  options.write("");
  page.heading(
    failed === 0
      ? [`Done: ${held} checks passed`, `测试完成：${held} 项检查全部通过`]
      : [`Done: ${failed} of ${held + failed} checks FAILED`, `测试完成：${held + failed} 项检查中 ${failed} 项失败`],
  );
  if (failed === 0) {
    options.write("");
    page.plain(["What next:", "接下来："]);
    page.plain(["  README.md       a tool of your own in ten lines", "  README.zh-CN.md   十行代码写出自己的工具"]);
    page.plain(["  npm test        every test of this repository", "  npm test          运行全部测试"]);
    page.plain(["  src/tour/       the code of what you have just seen", "  src/tour/         以上内容的源代码"]);
  }
  return { held, failed };
}

/** In the order, and under the numbers, that the tour's printed example has: 3 filters, 7 edits, 9 runs, 12 is MCP. */
function stepsOf({ plays }: Example): TourStep[] {
  return [
    registerTools,
    getTools,
    filterTools,
    planMode,
    findTools,
    ...plays.map(playTool),
    mcpTools,
    buildCall,
    refuseInput,
    denyTool,
    askFirst,
    streamProgress,
    chainTools,
    readStatistics,
  ];
}

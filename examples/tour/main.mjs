// A guided tour of the tools, with a check of each step. Exits with 1 if a check failed.
import { createHaft } from "haft";
import { openExample } from "./example.mjs";
import { chooseLanguage, Page } from "./page.mjs";
import {
  askFirst,
  buildCall,
  chainTools,
  denyTool,
  filterTools,
  findTools,
  getTools,
  mcpTools,
  planMode,
  playTool,
  readStatistics,
  refuseInput,
  registerTools,
  streamProgress,
} from "./steps.mjs";

// A reader such as `head` may close the pipe.
process.stdout.on("error", (error) => process.exit(error.code === "EPIPE" ? 0 : 2));

try {
  const language = chooseLanguage(process.argv.slice(2), process.env);
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  const example = openExample();
  const options = { language, colour, write: (line) => console.log(line) };
  try {
    const { failed } = await runTour(example, options);
    if (failed > 0) process.exitCode = 1;
  } finally {
    await example.close();
  }
} catch (error) {
  console.error(error instanceof RangeError ? error.message : error);
  process.exitCode = 2;
}

/** Demonstrates the tool system and checks what it prints. Returns the number of passed and failed checks. */
async function runTour(example, options) {
  const page = new Page(options);
  // The tour is not interactive: it approves all calls, and shows approvals in a separate step.
  const haft = createHaft({ approver: async () => ({ approved: true, by: "tour" }) });
  page.heading(["Tool system tour", "工具系统测试"]);
  for (const { title, run } of stepsOf(example)) await page.step(title, () => run({ haft, example, page }));
  await haft.shutdown();
  const { passed, failed } = page;
  options.write("");
  page.heading(
    failed === 0
      ? [`Done: ${passed} checks passed`, `测试完成：${passed} 项检查全部通过`]
      : [
          `Done: ${failed} of ${passed + failed} checks FAILED`,
          `测试完成：${passed + failed} 项检查中 ${failed} 项失败`,
        ],
  );
  if (failed === 0) {
    options.write("");
    page.plain(["What next:", "接下来："]);
    page.plain(["  README.md       your own tool in ten lines", "  README.zh-CN.md   十行代码写出自己的工具"]);
    page.plain(["  npm test        every test of this repository", "  npm test          运行全部测试"]);
    page.plain(["  examples/tour/  the code of this tour", "  examples/tour/    以上内容的源代码"]);
  }
  return { passed, failed };
}

/** The order matches the printed example of the tour: step 3 filters, 7 edits, 9 runs, 12 is MCP. */
function stepsOf({ plays }) {
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

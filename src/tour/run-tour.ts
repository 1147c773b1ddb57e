import type { ChainStep } from "../core/chain.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool } from "../core/tool.ts";
import { createHaft, type Haft } from "../runtime.ts";
import { Page, type PageOptions, type Phrase } from "./page.ts";
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
} from "./steps.ts";

/** Demonstrates the tool system and checks what it prints. Returns the number of passed and failed checks. */
export async function runTour(example: Example, options: PageOptions): Promise<{ passed: number; failed: number }> {
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
    page.plain(["  src/tour/       the code of this tour", "  src/tour/         以上内容的源代码"]);
  }
  return { passed, failed };
}

/** The order matches the printed example of the tour: step 3 filters, 7 edits, 9 runs, 12 is MCP. */
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

/** The context of a step. The steps share one runtime, so the last one can show its statistics. */
interface Tour {
  readonly haft: Haft;
  readonly example: Example;
  readonly page: Page;
}

export interface TourStep {
  readonly title: Phrase;
  run(tour: Tour): Promise<void>;
}

type Input = Readonly<Record<string, unknown>>;

/** The tools of the tour, and the data for its steps. */
export interface Example {
  readonly tools: readonly AnyTool[];
  readonly readOnly: readonly string[];
  readonly changing: readonly string[];
  /** Each is a step of the tour. */
  readonly plays: readonly Play[];
  /** A search, and the tool that should be found first. */
  readonly search: { category: Phrase; tag: string; query: string; finds: string };
  /** A valid call, and the same with a misspelt parameter. The result should suggest `near`. */
  readonly call: { tool: string; input: Input; misspelt: Input; near: string };
  /** An unknown name that is similar to a known one. */
  readonly wrongName: { requested: string; near: string };
  /** A tool that the policy denies. `happened` tells whether it ran nevertheless. */
  readonly denied: { tool: string; input: Input; happened(): boolean };
  /** Two calls that need an approval, one for each answer. The question must contain `shows`. */
  readonly requested: {
    tool: string;
    approved: Input;
    denied: Input;
    shows: string;
    happened(input: Input): boolean;
  };
  /** A slow call. Its output starts with `begins`. */
  readonly slow: { tool: string; input: Input; begins: string };
  readonly chain: { steps: readonly ChainStep[]; input: Input; gives: string };
  /** Stops everything and removes the folder. */
  close(): Promise<void>;
}

/** Calls of one tool, and their expected results. */
export interface Play {
  readonly tool: string;
  readonly calls: readonly PlayedCall[];
}

interface PlayedCall {
  readonly label: Phrase;
  readonly input: Input;
  readonly outcome: Phrase;
  holds(result: ToolResult): boolean;
  /** If set, the output is printed with this label. */
  readonly prints?: Phrase;
}

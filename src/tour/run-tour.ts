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

/** What a step is given. The steps share one runtime, so that the last one can show what passed through it. */
export interface Tour {
  readonly haft: Haft;
  readonly example: Example;
  readonly page: Page;
}

export interface TourStep {
  readonly title: Phrase;
  run(tour: Tour): Promise<void>;
}

type Input = Readonly<Record<string, unknown>>;

/** The tools that are shown, and everything that the steps have to know of them. */
export interface Example {
  readonly tools: readonly AnyTool[];
  readonly readOnly: readonly string[];
  readonly changing: readonly string[];
  /** One step of the tour each. */
  readonly plays: readonly Play[];
  /** What a person looks for, and which tool should be found first. */
  readonly search: { category: Phrase; tag: string; query: string; finds: string };
  /** A good call, and the same with a parameter misspelt; `near` is what the answer should offer. */
  readonly call: { tool: string; input: Input; misspelt: Input; near: string };
  /** A name that nobody has, close to one that is there. */
  readonly wrongName: { requested: string; near: string };
  /** A tool that policy denies; `happened` says whether it ran after all. */
  readonly denied: { tool: string; input: Input; happened(): boolean };
  /** Two calls of a tool that asks first, one for each answer; `shows` must be in the question. */
  readonly requested: {
    tool: string;
    approved: Input;
    denied: Input;
    shows: string;
    happened(input: Input): boolean;
  };
  /** A call that takes long; by `begins` one sees that it has begun. */
  readonly slow: { tool: string; input: Input; begins: string };
  readonly chain: { steps: readonly ChainStep[]; input: Input; gives: string };
  /** Ends what still runs, and leaves nothing behind. */
  close(): Promise<void>;
}

/** Some calls of one tool, and what each should come to. */
export interface Play {
  readonly tool: string;
  readonly calls: readonly PlayedCall[];
}

export interface PlayedCall {
  readonly label: Phrase;
  readonly input: Input;
  readonly outcome: Phrase;
  holds(result: ToolResult): boolean;
  /** Under which label what the tool answered is printed too. */
  readonly prints?: Phrase;
}

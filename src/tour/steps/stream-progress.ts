import { textOf } from "../../core/content.ts";
import type { TourStep } from "../tour.ts";

const PARTS = ["oak", "ash", "elm", "yew"];

export const streamProgress: TourStep = {
  title: ["Stream: progress while a tool runs, and stop it", "流式输出：执行中报告进度，并可中断"],
  async run({ haft, example, page }) {
    const seen: string[] = [];
    haft.register({
      name: "count_trees",
      description: "Count the trees, one kind after the other",
      kind: "readonly",
      parameters: [],
      async *run() {
        for (const [index, part] of PARTS.entries()) {
          yield { progress: { done: index + 1, total: PARTS.length, message: part } };
        }
        return { kinds: PARTS.length };
      },
    });
    const result = await haft.execute(
      "count_trees",
      {},
      {
        onUpdate: ({ progress }) => {
          if (progress) seen.push(`${progress.message} ${progress.done}/${progress.total}`);
        },
      },
    );
    const expected = PARTS.map((part, index) => `${part} ${index + 1}/${PARTS.length}`).join(" · ");
    page.check(["Progress", "进度"], seen.join(" · ") === expected, [expected, expected], seen.join(" · "));
    page.check(
      ["Result", "结果"],
      result.success && JSON.stringify(result.details) === '{"kinds":4}',
      ["success", "成功"],
      result.display,
    );
    haft.registry.unregister("count_trees");

    const { tool, input, begins } = example.slow;
    const stop = new AbortController();
    const onUpdate = (): void => stop.abort();
    const stopped = await haft.execute(tool, input, { signal: stop.signal, onUpdate });
    page.check(
      [`${tool}, aborted`, `中断 ${tool}`],
      stopped.status === "failed" && stopped.error.code === "cancelled" && textOf(stopped.content).includes(begins),
      ["ended at once, keeps its output until then", "立即终止，保留此前的输出"],
      stopped.display,
    );
  },
};

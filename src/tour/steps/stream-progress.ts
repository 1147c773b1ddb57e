import type { TourStep } from "../tour.ts";

const PARTS = ["oak", "ash", "elm", "yew"];

export const streamProgress: TourStep = {
  title: ["Stream: progress while a tool runs, and stop it", "流式输出：执行中报告进度，并可中断"],
  async run({ haft, page }) {
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
    const stop = new AbortController();
    let parts = 0;
    const onUpdate = (): void => {
      parts++;
      stop.abort();
    };
    const stopped = await haft.execute("count_trees", {}, { signal: stop.signal, onUpdate });
    page.check(
      ["Aborted", "中断"],
      stopped.status === "failed" && stopped.error.code === "cancelled" && parts === 1,
      ["after the first part", "在第一部分之后"],
      stopped.display,
    );
    haft.registry.unregister("count_trees");
  },
};

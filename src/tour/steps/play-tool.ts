import { textOf } from "../../core/content.ts";
import type { Play, TourStep } from "../tour.ts";

/** A step for one tool: its calls, made one after the other. */
export function playTool({ tool, calls }: Play): TourStep {
  return {
    title: [`Execute ${tool}`, `测试 ${tool} 工具`],
    async run({ haft, page }) {
      for (const { label, input, holds, outcome, prints } of calls) {
        const result = await haft.execute(tool, input);
        page.check(label, holds(result), outcome, `${result.status}: ${result.display}`);
        if (prints) page.print(prints, textOf(result.content));
      }
    },
  };
}

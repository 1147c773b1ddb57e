import { shownName } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const readStatistics: TourStep = {
  title: ["Statistics: every call was counted", "统计：每次调用都有记录"],
  async run({ haft, example, page }) {
    const { total, callStats } = haft.getStats();
    const log = await haft.log.recent();
    for (const tool of example.tools) {
      const { count = 0, failures = 0 } = callStats[tool.name] ?? {};
      const name = shownName(tool);
      const calls = count === 1 ? "call" : "calls";
      page.print([name, name], [`${count} ${calls}, ${failures} failed`, `${count} 次调用，${failures} 次失败`]);
    }
    page.check(["Tools left", "剩余工具"], total === example.tools.length, [String(total), String(total)]);
    const counted = Object.values(callStats).reduce((sum, { count }) => sum + count, 0);
    page.check(
      ["Log", "日志"],
      log.length > 0 && counted === log.length,
      [`${log.length} calls, as counted`, `${log.length} 次调用，与统计一致`],
      `${counted} ≠ ${log.length}`,
    );
  },
};

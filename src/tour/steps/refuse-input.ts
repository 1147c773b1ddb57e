import { textOf } from "../../core/content.ts";
import type { TourStep } from "../tour.ts";

export const refuseInput: TourStep = {
  title: ["Validate: what is wrong, and what was meant", "参数验证：错在哪里，本意是什么"],
  async run({ haft, example, page }) {
    const { tool, misspelt, near } = example.call;
    const refused = await haft.execute(tool, misspelt);
    page.check(
      ["Misspelt parameter", "参数名写错"],
      refused.status === "failed" && refused.error.code === "invalid_input" && textOf(refused.content).includes(near),
      [`refused, offers "${near}"`, `正确拒绝，提示 "${near}"`],
      refused.display,
    );
    const { requested, near: nearName } = example.wrongName;
    const unknown = await haft.execute(requested, {});
    page.check(
      ["Misspelt tool", "工具名写错"],
      unknown.status === "failed" &&
        unknown.error.code === "tool_not_found" &&
        unknown.error.message.includes(nearName),
      [`refused, offers "${nearName}"`, `正确拒绝，提示 "${nearName}"`],
      unknown.display,
    );
    const repaired = await haft.execute(tool, JSON.stringify(JSON.stringify(example.call.input)));
    page.check(
      ["JSON encoded twice", "JSON 重复编码"],
      repaired.success && (repaired.metadata.repairs?.length ?? 0) > 0,
      ["repaired, and says so", "已修复，并注明"],
      repaired.display,
    );
  },
};

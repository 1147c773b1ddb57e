import { DIALECT } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const planMode: TourStep = {
  title: ["Plan mode: read-only tools only", "Plan 模式：只有只读工具"],
  async run({ haft, example, page }) {
    const shown = haft.toLLMTools({ mode: "plan", dialect: DIALECT }).map(({ name }) => name);
    const all = haft.toLLMTools({ dialect: DIALECT });
    page.check(
      ["Shown to the model", "模型可见"],
      shown.join() === example.readOnly.join() && all.length === example.tools.length,
      [`${shown.length} of ${all.length} tools`, `${all.length} 个中的 ${shown.length} 个`],
      shown.join(", "),
    );
    const { tool, input, happened } = example.denied;
    const refused = await haft.execute(tool, input, { mode: "plan" });
    page.check(
      ["Calling another", "调用其他工具"],
      refused.status === "failed" && refused.error.code === "plan_mode" && !happened(),
      ["refused, has not run", "正确拒绝，没有执行"],
      refused.display,
    );
  },
};

import { createHaft } from "../../runtime.ts";
import { DIALECT } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const denyTool: TourStep = {
  title: ["Policy: a denied tool does not exist", "策略：被拒绝的工具等于不存在"],
  async run({ example, page }) {
    const { tool: name, input, happened } = example.denied;
    const guarded = createHaft({ tools: example.tools, policy: { deny: [name] } });
    const refused = await guarded.execute(name, input);
    page.check(
      ["Called anyway", "强行调用"],
      refused.status === "failed" && refused.error.code === "denied" && !happened(),
      ["refused, has not run", "正确拒绝，没有执行"],
      refused.display,
    );
    const shown = guarded.toLLMTools({ dialect: DIALECT });
    page.check(
      ["Shown to the model", "模型可见"],
      shown.length === example.tools.length - 1 && !shown.some((tool) => tool.name === name),
      [`all but ${name}`, `除 ${name} 以外`],
    );
    const log = await guarded.log.recent();
    page.check(["Log", "日志"], log.length === 1 && log[0]!.errorCode === "denied", [
      "the refused call is in it",
      "被拒绝的调用也有记录",
    ]);
  },
};

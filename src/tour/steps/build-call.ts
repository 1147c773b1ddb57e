import { ToolValidationError } from "../../core/error.ts";
import type { TourStep } from "../tour.ts";

export const buildCall: TourStep = {
  title: ["Build a call, execute it later", "build 方法：先构建，后执行"],
  async run({ haft, example, page }) {
    const { tool: name, input, misspelt } = example.call;
    const tool = haft.registry.get(name)!;
    const before = (await haft.log.recent()).length;
    const invocation = tool.build(input);
    page.check(["Built", "已构建"], invocation.tool === tool && (await haft.log.recent()).length === before, [
      "validated, has not run",
      "已验证，未执行",
    ]);
    const result = await invocation.execute();
    page.check(
      ["Executed", "已执行"],
      result.success && (await haft.log.recent()).length === before + 1,
      ["success, and in the log", "成功，并已记录"],
      result.display,
    );
    page.check(["Bad input", "错误参数"], isRefused(), ["refused at once", "立即拒绝"]);

    function isRefused(): boolean {
      try {
        tool.build(misspelt);
        return false;
      } catch (error) {
        return error instanceof ToolValidationError;
      }
    }
  },
};

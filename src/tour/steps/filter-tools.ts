import { shownNames } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const filterTools: TourStep = {
  title: ["Filter read-only and changing tools", "测试只读/写入工具过滤"],
  async run({ haft, example, page }) {
    const readOnly = shownNames(haft.registry.getReadOnlyTools());
    const changing = shownNames(haft.registry.getWriteTools());
    page.check(["Read-only", "只读工具"], readOnly === example.readOnly.join(", "), [readOnly, readOnly], readOnly);
    page.check(["Changing", "写入工具"], changing === example.changing.join(", "), [changing, changing], changing);
  },
};

import { shownName } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const getTools: TourStep = {
  title: ["Get a tool by its name", "按名称获取工具"],
  async run({ haft, example, page }) {
    const [first] = example.tools;
    const name = shownName(first!);
    const found = haft.registry.get(name);
    page.check(["By name", "按名称"], found === first, [name, name], found?.name ?? "undefined");
    const others = [first!.name, ...first!.aliases].filter((other) => other !== name).join(", ");
    page.check(
      ["By its other names", "按其他名称"],
      others.split(", ").every((other) => haft.registry.get(other) === first),
      [`the same tool: ${others}`, `同一个工具：${others}`],
    );
    page.check(
      ["Unknown name", "未知名称"],
      !haft.registry.has("no_such_tool") && haft.registry.get("no_such_tool") === undefined,
      ["not found", "不存在"],
    );
  },
};

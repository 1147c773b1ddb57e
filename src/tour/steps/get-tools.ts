import type { TourStep } from "../tour.ts";

export const getTools: TourStep = {
  title: ["Get a tool by its name", "按名称获取工具"],
  async run({ haft, example, page }) {
    const [first] = example.tools;
    const found = haft.registry.get(first!.name);
    page.check(["By name", "按名称"], found === first, [first!.name, first!.name], found?.name ?? "undefined");
    page.check(
      ["In another spelling", "其他写法"],
      haft.registry.get(first!.name.toUpperCase().replaceAll("_", "-")) === first,
      ["the same tool", "同一个工具"],
    );
    page.check(
      ["Unknown name", "未知名称"],
      !haft.registry.has("no_such_tool") && haft.registry.get("no_such_tool") === undefined,
      ["not found", "不存在"],
    );
  },
};

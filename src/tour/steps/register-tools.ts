import { shownNames } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const registerTools: TourStep = {
  title: ["Create a tool registry and register the built-in tools", "创建工具注册表并注册内置工具"],
  async run({ haft, example, page }) {
    const received: string[] = [];
    const stop = haft.registry.on("toolRegistered", ({ tool }) => received.push(tool.name));
    const registered = haft.registry.registerMany(example.tools);
    stop();
    const fromServers = haft.registry.list().filter(({ origin }) => origin.type === "mcp");
    const builtIn = registered.filter(({ origin }) => origin.type === "builtin");
    page.print([`Registered ${registered.length} tools`, `已注册 ${registered.length} 个工具`], shownNames(registered));
    page.print(["Built in", "内置工具"], String(builtIn.length));
    page.print(["MCP tools", "MCP 工具"], String(fromServers.length));
    page.check(
      ["Events", "事件"],
      received.join() === example.tools.map(({ name }) => name).join(),
      ["one for each tool", "每个工具各一个"],
      received.join(", "),
    );
    page.check(["Same name again", "重复注册"], isRefused(), ["refused", "正确拒绝"]);

    function isRefused(): boolean {
      try {
        haft.register(example.tools[0]!);
        return false;
      } catch (error) {
        return error instanceof TypeError && error.message.includes("already registered");
      }
    }
  },
};

import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { shownName } from "../shown-name.ts";
import type { TourStep } from "../tour.ts";

export const mcpTools: TourStep = {
  title: ["Register and unregister an MCP tool", "测试 MCP 工具注册"],
  async run({ haft, example, page }) {
    const taken = shownName(example.tools[0]!);
    haft.registry.registerMcpTool(toolOfServer("list_issues"));
    const called = await haft.execute("list_issues", { project: "haft" });
    page.check(
      ["MCP tool registered", "MCP 工具注册"],
      called.success && JSON.stringify(called.details) === '["haft#1"]',
      ["answers through the same gate", "经过同一道关卡"],
      called.display,
    );
    page.check([`Calling itself ${taken}`, `冒用名称 ${taken}`], isRefused(), ["refused", "正确拒绝"]);
    const removed = haft.registry.unregisterMcpTool("list_issues");
    page.check(["After unregistering", "注销后"], removed && !haft.registry.has("list_issues"), ["gone", "已移除"]);

    function isRefused(): boolean {
      try {
        haft.registry.registerMcpTool(toolOfServer(taken));
        return false;
      } catch (error) {
        return error instanceof TypeError && haft.registry.get(taken) === example.tools[0];
      }
    }
  },
};

/** As a server describes its tools: with JSON Schema. */
function toolOfServer(name: string): AnyTool {
  return createTool({
    name,
    description: "List the issues of a project",
    kind: "readonly",
    category: "mcp",
    origin: { type: "mcp", server: "tracker" },
    parameters: {
      type: "object",
      properties: { project: { type: "string", description: "Whose issues" } },
      required: ["project"],
    },
    run: ({ project }) => [`${project}#1`],
  });
}

import { Plug } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const mcpPage: Page = {
  path: "mcp",
  section: "connections",
  icon: Plug,
  words: defineWords({ title: ["MCP servers", "MCP 服务器"] }),
  view: lazyPage(() => import("./mcp-view.tsx")),
  needs: "mcp",
};

import { Plug } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const mcpPage: Page = {
  path: "mcp",
  icon: Plug,
  words: defineWords({ en: { title: "MCP" }, zh: { title: "MCP" } }),
  view: lazy(() => import("./mcp-view.tsx")),
  needs: "mcp",
};

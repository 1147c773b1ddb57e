import { Wrench } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const toolsPage: Page = {
  path: "tools",
  icon: Wrench,
  words: defineWords({ en: { title: "Tools" }, zh: { title: "工具" } }),
  view: lazy(() => import("./tools-view.tsx")),
};

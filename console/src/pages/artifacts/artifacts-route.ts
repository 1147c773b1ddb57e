import { FileStack } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const artifactsPage: Page = {
  path: "artifacts",
  section: "agents",
  icon: FileStack,
  words: defineWords({ en: { title: "Artifacts" }, zh: { title: "文档" } }),
  view: lazy(() => import("./artifacts-view.tsx")),
  needs: "artifacts",
};

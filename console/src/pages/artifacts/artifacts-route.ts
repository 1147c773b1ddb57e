import { FileStack } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const artifactsPage: Page = {
  path: "artifacts",
  section: "agents",
  icon: FileStack,
  words: defineWords({ title: ["Artifacts", "文档"] }),
  view: lazyPage(() => import("./artifacts-view.tsx")),
  needs: "artifacts",
};

import { Wrench } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const toolsPage: Page = {
  path: "tools",
  section: "tools",
  icon: Wrench,
  words: defineWords({ title: ["Catalogue", "目录"] }),
  view: lazyPage(() => import("./tools-view.tsx")),
};

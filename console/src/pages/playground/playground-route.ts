import { FlaskConical } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const playgroundPage: Page = {
  path: "playground",
  section: "tools",
  icon: FlaskConical,
  words: defineWords({ en: { title: "Playground" }, zh: { title: "演练场" } }),
  view: lazy(() => import("./playground-view.tsx")),
};

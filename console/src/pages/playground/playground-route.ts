import { FlaskConical } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const playgroundPage: Page = {
  path: "playground",
  section: "tools",
  icon: FlaskConical,
  words: defineWords({ title: ["Playground", "演练场"] }),
  view: lazyPage(() => import("./playground-view.tsx")),
};

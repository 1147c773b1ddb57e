import { Presentation } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const canvasPage: Page = {
  path: "canvas",
  section: "agents",
  icon: Presentation,
  words: defineWords({ title: ["Canvas", "画布"] }),
  view: lazyPage(() => import("./canvas-view.tsx")),
  needs: "canvas",
};

import { Activity } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const workPage: Page = {
  path: "work",
  aliases: ["calls"],
  section: "work",
  icon: Activity,
  words: defineWords({ title: ["Work", "工作"] }),
  view: lazyPage(() => import("./work-view.tsx")),
};

import { Activity } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const callsPage: Page = {
  path: "work",
  aliases: ["calls"],
  section: "work",
  icon: Activity,
  words: defineWords({ en: { title: "Work" }, zh: { title: "工作" } }),
  view: lazy(() => import("./calls-view.tsx")),
};

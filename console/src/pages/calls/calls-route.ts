import { Activity } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const callsPage: Page = {
  path: "calls",
  icon: Activity,
  words: defineWords({ en: { title: "Calls" }, zh: { title: "调用" } }),
  view: lazy(() => import("./calls-view.tsx")),
};

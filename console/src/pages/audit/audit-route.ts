import { ScrollText } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const auditPage: Page = {
  path: "audit",
  section: "audit",
  icon: ScrollText,
  words: defineWords({ en: { title: "Log" }, zh: { title: "日志" } }),
  view: lazy(() => import("./audit-view.tsx")),
  needs: "audit",
};

import { ScrollText } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const auditPage: Page = {
  path: "audit",
  icon: ScrollText,
  words: defineWords({ en: { title: "Audit" }, zh: { title: "审计" } }),
  view: lazy(() => import("./audit-view.tsx")),
  needs: "audit",
};

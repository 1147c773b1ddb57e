import { ScrollText } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const auditPage: Page = {
  path: "audit",
  section: "audit",
  icon: ScrollText,
  words: defineWords({ title: ["Log", "日志"] }),
  view: lazyPage(() => import("./audit-view.tsx")),
  needs: "audit",
};

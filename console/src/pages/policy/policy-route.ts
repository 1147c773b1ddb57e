import { Scale } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const policyPage: Page = {
  path: "policy",
  section: "policy",
  icon: Scale,
  words: defineWords({ en: { title: "Policy" }, zh: { title: "策略" } }),
  view: lazy(() => import("./policy-view.tsx")),
  needs: "policy",
};

import { Scale } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const policyPage: Page = {
  path: "policy",
  section: "policy",
  icon: Scale,
  words: defineWords({ title: ["Policy", "策略"] }),
  view: lazyPage(() => import("./policy-view.tsx")),
  needs: "policy",
};

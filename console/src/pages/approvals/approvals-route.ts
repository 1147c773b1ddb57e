import { ShieldQuestion } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const approvalsPage: Page = {
  path: "approvals",
  section: "approvals",
  icon: ShieldQuestion,
  words: defineWords({ title: ["Approvals", "审批"] }),
  view: lazyPage(() => import("./approvals-view.tsx")),
};

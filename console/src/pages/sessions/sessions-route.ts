import { MessagesSquare } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const sessionsPage: Page = {
  path: "sessions",
  section: "agents",
  icon: MessagesSquare,
  words: defineWords({ en: { title: "Sessions" }, zh: { title: "会话" } }),
  view: lazy(() => import("./sessions-view.tsx")),
  needs: "sessions",
};

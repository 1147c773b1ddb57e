import { MessagesSquare } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const sessionsPage: Page = {
  path: "sessions",
  section: "agents",
  icon: MessagesSquare,
  words: defineWords({ title: ["Sessions", "会话"] }),
  view: lazyPage(() => import("./sessions-view.tsx")),
  needs: "sessions",
};

import { Send } from "lucide-react";
import { lazy } from "react";
import { defineWords } from "../../language.tsx";
import type { Page } from "../../page.ts";

export const channelsPage: Page = {
  path: "channels",
  section: "connections",
  icon: Send,
  words: defineWords({ en: { title: "Channels" }, zh: { title: "消息渠道" } }),
  view: lazy(() => import("./channels-view.tsx")),
  needs: "channels",
};

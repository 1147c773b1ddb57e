import { Send } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const channelsPage: Page = {
  path: "channels",
  section: "connections",
  icon: Send,
  words: defineWords({ title: ["Channels", "消息渠道"] }),
  view: lazyPage(() => import("./channels-view.tsx")),
  needs: "channels",
};

import { Settings } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const settingsPage: Page = {
  path: "settings",
  section: "settings",
  icon: Settings,
  words: defineWords({ title: ["Settings", "设置"] }),
  view: lazyPage(() => import("./settings-view.tsx")),
};

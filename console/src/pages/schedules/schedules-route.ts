import { CalendarClock } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const schedulesPage: Page = {
  path: "schedules",
  section: "automations",
  icon: CalendarClock,
  words: defineWords({ title: ["Schedules", "定时"] }),
  view: lazyPage(() => import("./schedules-view.tsx")),
  needs: "schedules",
};

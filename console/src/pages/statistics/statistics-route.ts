import { ChartColumn } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const statisticsPage: Page = {
  path: "statistics",
  section: "audit",
  icon: ChartColumn,
  words: defineWords({ title: ["Statistics", "统计"] }),
  view: lazyPage(() => import("./statistics-view.tsx")),
};

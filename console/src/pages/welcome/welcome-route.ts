import { Footprints } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

/** Shown only until the first steps are done or dismissed. */
export const welcomePage: Page = {
  path: "welcome",
  section: "work",
  icon: Footprints,
  words: defineWords({ title: ["First steps", "快速上手"] }),
  view: lazyPage(() => import("./welcome-view.tsx")),
};

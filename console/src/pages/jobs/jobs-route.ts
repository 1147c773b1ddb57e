import { ListTodo } from "lucide-react";
import { defineWords } from "../../language.tsx";
import { lazyPage } from "../../lazy-page.tsx";
import type { Page } from "../../page.ts";

export const jobsPage: Page = {
  path: "jobs",
  section: "automations",
  icon: ListTodo,
  words: defineWords({ title: ["Jobs", "作业"] }),
  view: lazyPage(() => import("./jobs-view.tsx")),
  needs: "jobs",
};

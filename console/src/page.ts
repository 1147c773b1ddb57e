import type { LucideIcon } from "lucide-react";
import type { ComponentType, LazyExoticComponent } from "react";
import type { Words } from "./language.tsx";

/** One page of the console. A capability adds its own here and nowhere else: one file, and its line in `pages.ts`. */
export interface Page {
  /** The first part of its address; what follows it belongs to the page. */
  path: string;
  icon: LucideIcon;
  words: Words<{ title: string }>;
  view: LazyExoticComponent<ComponentType>;
  /** A part of the server without which the page is not shown. */
  needs?: string;
}

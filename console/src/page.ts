import type { LucideIcon } from "lucide-react";
import type { ApiClient } from "../../src/contracts/index.ts";
import type { Words } from "./language.tsx";
import type { LazyPage } from "./lazy-page.tsx";
import type { SectionId } from "./sections.ts";

/** One page of the console. A new page is a `pages/<name>/<name>-view.tsx` and an entry in `pages.ts`. */
export interface Page {
  /** The first part of its address. The page uses the rest. */
  path: string;
  /** Former first parts of its address. They lead to the page. */
  aliases?: readonly string[];
  section: SectionId;
  icon: LucideIcon;
  /** The title of its tab, if the section has several pages. */
  words: Words<{ title: string }>;
  view: LazyPage;
  /** The page is shown only if the server has this resource. */
  needs?: keyof ApiClient;
}

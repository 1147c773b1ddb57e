import { type Content, text } from "../../core/content.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import type { BrowserInput } from "./browser-parameters.ts";
import type { Profile } from "./profiles.ts";
import type { Tab } from "./tab.ts";

export interface TabLocation {
  tab: string;
  url: string;
  title: string;
}

/** Where a tab is now; nowhere when it was closed meanwhile. */
export async function locationOf({ id, page }: Tab): Promise<TabLocation | undefined> {
  if (page.isClosed()) return undefined;
  const title = await page.title().catch(() => "");
  return { tab: id, url: disarmText(page.url()).slice(0, 2000), title: disarmText(title).slice(0, 300) };
}

export async function showTabs({ tabs, current }: Profile): Promise<Content> {
  const lines = await Promise.all(
    [...tabs.values()].map(async (tab) => {
      const { url = "", title = "" } = (await locationOf(tab)) ?? {};
      return `${tab.id}${tab === current ? " (current)" : ""}: ${title || "(no title)"} ${url}`;
    }),
  );
  return text(lines.length === 0 ? "No tab is open." : wrapUntrusted(lines.join("\n"), "browser tabs"));
}

export function showConsole({ console: lines, page }: Tab, { limit = 50, level = "all" }: BrowserInput): Content {
  const wanted = level === "all" ? lines : lines.filter((line) => line.level === "error" || line.level === "exception");
  const shown = wanted.slice(-limit).map((line) => `[${line.level}] ${line.text}`);
  return text(shown.length === 0 ? "The console is empty." : wrapUntrusted(shown.join("\n"), page.url()));
}

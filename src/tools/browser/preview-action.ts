import { text } from "../../core/content.ts";
import type { Preview } from "../../core/tool.ts";
import { showHiddenCharacters } from "../../shell/hidden-characters.ts";
import type { BrowserInput } from "./browser-parameters.ts";
import type { Profile } from "./profiles.ts";
import type { Tab } from "./tab.ts";
import { elementAt } from "./take-snapshot.ts";

/** What the answer decides about: where it would happen, and with what. */
export async function previewAction(input: BrowserInput, profile: Profile | undefined): Promise<Preview> {
  const { action, kind, ref, tab, ...rest } = input;
  const where = tab === undefined ? profile?.current : profile?.tabs.get(tab);
  const element = where && ref ? await describeElement(where, ref) : "";
  const lines = [
    `${kind ?? action}${ref === undefined ? "" : ` ${ref}${element}`}`,
    ...(where ? [`on ${where.page.url()}`] : []),
    ...Object.entries(rest).map(
      ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
    ),
  ];
  return { title: "Use the browser", content: [text(lines.map((line) => showHiddenCharacters(line)).join("\n"))] };
}

/** Not by a snapshot: that would give new refs while somebody decides about one. */
async function describeElement(tab: Tab, ref: string): Promise<string> {
  const element = await elementAt(tab, ref).catch(() => undefined);
  const shown = await element?.evaluate((node) => (node as unknown as { outerHTML: string }).outerHTML).catch(() => "");
  return shown ? ` (${shown.replace(/\s+/g, " ").slice(0, 300)})` : "";
}

import type { Locator } from "playwright-core";
import { toolError } from "../../core/error.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import type { Tab } from "./tab.ts";

const STEP_MS = 20_000;
const MODE = { mode: "ai", timeout: STEP_MS } as const;

/** What is on a page, as a tree of roles and names, with a ref for everything that can be used. */
export async function takeSnapshot(tab: Tab, { ref, depth }: { ref?: string; depth?: number } = {}): Promise<string> {
  const { page, documents } = tab;
  const options = depth === undefined ? MODE : { ...MODE, depth };
  const tree = await (ref === undefined ? page : await elementAt(tab, ref)).ariaSnapshot(options);
  tab.seenDocument = documents;
  const title = disarmText(await page.title())
    .replace(/\s+/g, " ")
    .slice(0, 300);
  return wrapUntrusted([`# ${title || "(no title)"}`, disarmText(tree) || "(nothing)"].join("\n"), page.url());
}

/** An element keeps its ref as long as it is there; other pages have other ones, also where they are called the same. */
export async function elementAt(tab: Tab, ref: string): Promise<Locator> {
  const { page, documents, seenDocument } = tab;
  const element = page.locator(`aria-ref=${ref}`);
  const isThere = async (): Promise<boolean> => (await element.count().catch(() => 0)) === 1;
  if (seenDocument === documents) {
    if (await isThere()) return element;
    // The driver knows the refs of the newest snapshot alone, and that may have been of a part.
    await page.ariaSnapshot(MODE);
    if (await isThere()) return element;
  }
  throw toolError("no_match", `There is no element ${ref} on the page now.`, {
    next: "Take a snapshot, and use a ref of it.",
  });
}

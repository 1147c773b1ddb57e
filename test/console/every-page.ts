import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { ROOT } from "../architecture/read-entries.ts";

const PAGES = join(ROOT, "console", "src", "pages.ts");

/** The first part of the address of every page, read from their table: a new page is checked without a line here. */
export function pagePaths(): string[] {
  return [...readFileSync(PAGES, "utf8").matchAll(/^ +path: "([\w-]+)"/gm)].map(([, path = ""]) => path).sort();
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** What axe finds, of any impact. The structure is the same in both themes: `onlyColours` looks at the contrast alone. */
export async function findAxeFaults(page: Page, { onlyColours = false } = {}): Promise<string[]> {
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(AXE);
  const options = {
    // Everything else is only work: no style sheets are fetched again, no selectors are computed.
    preload: false,
    selectors: false,
    resultTypes: ["violations"],
    ...(onlyColours ? { runOnly: ["color-contrast"] } : { rules: { "target-size": { enabled: true } } }),
  };
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResult;
  return violations.flatMap(({ id, nodes }) => nodes.slice(0, 2).map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
}

/**
 * English sentences that a page shows to readers of Chinese: four words in a row, outside of code, input and what is marked
 * as English. `allowed` are texts of tests, which nobody translates.
 */
export async function findEnglish(page: Page, allowed: readonly string[]): Promise<string[]> {
  const texts = (await page.evaluate(`(() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (element.closest("script, style, code, pre, kbd, textarea, .mono, [lang=en]") || !element.checkVisibility()) continue;
      found.push(walker.currentNode.textContent.trim());
    }
    return found;
  })()`)) as string[];
  return texts.filter(
    (text) =>
      /(?:\b[A-Za-z][a-z']+[,;:]? ){3,}[A-Za-z][a-z']+/.test(text) && !allowed.some((one) => text.includes(one)),
  );
}

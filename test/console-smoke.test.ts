// One look at the console in a real Chromium: every page opens. The rest is the part "browser" of `npm run test:full`.
import { expect, test } from "vitest";
import { pagePaths } from "./console/every-page.ts";
import { findBrowser } from "./console/find-browser.ts";
import { openConsole } from "./console/open-console.ts";

const found = await findBrowser();

test.skipIf("missing" in found)("a person signs in and opens every page", { timeout: 180_000 }, async () => {
  if ("missing" in found) return;
  const console = await openConsole(found);
  try {
    const page = await console.open();
    const paths = pagePaths();
    expect(paths.length).toBeGreaterThan(8);
    const title = () => page.locator("main h1").first().textContent();
    let last: string | null = null;
    for (const path of paths) {
      await page.goto(`${console.url}/#/${path}`);
      await expect.poll(title, { timeout: 30_000, message: path }).not.toBe(last);
      last = await title();
    }
    expect(console.strays).toEqual([]);
  } finally {
    await console.close();
  }
});

import { toolError } from "../../core/error.ts";

export type Playwright = Pick<typeof import("playwright-core"), "chromium">;

export async function loadPlaywright(
  load: () => Promise<Playwright> = () => import("playwright-core"),
): Promise<Playwright> {
  try {
    return await load();
  } catch (cause) {
    throw toolError("missing_package", 'The browser needs the package "playwright-core"', {
      next: "Run: npm install playwright-core",
      cause,
    });
  }
}

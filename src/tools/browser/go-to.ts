import type { Page, Response } from "playwright-core";
import { ToolError, toolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import type { RefusedAddresses } from "./refused-places.ts";

const LOAD_MS = 30_000;
/** Pages that never stop loading are shown as far as they came. */
const REST_MS = 5_000;

/** Pages of the web alone: not files of this machine, not the browser's own pages. */
export function checkAddress(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed;
  throw toolError("invalid_input", `${disarmText(url).slice(0, 200)} is no address of a web page.`, {
    next: "Give a whole address with http:// or https://.",
  });
}

export async function navigate(page: Page, url: string, refused: RefusedAddresses): Promise<Response | null> {
  const { href } = checkAddress(url);
  refused.take(href);
  const response = await page.goto(href, { waitUntil: "domcontentloaded", timeout: LOAD_MS });
  await page.waitForLoadState("load", { timeout: REST_MS }).catch(() => undefined);
  // Of a plain request the proxy answers itself; what it says is no page.
  const why = response?.status() === 403 ? refused.take(response.url()) : undefined;
  if (why === undefined) return response;
  await page.goto("about:blank").catch(() => undefined);
  throw why instanceof ToolError ? why : toolError("unavailable", `${href} did not load: ${String(why)}`);
}

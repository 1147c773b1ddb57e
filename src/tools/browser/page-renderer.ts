import type { BrowserContext, Page } from "playwright-core";
import { toolError } from "../../core/error.ts";
import type { BrowserProgram } from "./browser-program.ts";
import { explainFailure, navigate, takePicture } from "./page-actions.ts";
import type { PageRenderer, ShowRequest, Shown } from "./rendered-page.ts";

/** How long to wait for scripts after a page has loaded. */
const QUIET_MS = 4_000;
const DRAW_MS = 15_000;

export function createPageRenderer(program: BrowserProgram): PageRenderer {
  async function inNewPage<T>(work: (page: Page) => Promise<T>, size: ShowRequest, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    let context: BrowserContext | undefined;
    const stop = (): void => void context?.close().catch(() => undefined);
    signal.addEventListener("abort", stop, { once: true });
    try {
      const { width = 1280, height = 800 } = size;
      context = await program.newContext({
        acceptDownloads: false,
        serviceWorkers: "block",
        viewport: { width, height },
      });
      signal.throwIfAborted();
      const page = await context.newPage();
      page.on("popup", (popup) => void popup.close().catch(() => undefined));
      return await work(page);
    } catch (error) {
      throw explainFailure(error, { doing: "showing the page", signal, refusedAt: (url) => program.refused.take(url) });
    } finally {
      signal.removeEventListener("abort", stop);
      await context?.close().catch(() => undefined);
    }
  }

  async function load(page: Page, { url, html = "", until }: ShowRequest): Promise<void> {
    if (url !== undefined) {
      await navigate(page, url, program.refused);
      await page.waitForLoadState("networkidle", { timeout: QUIET_MS }).catch(() => undefined);
      return;
    }
    await page.setContent(html, { waitUntil: "load" });
    // A document that is not ready in time is shown as it is.
    if (until !== undefined)
      await page.waitForSelector(until, { state: "attached", timeout: DRAW_MS }).catch(() => undefined);
  }

  return {
    render: (url, signal) =>
      inNewPage(
        async (page) => {
          await navigate(page, url, program.refused);
          await page.waitForLoadState("networkidle", { timeout: QUIET_MS }).catch(() => undefined);
          // Permission was given for this host only.
          if (new URL(page.url()).host !== new URL(url).host) {
            throw toolError("failed", "Its scripts navigated to another host.", {
              next: `Request ${new URL(page.url()).origin}.`,
            });
          }
          return page.content();
        },
        {},
        signal,
      ),
    show: (request, signal) =>
      inNewPage(
        async (page) => {
          const problems: string[] = [];
          page.on("pageerror", (error) => void (problems.length < 20 && problems.push(error.message.slice(0, 500))));
          await load(page, request);
          const shown: Shown = { problems };
          if (request.script !== undefined) shown.value = await page.evaluate(request.script);
          if (request.picture)
            shown.picture = (await takePicture(page, { fullPage: request.height === undefined })).content;
          return shown;
        },
        request,
        signal,
      ),
  };
}

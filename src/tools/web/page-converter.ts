import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { htmlToMarkdown } from "./html-markdown.ts";

/** A page as Markdown, with its metadata. */
export interface ConvertedPage {
  content: string;
  title: string;
  author: string;
  published: string;
  site: string;
}

export interface PageConverter {
  /** Rejects if the page exceeds the time or memory limit or cannot be converted. */
  convert(page: { html: string; url: string }, signal?: AbortSignal): Promise<ConvertedPage>;
  close(): Promise<void>;
}

export interface PageConverterOptions {
  clock?: Clock;
  /** Time limit for one page. Default: 20 s. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
/** Starting the thread takes a second, but keeping it costs memory. */
const IDLE_MS = 60_000;
const LIMITS = { maxOldGenerationSizeMb: 768, stackSizeMb: 8 };

/** Converts pages with defuddle and linkedom if installed, in one thread, one at a time; else `htmlToMarkdown`. */
export function createPageConverter({
  clock = systemClock,
  timeoutMs = TIMEOUT_MS,
}: PageConverterOptions = {}): PageConverter {
  let worker: Worker | undefined;
  let packages: ConverterPackages | "missing" | undefined;
  let idle: Timer | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const end = async (): Promise<void> => {
    const ended = worker;
    worker = undefined;
    idle?.cancel();
    await ended?.terminate();
  };

  const convertNow = (
    page: { html: string; url: string },
    { signal, found }: { signal?: AbortSignal; found: ConverterPackages },
  ): Promise<ConvertedPage> => {
    signal?.throwIfAborted();
    idle?.cancel();
    const thread = (worker ??= startWorker(found));
    thread.ref();
    return new Promise<ConvertedPage>((resolve, reject) => {
      const stop = (why: unknown): void => {
        cleanUp();
        void end();
        reject(why);
      };
      const onMessage = (message: { page?: ConvertedPage; problem?: string }): void => {
        cleanUp();
        thread.unref();
        idle = clock.after(IDLE_MS, () => void end());
        idle.setRef(false);
        if (message.page) resolve(message.page);
        else reject(new Error(message.problem));
      };
      const onAbort = (): void => stop(signal?.reason);
      const timer = clock.after(timeoutMs, () => stop(new Error(`not done after ${timeoutMs} ms`)));
      const cleanUp = (): void => {
        timer.cancel();
        signal?.removeEventListener("abort", onAbort);
        thread.off("message", onMessage).off("error", stop);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      thread.on("message", onMessage).on("error", stop);
      thread.postMessage(page);
    });
  };

  return {
    async convert(page, signal) {
      const found = (packages ??= findPackages());
      if (found === "missing") return htmlToMarkdown(page.html, page.url);
      const converted = last.then(() => convertNow(page, { signal, found }));
      last = converted.catch(() => undefined);
      return converted;
    },
    close: end,
  };
}

/** The addresses of the packages that find the main part of pages best. */
interface ConverterPackages {
  defuddle: string;
  linkedom: string;
}

function startWorker(workerData: ConverterPackages): Worker {
  const worker = new Worker(PAGE_WORKER_SOURCE, { eval: true, workerData, resourceLimits: LIMITS, execArgv: [] });
  // The job that failed has its own listener.
  worker.on("error", () => undefined);
  return worker;
}

/** Resolved here, because the worker runs from a string and has no path to resolve from. */
function findPackages(): ConverterPackages | "missing" {
  const { resolve } = createRequire(import.meta.url);
  try {
    const defuddle = resolve("defuddle").replace(/index\.js$/, "node.js");
    return { defuddle: pathToFileURL(defuddle).href, linkedom: pathToFileURL(resolve("linkedom")).href };
  } catch {
    return "missing";
  }
}

/** In its own thread, as a string without a file: a page may take forever. No scripts run, nothing is loaded. */
const PAGE_WORKER_SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
globalThis.fetch = undefined;
console.log = console.warn = console.error = () => {};
const refuse = () => Promise.reject(new Error("nothing is loaded"));
const library = Promise.all([import(workerData.linkedom), import(workerData.defuddle)]);

const parse = (parseHTML, html, url) => {
  // A fragment has no body element.
  const { document } = parseHTML(/<(?:html|body)\\b/i.test(html) ? html : "<html><body>" + html + "</body></html>");
  document.styleSheets ??= [];
  if (document.defaultView) document.defaultView.getComputedStyle ??= () => ({ display: "" });
  document.URL = url;
  return document;
};

const convert = async ({ html, url }) => {
  const [{ parseHTML }, { Defuddle }] = await library;
  const options = { markdown: true, useAsync: false, fetch: refuse, includeReplies: true };
  const document = parse(parseHTML, html, url);
  const all = (document.body?.textContent ?? "").replace(/\\s+/g, " ").length;
  // An author found in the text is often wrong.
  const saysAuthor = document.querySelector('meta[name="author"], meta[property="article:author"], [rel="author"], [itemprop="author"]') !== null;
  const page = await Defuddle(document, url, options);
  let content = page.content ?? "";
  // If the extracted content is nearly empty, use the whole page.
  if (content.length < 500 && content.length < all / 10) {
    const whole = { ...options, contentSelector: "body", removeLowScoring: false, removePartialSelectors: false, removeContentPatterns: false };
    const again = await Defuddle(parse(parseHTML, html, url), url, whole);
    if ((again.content ?? "").length > content.length) content = again.content;
  }
  return { content, title: page.title ?? "", author: (saysAuthor && page.author) || "", published: page.published ?? "", site: page.site ?? "" };
};

parentPort.on("message", async (job) => {
  try {
    parentPort.postMessage({ page: await convert(job) });
  } catch (error) {
    parentPort.postMessage({ problem: String(error?.message ?? error) });
  }
});
`;

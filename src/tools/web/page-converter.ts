import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { PAGE_WORKER_SOURCE } from "./page-worker-source.ts";

/** A page as Markdown, with what it says of itself. */
export interface ConvertedPage {
  content: string;
  title: string;
  author: string;
  published: string;
  site: string;
}

export interface PageConverter {
  /** Rejects where the page is too much for the time or the memory there is, or cannot be understood. */
  convert(page: { html: string; url: string }, signal?: AbortSignal): Promise<ConvertedPage>;
  close(): Promise<void>;
}

export interface PageConverterOptions {
  clock?: Clock;
  /** For one page. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 20_000;
/** The thread and its libraries take a second to start and some memory to keep. */
const IDLE_MS = 60_000;
const LIMITS = { maxOldGenerationSizeMb: 768, stackSizeMb: 8 };

/** One thread, started with the first page and ended when it has nothing to do; a page at a time. */
export function createPageConverter({
  clock = systemClock,
  timeoutMs = TIMEOUT_MS,
}: PageConverterOptions = {}): PageConverter {
  let worker: Worker | undefined;
  let idle: Timer | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const end = async (): Promise<void> => {
    const ended = worker;
    worker = undefined;
    idle?.cancel();
    await ended?.terminate();
  };

  const convertNow = (page: { html: string; url: string }, signal: AbortSignal | undefined): Promise<ConvertedPage> => {
    signal?.throwIfAborted();
    idle?.cancel();
    const thread = (worker ??= startWorker());
    thread.ref();
    return new Promise<ConvertedPage>((resolve, reject) => {
      const stop = (why: unknown): void => {
        leave();
        void end();
        reject(why as Error);
      };
      const onMessage = (answer: { page?: ConvertedPage; problem?: string }): void => {
        leave();
        thread.unref();
        idle = clock.after(IDLE_MS, () => void end());
        idle.setRef(false);
        if (answer.page) resolve(answer.page);
        else reject(new Error(answer.problem));
      };
      const onAbort = (): void => stop(signal?.reason);
      const timer = clock.after(timeoutMs, () => stop(new Error(`not done after ${timeoutMs} ms`)));
      const leave = (): void => {
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
    convert(page, signal) {
      const converted = last.then(() => convertNow(page, signal));
      last = converted.catch(() => undefined);
      return converted;
    },
    close: end,
  };
}

function startWorker(): Worker {
  const defuddle = findPackage("defuddle").replace(/index\.js$/, "node.js");
  const workerData = { linkedom: pathToFileURL(findPackage("linkedom")).href, defuddle: pathToFileURL(defuddle).href };
  const worker = new Worker(PAGE_WORKER_SOURCE, { eval: true, workerData, resourceLimits: LIMITS, execArgv: [] });
  // After the job that it failed in was told: nobody else need know.
  worker.on("error", () => undefined);
  return worker;
}

/** Here, because the worker's text has no place to resolve names from. */
function findPackage(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    throw new Error("Markdown needs two packages that are not installed: npm install defuddle linkedom@0.18.14");
  }
}

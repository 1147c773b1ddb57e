import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { PAGE_WORKER_SOURCE } from "./page-worker-source.ts";

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

/** One thread, started with the first page and ended when idle. It converts one page at a time. */
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
  // The job that failed has its own listener.
  worker.on("error", () => undefined);
  return worker;
}

/** Resolved here, because the worker runs from a string and has no path to resolve from. */
function findPackage(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    throw new Error("Markdown needs two packages that are not installed: npm install defuddle linkedom@0.18.14");
  }
}

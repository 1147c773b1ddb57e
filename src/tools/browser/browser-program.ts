import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import { type FoundBrowser, isExecutableFile } from "../../io/shell/find-program.ts";
import { importInstalled } from "../../schema/load-package.ts";

/** One browser process for all sessions. Each session has its own profile. */
export interface BrowserProgram {
  /** Creates a temporary profile. Starts the browser if necessary; it ends some time after the last profile. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Does not start the browser. */
  status(): Promise<BrowserStatus>;
  close(): Promise<void>;
  readonly refused: RefusedAddresses;
}

export interface BrowserStatus {
  available: boolean;
  running: boolean;
  program?: string;
  version?: string;
  /** Whether the browser sandboxes its processes. */
  confined: boolean;
  /** What is missing and how to install it. */
  problem?: string;
}

export interface BrowserProgramOptions {
  find(): FoundBrowser;
  /** Starts the proxy for all connections; it is closed with the browser. */
  startProxy(): Promise<{ port: number; close(): Promise<void> }>;
  refused: RefusedAddresses;
  clock: Clock;
  env: Readonly<Record<string, string>>;
  /** Default: true, except for root, for whom Chromium's sandbox does not work. */
  confined?: boolean;
  load?: () => Promise<Playwright>;
}

/** All traffic of pages goes through the proxy: no names are resolved, no UDP, no bypass for local addresses. */
const ARGUMENTS = [
  "--disable-quic",
  "--dns-prefetch-disable",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-domain-reliability",
  "--disable-sync",
  "--no-pings",
  "--no-first-run",
  "--disable-gpu",
];
const START_MS = 60_000;
/** How long the browser stays open without profiles. */
const IDLE_CLOSE_MS = 60_000;

export function createBrowserProgram(options: BrowserProgramOptions): BrowserProgram {
  const { find, startProxy, refused, clock, load } = options;
  const confined = options.confined ?? process.getuid?.() !== 0;
  let running: Promise<Browser> | undefined;
  let idleTimer: Timer | undefined;
  let ended = Promise.resolve();

  async function programOf({ chromium }: Playwright): Promise<string> {
    const found = find();
    if ("path" in found) return found.path;
    // The browser that Playwright's installer has installed.
    const installed = chromium.executablePath();
    if (installed && isExecutableFile(installed)) return installed;
    throw toolError("unavailable", "There is no browser to use.", { next: found.missing });
  }

  async function start(): Promise<Browser> {
    const playwright = await loadPlaywright(load);
    const executablePath = await programOf(playwright);
    const proxy = await startProxy();
    try {
      const browser = await playwright.chromium.launch({
        executablePath,
        args: ARGUMENTS,
        chromiumSandbox: confined,
        proxy: { server: `http://127.0.0.1:${proxy.port}`, bypass: "<-loopback>" },
        env: { ...options.env },
        timeout: START_MS,
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
      });
      browser.once("disconnected", () => {
        running = undefined;
        void proxy.close();
      });
      return browser;
    } catch (cause) {
      await proxy.close();
      throw toolError("unavailable", `The browser ${executablePath} did not start: ${reasonOf(cause)}`, {
        next: "Only the user can change that. If the system forbids its sandbox, browser.confined can be set to false.",
        cause,
      });
    }
  }

  async function open(): Promise<Browser> {
    running ??= start();
    try {
      return await running;
    } catch (error) {
      running = undefined;
      throw error;
    }
  }

  /** Also waits for browsers that are already closing. */
  function close(): Promise<void> {
    idleTimer?.cancel();
    const ending = running;
    running = undefined;
    return (ended = Promise.all([ended, ending?.then((browser) => browser.close())]).then(
      () => undefined,
      () => undefined,
    ));
  }

  function closeWhenIdle(browser: Browser): void {
    if (browser.contexts().length > 0) return;
    idleTimer?.cancel();
    idleTimer = clock.after(IDLE_CLOSE_MS, () => void close());
    idleTimer.setRef(false);
  }

  return {
    refused,
    close,
    async newContext(given) {
      idleTimer?.cancel();
      const browser = await open();
      const context = await browser.newContext(given);
      idleTimer?.cancel();
      context.once("close", () => closeWhenIdle(browser));
      return context;
    },
    async status() {
      const browser = await running?.catch(() => undefined);
      try {
        const program = await programOf(await loadPlaywright(load));
        const version = browser?.version();
        return { available: true, running: browser !== undefined, program, confined, version };
      } catch (error) {
        const problem = errorMessage(error);
        return { available: false, running: false, confined, problem };
      }
    },
  };
}

function reasonOf(cause: unknown): string {
  const text = errorMessage(cause);
  const knownProblem = /No usable sandbox[^\n]*|error while loading shared libraries[^\n]*|Timeout \d+ms exceeded/.exec(
    text,
  );
  return knownProblem?.[0] ?? text.replace(/\n.*$/s, "").slice(0, 300);
}

type Playwright = Pick<typeof import("playwright-core"), "chromium">;

async function loadPlaywright(
  load: () => Promise<Playwright> = () => importInstalled("playwright-core"),
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

/** What the proxy has refused recently, to explain why a page did not load. */
export interface RefusedAddresses {
  note(target: string, error: unknown): void;
  /** Returns and clears the reason why this address was refused, if it was. */
  take(url: string): unknown;
}

const MAX_ENTRIES = 200;

export function createRefusedAddresses(): RefusedAddresses {
  const errors = new BoundedMap<string, unknown>(MAX_ENTRIES);
  return {
    note(target, error) {
      const key = keyOf(target.includes("://") ? target : `https://${target}`);
      errors.set(key, error);
    },
    take(url) {
      const key = keyOf(url);
      const error = errors.get(key);
      errors.delete(key);
      return error;
    },
  };
}

/** The proxy sees host and port, or the origin of plain requests. */
function keyOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === "http:" || protocol === "ws:" ? 80 : 443)}`;
}

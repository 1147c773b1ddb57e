import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import { type FoundBrowser, isExecutableFile } from "../../io/shell/find-program.ts";

/** One browser for everybody; what belongs to a session is in a profile of its own. */
export interface BrowserProgram {
  /** A profile of its own, gone when it is closed. Starts the browser where it does not run; it ends some time after the last one. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Where it is and whether it runs, without starting it. */
  status(): Promise<BrowserStatus>;
  close(): Promise<void>;
  readonly refused: RefusedAddresses;
}

export interface BrowserStatus {
  available: boolean;
  running: boolean;
  program?: string;
  version?: string;
  /** Whether the browser confines its own processes. */
  confined: boolean;
  /** What is missing, and how to get it. */
  problem?: string;
}

export interface BrowserProgramOptions {
  find(): FoundBrowser;
  /** Starts the proxy that every connection goes through; given up with the browser. */
  startProxy(): Promise<{ port: number; close(): Promise<void> }>;
  refused: RefusedAddresses;
  clock: Clock;
  env: Readonly<Record<string, string>>;
  /** Off where the system does not let it, as it never does for root. */
  confined?: boolean;
  load?: () => Promise<Playwright>;
}

/**
 * Whatever a page does goes through the proxy: no names are resolved here, nothing goes by UDP, and addresses of this machine
 * are no exception.
 */
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
/** How long it waits for the next one who needs it. */
const IDLE_CLOSE_MS = 60_000;

export function createBrowserProgram(options: BrowserProgramOptions): BrowserProgram {
  const { find, startProxy, refused, clock, env, load } = options;
  const confined = options.confined ?? process.getuid?.() !== 0;
  let running: Promise<Browser> | undefined;
  let lingering: Timer | undefined;
  let ended = Promise.resolve();

  async function programOf({ chromium }: Playwright): Promise<string> {
    const found = find();
    if ("path" in found) return found.path;
    // The one that its own installer has put somewhere.
    const own = chromium.executablePath();
    if (own && isExecutableFile(own)) return own;
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
        env: { ...env },
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
        next: "Tell the user. Where the system forbids its sandbox, browser.confined can be set to false.",
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

  /** Also until those have ended whose end began before. */
  function close(): Promise<void> {
    lingering?.cancel();
    const ending = running;
    running = undefined;
    return (ended = Promise.all([ended, ending?.then((browser) => browser.close())]).then(
      () => undefined,
      () => undefined,
    ));
  }

  function closeWhenIdle(browser: Browser): void {
    if (browser.contexts().length > 0) return;
    lingering?.cancel();
    lingering = clock.after(IDLE_CLOSE_MS, () => void close());
    lingering.setRef(false);
  }

  return {
    refused,
    close,
    async newContext(given) {
      lingering?.cancel();
      const browser = await open();
      const context = await browser.newContext(given);
      lingering?.cancel();
      context.once("close", () => closeWhenIdle(browser));
      return context;
    },
    async status() {
      const browser = await running?.catch(() => undefined);
      try {
        const program = await programOf(await loadPlaywright(load));
        const version = browser && { version: browser.version() };
        return { available: true, running: browser !== undefined, program, confined, ...version };
      } catch (error) {
        return { available: false, running: false, confined, problem: (error as Error).message };
      }
    },
  };
}

function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  const knownProblem = /No usable sandbox[^\n]*|error while loading shared libraries[^\n]*|Timeout \d+ms exceeded/.exec(
    text,
  );
  return knownProblem?.[0] ?? text.split("\n")[0]!.slice(0, 300);
}

type Playwright = Pick<typeof import("playwright-core"), "chromium">;

async function loadPlaywright(load: () => Promise<Playwright> = () => import("playwright-core")): Promise<Playwright> {
  try {
    return await load();
  } catch (cause) {
    throw toolError("missing_package", 'The browser needs the package "playwright-core"', {
      next: "Run: npm install playwright-core",
      cause,
    });
  }
}

/** What the proxy refused lately, so that a page that did not load can be explained. */
export interface RefusedAddresses {
  note(target: string, error: unknown): void;
  /** Why this address was refused since it was last asked for, where it was. */
  take(url: string): unknown;
}

const MAX_ENTRIES = 200;

export function createRefusedAddresses(): RefusedAddresses {
  const errors = new Map<string, unknown>();
  return {
    note(target, error) {
      const key = keyOf(target.includes("://") ? target : `https://${target}`);
      errors.delete(key);
      errors.set(key, error);
      if (errors.size > MAX_ENTRIES) errors.delete(errors.keys().next().value!);
    },
    take(url) {
      const key = keyOf(url);
      const error = errors.get(key);
      errors.delete(key);
      return error;
    },
  };
}

/** The proxy is told a host and a port, of plain requests the origin. */
function keyOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === "http:" || protocol === "ws:" ? 80 : 443)}`;
}

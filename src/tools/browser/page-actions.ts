import type { Locator, Page, Response } from "playwright-core";
import type { Content } from "../../core/content.ts";
import { errorMessage, toolError, ToolError } from "../../core/error.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import type { Tab } from "./browser-profiles.ts";
import type { RefusedAddresses } from "./browser-program.ts";
import type { BrowserInput } from "./browser.ts";

/** Time limit of one step. */
export const STEP_MS = 15_000;
/** Time for a page to react to an action. */
const REACTION_MS = 250;
const MAX_VALUE_LENGTH = 20_000;

/** Performs one action in a page. Returns a description for the model. */
export async function act(tab: Tab, input: BrowserInput): Promise<string> {
  const { page } = tab;
  const { kind, ref = "", text = "", key = "" } = input;
  const timeout = STEP_MS;
  switch (kind) {
    case "click": {
      const element = await elementAt(tab, ref);
      const options = { timeout, button: input.button };
      await (input.double ? element.dblclick(options) : element.click(options));
      return settled(page, `Clicked ${ref}.`);
    }
    case "type": {
      const element = await elementAt(tab, ref);
      await element.fill(text, { timeout });
      if (input.submit) await element.press("Enter", { timeout });
      return settled(page, `Filled in ${ref}${input.submit ? " and pressed Enter" : ""}.`);
    }
    case "press":
      await (ref ? (await elementAt(tab, ref)).press(key, { timeout }) : page.keyboard.press(key));
      return settled(page, `Pressed ${disarmText(key)}.`);
    case "hover":
      await (await elementAt(tab, ref)).hover({ timeout });
      return settled(page, `The pointer is over ${ref}.`);
    case "select": {
      const chosen = await (await elementAt(tab, ref)).selectOption(input.values ?? [], { timeout });
      return settled(page, `Chose ${disarmText(JSON.stringify(chosen))} in ${ref}.`);
    }
    case "drag":
      await (await elementAt(tab, ref)).dragTo(await elementAt(tab, input.toRef ?? ""), { timeout });
      return settled(page, `Dragged ${ref} to ${input.toRef}.`);
    case "wait":
      return waitFor(page, input);
    case "evaluate":
      return evaluate(page, input.script ?? "", ref ? await elementAt(tab, ref) : undefined);
    default:
      throw toolError("invalid_input", "An act needs a kind.");
  }
}

/** An action may navigate to another page: wait until it begins to load. */
async function settled(page: Page, what: string): Promise<string> {
  await page.waitForTimeout(REACTION_MS).catch(() => undefined);
  if (!page.isClosed()) await page.waitForLoadState("domcontentloaded", { timeout: STEP_MS }).catch(() => undefined);
  return what;
}

async function waitFor(page: Page, { text, gone, ms }: BrowserInput): Promise<string> {
  if (text === undefined) {
    await page.waitForTimeout(ms ?? 0);
    return `Waited ${ms ?? 0} ms.`;
  }
  const found = page.getByText(text).first();
  await found.waitFor({ state: gone ? "hidden" : "visible", timeout: ms ?? STEP_MS });
  return gone ? "The text has disappeared." : "The text is visible.";
}

/** Runs in the page. A function is called with the element, if one is given. */
async function evaluate(page: Page, script: string, element: Locator | undefined): Promise<string> {
  const source = isFunction(script) ? asFunction(script) : script;
  const value: unknown = await (element ? element.evaluate(source) : page.evaluate(source));
  const shown = JSON.stringify(value) ?? String(value);
  const cut =
    shown.length > MAX_VALUE_LENGTH
      ? `${shown.slice(0, MAX_VALUE_LENGTH).toWellFormed()}… (${shown.length} characters)`
      : shown;
  return wrapUntrusted(disarmText(cut), page.url());
}

function isFunction(script: string): boolean {
  return /^\s*(?:async\s+)?(?:function\b|\([^)]*\)\s*=>|[\w$]+\s*=>)/.test(script);
}

/** The driver serialises a function and calls it in the page; a string would not be called. */
function asFunction(script: string): () => unknown {
  return Object.assign(() => undefined, { toString: () => script });
}

const LOAD_MS = 30_000;
/** Pages that never stop loading are used as they are. */
const LOAD_EVENT_MS = 5_000;

/** Only web pages: no files of this machine and no internal pages of the browser. */
export function checkAddress(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed;
  throw toolError("invalid_input", `${disarmText(url).slice(0, 200)} is not the URL of a web page.`, {
    next: "Give a full URL with http:// or https://.",
  });
}

export async function navigate(page: Page, url: string, refused: RefusedAddresses): Promise<Response | null> {
  const { href } = checkAddress(url);
  refused.take(href);
  const response = await page.goto(href, { waitUntil: "domcontentloaded", timeout: LOAD_MS });
  await page.waitForLoadState("load", { timeout: LOAD_EVENT_MS }).catch(() => undefined);
  // The proxy itself responds to a refused plain request; that is not a page.
  const why = response?.status() === 403 ? refused.take(response.url()) : undefined;
  if (why === undefined) return response;
  await page.goto("about:blank").catch(() => undefined);
  throw why instanceof ToolError ? why : toolError("unavailable", `${href} did not load: ${String(why)}`);
}

const SNAPSHOT_OPTIONS = { mode: "ai", timeout: 20_000 } as const;

/** The page as a tree of roles and names, with a ref for every usable element. */
export async function takeSnapshot(tab: Tab, { ref, depth }: { ref?: string; depth?: number } = {}): Promise<string> {
  const { page, documents } = tab;
  const options = { ...SNAPSHOT_OPTIONS, depth };
  const tree = await (ref === undefined ? page : await elementAt(tab, ref)).ariaSnapshot(options);
  tab.seenDocument = documents;
  const title = disarmText(await page.title())
    .replace(/\s+/g, " ")
    .slice(0, 300);
  return wrapUntrusted([`# ${title || "(no title)"}`, disarmText(tree) || "(nothing)"].join("\n"), page.url());
}

/** An element keeps its ref while it exists. Refs of another document are invalid, even if they have the same name. */
export async function elementAt(tab: Tab, ref: string): Promise<Locator> {
  const { page, documents, seenDocument } = tab;
  const element = page.locator(`aria-ref=${ref}`);
  const exists = async (): Promise<boolean> => (await element.count().catch(() => 0)) === 1;
  if (seenDocument === documents) {
    if (await exists()) return element;
    // The driver knows only the refs of the last snapshot, which may have been a part of the page.
    await page.ariaSnapshot(SNAPSHOT_OPTIONS);
    if (await exists()) return element;
  }
  throw toolError("no_match", `There is no element ${ref} on the page now.`, {
    next: "Take a snapshot and use a ref from it.",
  });
}

/** The limit of model providers. */
const MAX_PICTURE_BYTES = 4.5 * 1024 * 1024;
const MAX_HEIGHT = 8_000;
const PICTURE_MS = 20_000;

export interface Picture {
  content: Extract<Content, { type: "image" }>;
  bytes: number;
  /** The page was too tall, and the picture is cut. */
  isCut: boolean;
}

/** As PNG, or as JPEG if that is too large. */
export async function takePicture(
  page: Page,
  { element, fullPage = false }: { element?: Locator; fullPage?: boolean } = {},
): Promise<Picture> {
  const height = fullPage ? await page.evaluate<number>("document.documentElement.scrollHeight") : 0;
  const isCut = height > MAX_HEIGHT;
  const width = page.viewportSize()?.width ?? 1280;
  const area = isCut ? { clip: { x: 0, y: 0, width, height: MAX_HEIGHT }, fullPage: true } : { fullPage };
  const shoot = (quality?: number): Promise<Buffer> => {
    const form = quality === undefined ? { type: "png" as const } : { type: "jpeg" as const, quality };
    const options = { ...form, animations: "disabled" as const, caret: "hide" as const, timeout: PICTURE_MS };
    return element ? element.screenshot(options) : page.screenshot({ ...options, ...area });
  };
  let bytes = await shoot();
  let mimeType = "image/png";
  for (const quality of [80, 50, 20]) {
    if (bytes.length <= MAX_PICTURE_BYTES) break;
    bytes = await shoot(quality);
    mimeType = "image/jpeg";
  }
  return { content: { type: "image", data: bytes.toString("base64"), mimeType }, bytes: bytes.length, isCut };
}

export interface BrowserFailureContext {
  /** The current action, for the message. */
  doing: string;
  signal: AbortSignal;
  /** Why the proxy refused an address, if it did. */
  refusedAt?: (url: string) => unknown;
}

const TERMINAL_CODE = /\u001b\[[\d;]*m/g;

/** Turns an error of the driver into a message for a model. */
export function explainFailure(thrown: unknown, { doing, signal, refusedAt }: BrowserFailureContext): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof ToolError) return thrown;
  const text = errorMessage(thrown).replace(TERMINAL_CODE, "");
  const first = disarmText(text.split("\n")[0] ?? "")
    .replace(/^\w+\.\w+: /, "")
    .slice(0, 500);
  if (/has been closed|Target closed|Target crashed/i.test(text)) {
    return toolError("unavailable", `The tab was closed while ${doing}.`, {
      next: "List the tabs, or open the page again.",
      cause: thrown,
    });
  }
  const [, networkError, address] = /net::(ERR_\w+) at (\S+)/.exec(text) ?? [];
  if (address !== undefined) {
    const why = refusedAt?.(address);
    if (why instanceof ToolError) return why;
    const reason = why instanceof Error ? why.message : networkError;
    return toolError("unavailable", `${disarmText(address).slice(0, 300)} did not load: ${reason}.`, {
      next: "Check the address, or try later.",
      cause: thrown,
    });
  }
  if (thrown instanceof Error && thrown.name === "TimeoutError") {
    return toolError("timeout", `It took too long: ${doing}. ${blockerIn(text)}`.trim(), {
      next: "Take a snapshot to see what the page shows now.",
      cause: thrown,
    });
  }
  return toolError("failed", `${doing} failed: ${first}`, {
    next: "Take a snapshot to see what the page shows now.",
    cause: thrown,
  });
}

/** The element that blocks the action, if the driver reports one. */
function blockerIn(text: string): string {
  const found = /(<[^\n]{1,200}) intercepts pointer events|element is (not (?:visible|enabled|stable|editable))/.exec(
    text,
  );
  if (!found) return "";
  return found[1] ? `${disarmText(found[1])} covers the element.` : `The element is ${found[2]}.`;
}

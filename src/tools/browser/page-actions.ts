import type { Locator, Page, Response } from "playwright-core";
import type { Content } from "../../core/content.ts";
import { toolError, ToolError } from "../../core/error.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import type { Tab } from "./browser-profiles.ts";
import type { RefusedAddresses } from "./browser-program.ts";
import type { BrowserInput } from "./browser.ts";

/** How long one step may take. */
export const STEP_MS = 15_000;
/** What a page does at once after it was touched. */
const AFTER_MS = 250;
const MAX_VALUE_LENGTH = 20_000;

/** Does one thing in a page; answers what was done, for the model. */
export async function act(tab: Tab, input: BrowserInput): Promise<string> {
  const { page } = tab;
  const { kind, ref = "", text = "", key = "" } = input;
  const timeout = STEP_MS;
  switch (kind) {
    case "click": {
      const element = await elementAt(tab, ref);
      const options = { timeout, button: input.button || undefined };
      await (input.double ? element.dblclick(options) : element.click(options));
      return touched(page, `Clicked ${ref}.`);
    }
    case "type": {
      const element = await elementAt(tab, ref);
      await element.fill(text, { timeout });
      if (input.submit) await element.press("Enter", { timeout });
      return touched(page, `Filled in ${ref}${input.submit ? " and pressed Enter" : ""}.`);
    }
    case "press":
      await (ref ? (await elementAt(tab, ref)).press(key, { timeout }) : page.keyboard.press(key));
      return touched(page, `Pressed ${disarmText(key)}.`);
    case "hover":
      await (await elementAt(tab, ref)).hover({ timeout });
      return touched(page, `The pointer is over ${ref}.`);
    case "select": {
      const chosen = await (await elementAt(tab, ref)).selectOption(input.values ?? [], { timeout });
      return touched(page, `Chose ${disarmText(JSON.stringify(chosen))} in ${ref}.`);
    }
    case "drag":
      await (await elementAt(tab, ref)).dragTo(await elementAt(tab, input.toRef ?? ""), { timeout });
      return touched(page, `Dragged ${ref} to ${input.toRef}.`);
    case "wait":
      return waitFor(page, input);
    case "evaluate":
      return evaluate(page, input.script ?? "", ref ? await elementAt(tab, ref) : undefined);
    default:
      throw toolError("invalid_input", "An act needs a kind.");
  }
}

/** A click may lead to another page: its beginning is waited for, its end is not. */
async function touched(page: Page, what: string): Promise<string> {
  await page.waitForTimeout(AFTER_MS).catch(() => undefined);
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
  return gone ? "The text is gone." : "The text is there.";
}

/** In the page, not here; a function is called, with the element where there is one. */
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

/** The driver sends the text of a function and has it called there; a text alone would not be called. */
function asFunction(script: string): () => unknown {
  return Object.assign(() => undefined, { toString: () => script });
}

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

const SNAPSHOT_STEP_MS = 20_000;
const MODE = { mode: "ai", timeout: SNAPSHOT_STEP_MS } as const;

/** What is on a page, as a tree of roles and names, with a ref for everything that can be used. */
export async function takeSnapshot(tab: Tab, { ref, depth }: { ref?: string; depth?: number } = {}): Promise<string> {
  const { page, documents } = tab;
  const options = depth === undefined ? MODE : { ...MODE, depth };
  const tree = await (ref === undefined ? page : await elementAt(tab, ref)).ariaSnapshot(options);
  tab.seenDocument = documents;
  const title = disarmText(await page.title())
    .replace(/\s+/g, " ")
    .slice(0, 300);
  return wrapUntrusted([`# ${title || "(no title)"}`, disarmText(tree) || "(nothing)"].join("\n"), page.url());
}

/** An element keeps its ref as long as it is there; other pages have other ones, also where they are called the same. */
export async function elementAt(tab: Tab, ref: string): Promise<Locator> {
  const { page, documents, seenDocument } = tab;
  const element = page.locator(`aria-ref=${ref}`);
  const isThere = async (): Promise<boolean> => (await element.count().catch(() => 0)) === 1;
  if (seenDocument === documents) {
    if (await isThere()) return element;
    // The driver knows the refs of the newest snapshot alone, and that may have been of a part.
    await page.ariaSnapshot(MODE);
    if (await isThere()) return element;
  }
  throw toolError("no_match", `There is no element ${ref} on the page now.`, {
    next: "Take a snapshot, and use a ref of it.",
  });
}

/** What providers take. */
const MAX_BYTES = 4.5 * 1024 * 1024;
const MAX_HEIGHT = 8_000;
const PICTURE_STEP_MS = 20_000;

export interface Picture {
  content: Extract<Content, { type: "image" }>;
  bytes: number;
  /** It was too tall, and ends before the page does. */
  isCut: boolean;
}

/** As PNG; where that is too large, as JPEG. */
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
    const options = { ...form, animations: "disabled" as const, caret: "hide" as const, timeout: PICTURE_STEP_MS };
    return element ? element.screenshot(options) : page.screenshot({ ...options, ...area });
  };
  let bytes = await shoot();
  let mimeType = "image/png";
  for (const quality of [80, 50, 20]) {
    if (bytes.length <= MAX_BYTES) break;
    bytes = await shoot(quality);
    mimeType = "image/jpeg";
  }
  return { content: { type: "image", data: bytes.toString("base64"), mimeType }, bytes: bytes.length, isCut };
}

export interface BrowserFailureContext {
  /** What was being done, for the message. */
  doing: string;
  signal: AbortSignal;
  /** Why the proxy refused an address, where it did. */
  refusedAt?: (url: string) => unknown;
}

const TERMINAL_CODE = /\u001b\[[\d;]*m/g;

/** What the driver says, in words that tell a model what to do. */
export function explainFailure(thrown: unknown, { doing, signal, refusedAt }: BrowserFailureContext): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof ToolError) return thrown;
  const text = (thrown instanceof Error ? thrown.message : String(thrown)).replace(TERMINAL_CODE, "");
  const first = disarmText(text.split("\n")[0] ?? "")
    .replace(/^\w+\.\w+: /, "")
    .slice(0, 500);
  if (/has been closed|Target closed|Target crashed/i.test(text)) {
    return toolError("unavailable", `The tab was closed while ${doing}.`, {
      next: "List the tabs, or open the page again.",
      cause: thrown,
    });
  }
  const address = /net::(ERR_\w+) at (\S+)/.exec(text);
  if (address) {
    const why = refusedAt?.(address[2]!);
    if (why instanceof ToolError) return why;
    const reason = why instanceof Error ? why.message : address[1];
    return toolError("unavailable", `${disarmText(address[2]!).slice(0, 300)} did not load: ${reason}.`, {
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

/** Which element is in the way, where the driver has noticed one. */
function blockerIn(text: string): string {
  const found = /(<[^\n]{1,200}) intercepts pointer events|element is (not (?:visible|enabled|stable|editable))/.exec(
    text,
  );
  if (!found) return "";
  return found[1] ? `${disarmText(found[1])} is in the way.` : `The element is ${found[2]}.`;
}

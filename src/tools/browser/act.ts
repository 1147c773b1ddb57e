import type { Locator, Page } from "playwright-core";
import { toolError } from "../../core/error.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import type { BrowserInput } from "./browser-parameters.ts";
import type { Tab } from "./tab.ts";
import { elementAt } from "./take-snapshot.ts";

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
      const options = { timeout, ...(input.button ? { button: input.button } : {}) };
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

import type { Dialog, Page } from "playwright-core";
import { disarmText } from "../../core/untrusted-text.ts";

/** One page of a profile, and what was heard of it. */
export interface Tab {
  readonly id: string;
  readonly page: Page;
  /** Newest last; the oldest are forgotten. */
  readonly console: ConsoleLine[];
  /** How the next dialog is answered; without it, dialogs are dismissed. */
  answer?: { accept: boolean; text?: string };
  /** How many documents were loaded, and which of them the newest snapshot is of. */
  documents: number;
  seenDocument?: number;
}

export interface ConsoleLine {
  /** `error`, `warning`, `log`, … or `exception` for what nobody caught. */
  level: string;
  text: string;
  at: number;
}

const MAX_LINES = 200;
const MAX_CHARACTERS = 1_000;
/** Nothing else is shown in a tab: not files of this machine, not the browser's own pages. */
const SHOWN = /^(?:https?:|about:|data:|blob:|chrome-error:)/i;

export interface TabListener {
  now(): number;
  /** Something that the next result should tell. */
  addNote(note: string): void;
}

export function watchTab(id: string, page: Page, { now, addNote }: TabListener): Tab {
  const tab: Tab = { id, page, console: [], documents: 0 };
  const addConsoleLine = (level: string, text: string): void => {
    tab.console.push({ level, text: disarmText(text).slice(0, MAX_CHARACTERS), at: now() });
    if (tab.console.length > MAX_LINES) tab.console.shift();
  };
  page.on("console", (message) => addConsoleLine(message.type(), message.text()));
  page.on("pageerror", (error) => addConsoleLine("exception", error.message));
  page.on("domcontentloaded", () => (tab.documents += 1));
  page.on("dialog", (dialog) => void answerDialog(tab, dialog, addNote));
  page.on("crash", () => addNote(`The page of tab ${id} crashed; close the tab.`));
  page.on("framenavigated", (frame) => {
    if (frame !== page.mainFrame() || SHOWN.test(frame.url())) return;
    addNote(`Tab ${id} was closed: it went to ${disarmText(frame.url()).slice(0, 100)}, which is not shown.`);
    void page.close().catch(() => undefined);
  });
  return tab;
}

async function answerDialog(tab: Tab, dialog: Dialog, addNote: (note: string) => void): Promise<void> {
  const { answer } = tab;
  delete tab.answer;
  // To leave a page is what was asked for.
  const accept = answer?.accept ?? dialog.type() === "beforeunload";
  const dialogText = JSON.stringify(disarmText(dialog.message()).slice(0, MAX_CHARACTERS));
  const how = accept ? "accepted" : "dismissed";
  const next = answer ? "" : ` To answer otherwise, use the action dialog first and then do it again.`;
  addNote(`A dialog (${dialog.type()}) said ${dialogText} and was ${how}.${next}`);
  await (accept ? dialog.accept(answer?.text) : dialog.dismiss()).catch(() => undefined);
}

import type { BrowserContext, Dialog, Download, Page } from "playwright-core";
import type { Caller } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError, ToolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import type { Files } from "../../io/files/files.ts";
import type { BrowserProgram } from "./browser-program.ts";

/** What one session has in the browser: cookies and storage of its own, and its tabs. Gone when it is closed. */
export interface Profile {
  readonly context: BrowserContext;
  readonly tabs: ReadonlyMap<string, Tab>;
  /** The tab that is meant where none is named. */
  readonly current: Tab | undefined;
  open(): Promise<Tab>;
  focus(tab: Tab): Promise<void>;
  /** Until downloads are saved, but not for longer than this. */
  settled(maxMs: number): Promise<void>;
  /** What happened since it was last asked for. */
  takeNotes(): string[];
}

export interface Profiles {
  find(caller: Caller): Promise<Profile | undefined>;
  /** Makes one where there is none. Downloads of a profile are saved on behalf of the call that used it last. */
  use(caller: Caller, files: Files): Promise<Profile>;
  stop(caller: Caller): Promise<boolean>;
  readonly count: number;
  close(): Promise<void>;
}

export interface ProfileLimits {
  maxProfiles: number;
  maxTabs: number;
  maxDownloadBytes: number;
  /** A profile that nobody used for so long is closed. */
  idleMs: number;
}

export interface ProfilesOptions extends ProfileLimits {
  program: BrowserProgram;
  clock: Clock;
  downloadFolder: string;
}

interface OpenProfile extends Profile {
  files: Files;
  usedAt: number;
  close(): Promise<void>;
}

const MAX_NOTES = 50;
const VIEWPORT = { width: 1280, height: 800 };

export function createProfiles(options: ProfilesOptions): Profiles {
  const { program, clock, maxProfiles, idleMs } = options;
  const profiles = new Map<string, Promise<OpenProfile>>();
  let timer: Timer | undefined;
  let isClosed = false;

  async function make(key: string, files: Files): Promise<OpenProfile> {
    const context = await program.newContext({ viewport: VIEWPORT, acceptDownloads: true });
    const openProfile = createOpenProfile(context, files, options);
    context.once("close", () => profiles.delete(key));
    return openProfile;
  }

  async function drop(key: string): Promise<boolean> {
    const openProfile = profiles.get(key);
    profiles.delete(key);
    await openProfile?.then(
      (one) => one.close(),
      () => undefined,
    );
    return openProfile !== undefined;
  }

  async function dropIdle(): Promise<void> {
    timer = undefined;
    for (const [key, promise] of profiles) {
      const openProfile = await promise.catch(() => undefined);
      if (!openProfile || clock.now() - openProfile.usedAt >= idleMs) await drop(key);
    }
    if (profiles.size > 0) watchIdle();
  }

  function watchIdle(): void {
    if (isClosed) return;
    timer ??= clock.after(idleMs, () => void dropIdle());
    timer.setRef(false);
  }

  return {
    get count() {
      return profiles.size;
    },
    find: async (caller) => profiles.get(profileKey(caller))?.catch(() => undefined),
    async use(caller, files) {
      if (isClosed) throw toolError("shutdown", "The browser is closed for good.");
      const key = profileKey(caller);
      if (!profiles.has(key) && profiles.size >= maxProfiles) {
        throw toolError("busy", `${maxProfiles} sessions use the browser already.`, {
          next: "Wait until one of them stops it, or until it was idle for long.",
        });
      }
      const making = profiles.get(key) ?? make(key, files);
      profiles.set(key, making);
      const openProfile = await making.catch((error: unknown) => {
        profiles.delete(key);
        throw error;
      });
      openProfile.files = files;
      openProfile.usedAt = clock.now();
      watchIdle();
      return openProfile;
    },
    stop: (caller) => drop(profileKey(caller)),
    async close() {
      isClosed = true;
      timer?.cancel();
      await Promise.all([...profiles.keys()].map(drop));
    },
  };
}

/** A session's own; without one, the user's or the agent's. The words keep a user apart from a session of that name. */
function profileKey({ session, user, agent }: Caller): string {
  if (session !== undefined) return `session:${session}`;
  return user === undefined ? `agent:${agent ?? ""}` : `user:${user}`;
}

function createOpenProfile(context: BrowserContext, files: Files, options: ProfilesOptions): OpenProfile {
  const { clock, maxTabs, maxDownloadBytes, downloadFolder } = options;
  const tabs = new Map<string, Tab>();
  const saving = new Set<Promise<void>>();
  let notes: string[] = [];
  let current: Tab | undefined;
  let opened = 0;
  /** Tabs that are being opened here, not by a page. */
  let requested = 0;
  const addNote = (note: string): void => void (notes.length < MAX_NOTES && notes.push(note));

  const add = (page: Page): Tab => {
    const known = [...tabs.values()].find((tab) => tab.page === page);
    if (known) return known;
    opened += 1;
    const tab = watchTab(`t${opened}`, page, { now: () => clock.now(), addNote });
    tabs.set(tab.id, tab);
    page.on("download", (download) => track(save(download)));
    page.once("close", () => {
      tabs.delete(tab.id);
      if (current === tab) current = [...tabs.values()].at(-1);
    });
    return tab;
  };
  const track = (work: Promise<void>): void => {
    saving.add(work);
    void work.finally(() => saving.delete(work));
  };
  const save = async (download: Download): Promise<void> => {
    const downloadTarget = { files: openProfile.files, folder: downloadFolder, maxBytes: maxDownloadBytes };
    try {
      const { path, bytes } = await saveDownload(download, downloadTarget);
      addNote(`Downloaded ${path} (${bytes} bytes).`);
    } catch (error) {
      addNote(`A download was not saved: ${(error as Error).message}`);
    }
  };
  context.on("page", (page) => {
    if (tabs.size >= maxTabs) {
      addNote(`A page wanted a further tab; there are ${maxTabs} already.`);
      return void page.close().catch(() => undefined);
    }
    const isOwn = requested > 0;
    const { id } = add(page);
    if (!isOwn) addNote(`The page opened the tab ${id}.`);
  });

  const openProfile: OpenProfile = {
    context,
    tabs,
    files,
    usedAt: clock.now(),
    get current() {
      return current;
    },
    async open() {
      if (tabs.size >= maxTabs) {
        throw toolError("busy", `There are ${maxTabs} tabs already.`, { next: "Close one, or navigate in one." });
      }
      requested += 1;
      try {
        return (current = add(await context.newPage()));
      } finally {
        requested -= 1;
      }
    },
    async focus(tab) {
      current = tab;
      await tab.page.bringToFront();
    },
    async settled(maxMs) {
      if (saving.size === 0) return;
      let timer: Timer | undefined;
      const late = new Promise<void>((resolve) => (timer = clock.after(maxMs, resolve)));
      await Promise.race([Promise.all(saving), late]);
      timer?.cancel();
    },
    takeNotes() {
      const taken = notes;
      notes = [];
      return taken;
    },
    close: () => context.close(),
  };
  return openProfile;
}

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

function watchTab(id: string, page: Page, { now, addNote }: TabListener): Tab {
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

export interface DownloadTarget {
  files: Files;
  /** In the workspace. */
  folder: string;
  maxBytes: number;
}

const MAX_NAMES = 100;

/** Puts what a page gave into the workspace, never over something that is there; answers where it is. */
async function saveDownload(download: Download, target: DownloadTarget): Promise<{ path: string; bytes: number }> {
  const stream = await download.createReadStream();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > target.maxBytes) {
      await download.cancel();
      throw toolError("too_large", `it is larger than ${target.maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return saveNew(Buffer.concat(chunks), download.suggestedFilename(), target);
}

export async function saveNew(
  bytes: Uint8Array,
  name: string,
  { files, folder }: Pick<DownloadTarget, "files" | "folder">,
): Promise<{ path: string; bytes: number }> {
  const [, stem = "file", extension = ""] = /^(.*?)(\.[^.]*)?$/s.exec(safeName(name)) ?? [];
  for (let count = 1; ; count += 1) {
    const path = `${folder}/${stem}${count === 1 ? "" : `-${count}`}${extension}`;
    try {
      const { info } = await files.writeFileAtomic(path, bytes, { ifAbsent: true });
      return { path: files.show(info.real), bytes: bytes.length };
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== "path_exists" || count === MAX_NAMES) throw error;
    }
  }
}

/** The name is the page's choice: no folders, nothing hidden, nothing that a system reads as more than a name. */
export function safeName(name: string): string {
  const plain = name
    .normalize("NFC")
    .replace(/[^\p{L}\p{N} ._()+-]/gu, "_")
    .replace(/^[. _-]+|[. ]+$/g, "");
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(plain)?.[0] ?? "";
  return plain.slice(0, plain.length - extension.length).slice(0, 100) + extension || "file";
}

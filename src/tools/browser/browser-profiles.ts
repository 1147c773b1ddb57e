import type { BrowserContext, Dialog, Download, Page } from "playwright-core";
import type { Caller } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { countOf } from "../../core/results/count-of.ts";
import { errorMessage, toolError, ToolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import type { Files } from "../../io/files/files.ts";
import type { BrowserProgram } from "./browser-program.ts";

/** The cookies, storage and tabs of one session. Deleted when it is closed. */
export interface Profile {
  readonly context: BrowserContext;
  readonly tabs: ReadonlyMap<string, Tab>;
  /** The default tab. */
  readonly current: Tab | undefined;
  open(): Promise<Tab>;
  focus(tab: Tab): Promise<void>;
  /** Waits until downloads are saved, at most this long. */
  settled(maxMs: number): Promise<void>;
  /** Returns and clears the notes about events. */
  takeNotes(): string[];
}

export interface Profiles {
  find(caller: Caller): Promise<Profile | undefined>;
  /** Creates one if necessary. Downloads are saved on behalf of the last call that used the profile. */
  use(caller: Caller, files: Files): Promise<Profile>;
  stop(caller: Caller): Promise<boolean>;
  readonly count: number;
  close(): Promise<void>;
}

export interface ProfileLimits {
  maxProfiles: number;
  maxTabs: number;
  maxDownloadBytes: number;
  /** A profile is closed after this time without use. */
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
      (profile) => profile.close(),
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
      if (isClosed) throw toolError("shutdown", "The browser is shut down.");
      const key = profileKey(caller);
      if (!profiles.has(key) && profiles.size >= maxProfiles) {
        throw toolError("busy", `${maxProfiles} sessions already use the browser.`, {
          next: "Wait until one of them stops it or is idle for long enough.",
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

/** One profile per session; without one, per user or agent. The prefixes prevent collisions of names. */
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
  /** Number of tabs being opened by this code, not by a page. */
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
      addNote(`Downloaded ${path} (${countOf(bytes, "byte")}).`);
    } catch (error) {
      addNote(`A download was not saved: ${errorMessage(error)}`);
    }
  };
  context.on("page", (page) => {
    if (tabs.size >= maxTabs) {
      addNote(`A page tried to open another tab; there are already ${maxTabs}.`);
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
        throw toolError("busy", `There are already ${maxTabs} tabs.`, { next: "Close one, or navigate in one." });
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
      const timeout = new Promise<void>((resolve) => (timer = clock.after(maxMs, resolve)));
      await Promise.race([Promise.all(saving), timeout]);
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

/** One page of a profile with its console. */
export interface Tab {
  readonly id: string;
  readonly page: Page;
  /** Newest last; the oldest lines are dropped. */
  readonly console: ConsoleLine[];
  /** The response to the next dialog. Default: dismiss. */
  answer?: { accept: boolean; text?: string };
  /** Number of loaded documents. */
  documents: number;
  /** The value of `documents` at the last snapshot. */
  seenDocument?: number;
}

export interface ConsoleLine {
  /** `error`, `warning`, `log`, … or `exception` for uncaught errors. */
  level: string;
  text: string;
  at: number;
}

const MAX_CONSOLE_LINES = 200;
const MAX_LINE_LENGTH = 1_000;
/** Other URLs are refused: files of this machine and the browser's own pages. */
const ALLOWED_URL = /^(?:https?:|about:|data:|blob:|chrome-error:)/i;

export interface TabListener {
  now(): number;
  /** Adds a note to the next result. */
  addNote(note: string): void;
}

function watchTab(id: string, page: Page, { now, addNote }: TabListener): Tab {
  const tab: Tab = { id, page, console: [], documents: 0 };
  const addConsoleLine = (level: string, text: string): void => {
    tab.console.push({ level, text: disarmText(text).slice(0, MAX_LINE_LENGTH), at: now() });
    if (tab.console.length > MAX_CONSOLE_LINES) tab.console.shift();
  };
  page.on("console", (message) => addConsoleLine(message.type(), message.text()));
  page.on("pageerror", (error) => addConsoleLine("exception", error.message));
  page.on("domcontentloaded", () => (tab.documents += 1));
  page.on("dialog", (dialog) => void answerDialog(tab, dialog, addNote));
  page.on("crash", () => addNote(`The page of tab ${id} crashed; close the tab.`));
  page.on("framenavigated", (frame) => {
    if (frame !== page.mainFrame() || ALLOWED_URL.test(frame.url())) return;
    addNote(`Tab ${id} was closed: it went to ${disarmText(frame.url()).slice(0, 100)}, which is not allowed.`);
    void page.close().catch(() => undefined);
  });
  return tab;
}

async function answerDialog(tab: Tab, dialog: Dialog, addNote: (note: string) => void): Promise<void> {
  const { answer } = tab;
  delete tab.answer;
  // Leaving the page was requested.
  const accept = answer?.accept ?? dialog.type() === "beforeunload";
  const dialogText = JSON.stringify(disarmText(dialog.message()).slice(0, MAX_LINE_LENGTH));
  const how = accept ? "accepted" : "dismissed";
  const next = answer ? "" : ` To respond differently, use the action dialog first, then repeat the action.`;
  addNote(`A dialog (${dialog.type()}) said ${dialogText} and was ${how}.${next}`);
  await (accept ? dialog.accept(answer?.text) : dialog.dismiss()).catch(() => undefined);
}

interface DownloadTarget {
  files: Files;
  /** A folder in the workspace. */
  folder: string;
  maxBytes: number;
}

const MAX_NAMES = 100;

/** Saves a download in the workspace without overwriting anything. Returns its path. */
async function saveDownload(download: Download, target: DownloadTarget): Promise<{ path: string; bytes: number }> {
  const stream = await download.createReadStream();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const part of stream) {
    const chunk = Buffer.from(part);
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

/** The page chooses the name, so folders, leading dots and special characters are removed. */
export function safeName(name: string): string {
  const plain = name
    .normalize("NFC")
    .replace(/[^\p{L}\p{N} ._()+-]/gu, "_")
    .replace(/^[. _-]+|[. ]+$/g, "");
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(plain)?.[0] ?? "";
  return plain.slice(0, plain.length - extension.length).slice(0, 100) + extension || "file";
}

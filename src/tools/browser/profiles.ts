import type { BrowserContext, Download, Page } from "playwright-core";
import type { Caller } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { Files } from "../../files/files.ts";
import type { BrowserProgram } from "./browser-program.ts";
import { saveDownload } from "./save-download.ts";
import { type Tab, watchTab } from "./tab.ts";

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

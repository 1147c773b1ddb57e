/**
 * What the calls of other agents change in the workspace, for undo. The agent runs them, so the state before is looked at when a
 * call is let through, and compared when its end is reported. Bounded: what could not be kept is named.
 */
import { type Dirent, lstatSync, opendirSync } from "node:fs";
import { join } from "node:path";
import { type Files, filesOfCommands } from "../io/files/files.ts";
import {
  type ChangeMaker,
  type EntryState,
  type FileChange,
  MAX_UNDO_BYTES,
  recordChange,
  type UndoJournal,
} from "../io/files/undo-store.ts";

/** Of a workspace whose files are looked at before a command. */
const MAX_ENTRIES = 20_000;
const MAX_KEPT_FILE = 1024 * 1024;
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** The agent waits for it. */
const MAX_KEEPING_MS = 200;
/** Less than agents give to a report. */
const MAX_RECORDING_MS = 10_000;
const MAX_RECORDED = 2000;
/** Clocks of file systems are coarse: two changes can have one time. */
const SETTLED_MS = 1000;
/** Calls that were not reported keep what there was in memory. */
const MAX_LOOKED = 16;
/** Folders that are large, and made again from other files; parts of a repository that are put back alone break it. */
const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules"]);

interface Entry {
  /** Changes with the content, the mode and the entry itself. */
  stamp: string;
  /** Undefined if there was no room for it. */
  state?: EntryState & { bytes?: Buffer };
  /** A later change cannot have the same stamp, so the state needs no second look while the stamp stays. */
  isSettled?: boolean;
  /** Nobody looks into it. */
  isSkipped?: boolean;
}

/** The workspace before a call: all of it, or the paths that the call names. */
export interface Looked {
  entries: Map<string, Entry>;
  named?: readonly string[];
  /** Of the contents in it. */
  bytes: number;
  /** Not all entries of the workspace are in it. */
  isCut: boolean;
}

/** What a call changed. */
export interface FoundChanges {
  recorded: number;
  /** Paths whose earlier content is not known. */
  notKept: readonly string[];
  /** There may be more that nobody looked at. */
  isCut: boolean;
}

export class AgentChanges {
  readonly #files: Files;
  readonly #folder: string;
  readonly #journal: UndoJournal;
  /** Of calls that run now: what one of them changed is no change of the others. */
  readonly #open = new Set<Looked>();
  /** The workspace as it was last looked at: most of it has not changed before the next command. */
  #last: ReadonlyMap<string, Entry> = new Map();
  /** Ends are recorded one after the other, or two calls that end together would both have what one of them changed. */
  #recording: Promise<unknown> = Promise.resolve();

  constructor({ files, folder, journal }: { files: Files; folder: string; journal: UndoJournal }) {
    this.#files = filesOfCommands(files);
    this.#folder = folder;
    this.#journal = journal;
  }

  /** Before a call. `named`: the paths that it changes; undefined: whatever a command may change. */
  async look(named?: readonly string[]): Promise<Looked> {
    const { entries, isCut } = this.#list(named);
    const looked: Looked = { entries, named, isCut, bytes: 0 };
    // From now on: what ends meanwhile is no change of this call.
    this.#open.add(looked);
    const [oldest] = this.#open;
    if (oldest && this.#open.size > MAX_LOOKED) {
      this.#open.delete(oldest);
      oldest.entries.clear();
      oldest.isCut = true;
    }
    const until = Date.now() + MAX_KEEPING_MS;
    for (const [path, entry] of entries) {
      if (entry.isSkipped || !hasRoom(looked, sizeIn(entry.stamp))) continue;
      const known = this.#last.get(path);
      entry.isSettled = known?.isSettled === true && known.stamp === entry.stamp;
      const now = Date.now();
      if (!entry.isSettled && !named && now > until) continue;
      const state = entry.isSettled ? known?.state : await this.#stateAt(path);
      // Meanwhile another call may have ended that changed it.
      if (entries.get(path) !== entry) continue;
      keep(looked, entry, state);
      entry.isSettled = entry.state !== undefined && changedAt(entry.stamp) < now - SETTLED_MS;
    }
    if (!named) this.#last = entries;
    return looked;
  }

  /** Nothing was reported, so what changed since then may be of others. */
  forget(looked: Looked): void {
    this.#open.delete(looked);
  }

  /** After the call: writes what changed into the journal, as changes of the call. */
  record(before: Looked, maker: ChangeMaker): Promise<FoundChanges> {
    const recorded = this.#recording.then(() => this.#record(before, maker));
    this.#recording = recorded.catch(() => undefined);
    return recorded;
  }

  async #record(before: Looked, maker: ChangeMaker): Promise<FoundChanges> {
    this.#open.delete(before);
    const until = Date.now() + MAX_RECORDING_MS;
    const now = this.#list(before.named);
    const isCut = before.isCut || now.isCut;
    const changed = [...new Set([...before.entries.keys(), ...now.entries.keys()])].filter(
      (path) => before.entries.get(path)?.stamp !== now.entries.get(path)?.stamp,
    );
    // What is not in a list that was cut may have been there.
    const known = changed.filter((path) => !isCut || (before.entries.has(path) && now.entries.has(path)));
    // Undone from the last to the first: what is new goes with its content, and a folder is there again before its content.
    const byPath = known.toSorted((a, b) => (a < b ? -1 : 1));
    const gone = byPath.filter((path) => !now.entries.has(path)).toReversed();
    const there = byPath.filter((path) => now.entries.has(path));
    const notKept: string[] = [];
    let recorded = 0;
    const after = { named: before.named, bytes: 0 };
    for (const path of [...gone, ...there]) {
      const entry = before.entries.get(path);
      const found = now.entries.get(path);
      const isLeft = entry?.isSkipped || found?.isSkipped || recorded >= MAX_RECORDED || Date.now() > until;
      const next = isLeft ? undefined : await this.#stateAt(path);
      const change = next ? changeOf(path, entry, next) : "unknown";
      for (const other of this.#open) takeOver(other, path, found, next);
      if (change === undefined) continue;
      if (change === "unknown" || change.omitted) notKept.push(this.#files.show(path));
      if (change === "unknown") continue;
      // Undo needs the hash of what is new. The contents of large ones would push out what older calls replaced.
      const size = next?.bytes?.length ?? 0;
      const isKept = hasRoom(after, size);
      if (isKept) after.bytes += size;
      else change.next = { ...change.next, bytes: undefined };
      await recordChange({ journal: this.#journal, ...maker }, change);
      recorded++;
    }
    return { recorded, notKept, isCut };
  }

  #list(named?: readonly string[]): { entries: Map<string, Entry>; isCut: boolean } {
    const entries = new Map<string, Entry>();
    if (named) {
      for (const path of named) {
        const stamp = stampAt(path);
        if (stamp !== undefined) entries.set(path, { stamp });
      }
      return { entries, isCut: false };
    }
    // Upper folders first: what people write is there.
    const folders = [this.#folder];
    for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
      for (const found of listed(folder, MAX_ENTRIES - entries.size + 1)) {
        const path = join(folder, found.name);
        const stamp = stampAt(path);
        if (stamp === undefined) continue;
        if (entries.size >= MAX_ENTRIES) return { entries, isCut: true };
        // That it is another one, or gone, is seen, and that undo does not put it back is said.
        const isSkipped = SKIPPED.has(found.name) && found.isDirectory();
        entries.set(path, isSkipped ? { stamp: `${stamp} ${numberOf(path)}`, isSkipped } : { stamp });
        if (found.isDirectory() && !isSkipped) folders.push(path);
      }
    }
    return { entries, isCut: false };
  }

  /** Undefined if it may not be read. */
  async #stateAt(path: string): Promise<Entry["state"]> {
    try {
      const { real, state } = await this.#files.entry(path);
      return real === path ? state : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Kind, number, mode, size and time. The time of a folder changes with its content. */
function stampAt(path: string): string | undefined {
  const info = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!info) return undefined;
  if (info.isDirectory()) return `${info.mode}`;
  return `${info.mode} ${info.ino} ${info.size} ${info.mtimeNs} ${info.ctimeNs}`;
}

function sizeIn(stamp: string): number {
  return Number(stamp.split(" ")[2] ?? 0);
}

/** In milliseconds. Zero for a folder, whose stamp is all that is kept of it. */
function changedAt(stamp: string): number {
  return Number(stamp.split(" ")[4] ?? 0) / 1e6;
}

function numberOf(path: string): string {
  return `${lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino}`;
}

/** At most `count`: a folder may have millions. */
function listed(path: string, count: number): Dirent[] {
  const found: Dirent[] = [];
  try {
    const folder = opendirSync(path, { bufferSize: 512 });
    try {
      for (let each = folder.readSync(); each && found.length < count; each = folder.readSync()) found.push(each);
    } finally {
      folder.closeSync();
    }
  } catch {
    // It is gone, or may not be read.
  }
  return found;
}

/** An edit names few files, and undo is to have them as a whole. */
function hasRoom({ named, bytes }: Pick<Looked, "named" | "bytes">, size: number): boolean {
  const [each, all] = named ? [MAX_UNDO_BYTES, MAX_UNDO_BYTES] : [MAX_KEPT_FILE, MAX_KEPT_BYTES];
  return size <= each && bytes + size <= all;
}

function keep(looked: Looked, entry: Entry, state: Entry["state"]): void {
  const size = state?.bytes?.length ?? 0;
  const isKept = hasRoom(looked, size);
  entry.state = isKept ? state : undefined;
  if (isKept) looked.bytes += size;
}

/** What one call changed is the state before for the calls that still run. */
function takeOver(other: Looked, path: string, entry: Entry | undefined, state: Entry["state"]): void {
  if (other.named && !other.named.includes(path)) return;
  if (!entry) return void other.entries.delete(path);
  const taken: Entry = { stamp: entry.stamp, isSkipped: entry.isSkipped };
  keep(other, taken, state);
  other.entries.set(path, taken);
}

/** Undefined if nothing changed that undo knows of; "unknown" if it cannot be recorded at all. */
function changeOf(
  path: string,
  entry: Entry | undefined,
  next: NonNullable<Entry["state"]>,
): Omit<FileChange, keyof ChangeMaker> | "unknown" | undefined {
  const old: Entry["state"] = entry ? entry.state : { kind: "absent" };
  if (next.kind === "other") return "unknown";
  if (old === undefined || (old.kind === "file" && !old.bytes)) {
    // Undo says of such a change that its earlier content was not kept.
    if (next.kind !== "file" && next.kind !== "absent") return "unknown";
    return {
      kind: next.kind === "absent" ? "delete" : "write",
      path,
      was: "file",
      old: null,
      omitted: "too_large",
      next,
    };
  }
  if (old.kind === "other") return "unknown";
  const kept = {
    path,
    was: old.kind,
    old: old.kind === "file" ? (old.bytes ?? null) : null,
    mode: old.kind === "file" || old.kind === "directory" ? old.mode : undefined,
    linkTarget: old.kind === "symlink" ? old.target : undefined,
  };
  if (next.kind === "absent") return old.kind === "absent" ? undefined : { ...kept, kind: "delete", next };
  if (old.kind !== next.kind && old.kind !== "absent") return "unknown";
  if (next.kind === "file") {
    const isSame = old.kind === "file" && next.bytes !== undefined && old.bytes?.equals(next.bytes) === true;
    if (!isSame) return { ...kept, kind: "write", next };
    return old.mode === next.mode ? undefined : { ...kept, kind: "set_mode", next };
  }
  if (next.kind === "directory") {
    if (old.kind === "absent") return { ...kept, kind: "make_directory", next };
    return old.kind === "directory" && old.mode !== next.mode ? { ...kept, kind: "set_mode", next } : undefined;
  }
  if (old.kind === "absent") return { ...kept, kind: "make_link", next };
  return "unknown";
}

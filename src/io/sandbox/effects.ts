import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../../core/error.ts";
import { type EntryState, hashOf } from "../files/undo-store.ts";
import type { Overlay } from "./build-table.ts";

/** What a command did to one path in a view. */
export interface Effect {
  /** A real path; of a temporary file its path below the folder for them. */
  path: string;
  before: EntryState;
  after: EntryState;
  /** Whether it is a temporary file: it is kept, but not journalled. */
  isTemporary: boolean;
  /** When the content was last changed, in Unix milliseconds. */
  modified?: number;
}

/** The command did something that cannot be recorded; the message says what, as "it creates a socket". */
export class UnrecordableEffect extends Error {}

export interface EffectLimits {
  /** Max number of changed paths. */
  maxEntries: number;
  /** Max size of all old and new contents together. */
  maxBytes: number;
}

const EFFECT_LIMITS: EffectLimits = { maxEntries: 2000, maxBytes: 64 * 1024 * 1024 };

export interface ComparedOverlay extends Pick<Overlay, "lower" | "upper"> {
  isTemporary: boolean;
  /** The time of the upper folder before the run. */
  startedAt?: number;
}

export interface CollectOptions {
  overlays: readonly ComparedOverlay[];
  /** Which folders of an upper layer hide the same folder of the lower one. */
  opaqueAmong(folders: readonly string[]): ReadonlySet<string>;
  /** Called with the new content of each file. */
  keep(effect: Effect, bytes: Buffer): void;
  /** Called with each path of which only the time, if it is a folder, or an attribute may have changed: no effect shows it. */
  unkept?(path: string): void;
  limits?: EffectLimits;
}

/** Compares the layers of a view. Every process that uses it must have ended. */
export function collectEffects(options: CollectOptions): Effect[] {
  const shared = options.overlays.flatMap(({ upper, lower }) => foldersInBoth(upper, lower));
  const opaque = shared.length === 0 ? new Set<string>() : options.opaqueAmong(shared);
  const collector = new EffectCollector(opaque, options);
  for (const overlay of options.overlays) collector.compare(overlay);
  collector.requireWithinLimits();
  collector.tellUnkept();
  return collector.effects;
}

/** Folders below an upper layer that the lower layer has too. The layers themselves are never opaque. */
function foldersInBoth(upper: string, lower: string): string[] {
  return namesIn(upper).flatMap((name) => {
    const [inUpper, inLower] = [join(upper, name), join(lower, name)];
    if (!stateOf(inUpper)?.isDirectory() || !stateOf(inLower)?.isDirectory()) return [];
    return [inUpper, ...foldersInBoth(inUpper, inLower)];
  });
}

interface Place {
  upper: string;
  /** Undefined if the view does not show the lower layer here. */
  lower: string | undefined;
  path: string;
}

class EffectCollector {
  readonly effects: Effect[] = [];
  readonly #opaque: ReadonlySet<string>;
  readonly #keep: CollectOptions["keep"];
  readonly #unkept: CollectOptions["unkept"];
  /** Folders that are in the upper layer for another reason than what is in them. */
  readonly #touched = new Set<string>();
  readonly #limits: EffectLimits;
  #isTemporary = false;
  #bytes = 0;
  #count = 0;
  #deleted = 0;

  constructor(opaque: ReadonlySet<string>, { keep, unkept, limits = EFFECT_LIMITS }: CollectOptions) {
    this.#opaque = opaque;
    this.#keep = keep;
    this.#unkept = unkept;
    this.#limits = limits;
  }

  compare({ upper, lower, isTemporary, startedAt }: ComparedOverlay): void {
    this.#isTemporary = isTemporary;
    if (startedAt !== undefined && statOf(upper).mtimeMs !== startedAt) this.#touch(lower);
    this.#folder({ upper, lower, path: isTemporary ? "/" : lower }, { isOpaque: false });
  }

  /** `isOpaque`: the view shows only the upper layer, so what is only in the lower one is gone. */
  #folder({ upper, lower, path }: Place, { isOpaque }: { isOpaque: boolean }): void {
    const names = namesIn(upper);
    for (const name of names) {
      const inLower = lower === undefined ? undefined : join(lower, name);
      this.#entry({ upper: join(upper, name), lower: inLower, path: join(path, name) }, isOpaque);
    }
    if (!isOpaque || lower === undefined) return;
    const kept = new Set(names);
    for (const name of namesIn(lower)) if (!kept.has(name)) this.#gone(join(lower, name), join(path, name));
  }

  #entry({ upper, lower, path }: Place, isInOpaque: boolean): void {
    const now = statOf(upper);
    const old = lower === undefined ? undefined : stateOf(lower);
    if (isWhiteout(now)) {
      if (lower !== undefined && old) this.#gone(lower, path);
      return;
    }
    requireRecordable(now, old);
    if (now.isDirectory()) {
      const wasFolder = old?.isDirectory() === true;
      const after: EntryState = { kind: "directory", mode: this.#modeOf(now) };
      const before = lower === undefined || !old ? ABSENT : this.#describe(lower, old);
      if (!wasFolder || this.#modeOf(old) !== this.#modeOf(now)) this.#add({ path, before, after });
      else if (old.mtimeMs !== now.mtimeMs || namesIn(upper).length === 0) this.#touch(path);
      const isOpaque = isInOpaque || this.#opaque.has(upper);
      this.#folder({ upper, lower: wasFolder ? lower : undefined, path }, { isOpaque: wasFolder && isOpaque });
      return;
    }
    // What replaces a folder removes everything in it.
    if (lower !== undefined && old?.isDirectory()) this.#gone(lower, path, { children: true });
    this.#replaced({ upper, lower, path }, now, old);
  }

  #replaced({ upper, lower, path }: Place, now: Stats, old: Stats | undefined): void {
    const before = lower === undefined || !old ? ABSENT : this.#describe(lower, old);
    if (now.isSymbolicLink()) {
      const after: EntryState = { kind: "symlink", target: readlinkSync(upper) };
      if (before.kind !== "symlink" || before.target !== after.target) this.#add({ path, before, after });
      else this.#tell(path);
      return;
    }
    const bytes = this.#read(upper, now);
    const after: EntryState = { kind: "file", hash: hashOf(bytes), size: bytes.length, mode: this.#modeOf(now) };
    const isSame = before.kind === "file" && before.hash === after.hash;
    // It was opened for writing, or an attribute was set.
    if (isSame && before.mode === after.mode && old?.mtimeMs === now.mtimeMs) {
      this.#tell(path);
      return;
    }
    const effect = this.#add({ path, before, after, modified: now.mtimeMs });
    if (!isSame) this.#keep(effect, bytes);
  }

  /** The entry of the lower layer and everything in it is deleted. */
  #gone(lower: string, path: string, only: { children: boolean } = { children: false }): void {
    const old = statOf(lower);
    requireRecordable(old, old);
    if (!only.children) this.#add({ path, before: this.#describe(lower, old), after: ABSENT });
    if (old.isDirectory()) for (const name of namesIn(lower)) this.#gone(join(lower, name), join(path, name));
  }

  #describe(path: string, info: Stats): EntryState {
    if (info.isDirectory()) return { kind: "directory", mode: this.#modeOf(info) };
    if (info.isSymbolicLink()) return { kind: "symlink", target: readlinkSync(path) };
    if (!info.isFile()) return { kind: "other" };
    const bytes = this.#read(path, info);
    return { kind: "file", hash: hashOf(bytes), size: bytes.length, mode: this.#modeOf(info) };
  }

  /** Temporary files are not shown, so none becomes setuid, setgid or sticky. */
  #modeOf({ mode }: Stats): number {
    return mode & (this.#isTemporary ? 0o777 : 0o7777);
  }

  /** Throws with counts of everything, if that is too much to record. */
  requireWithinLimits(): void {
    const { maxEntries, maxBytes } = this.#limits;
    if (this.#count <= maxEntries && this.#bytes <= maxBytes) return;
    const limit = this.#count > maxEntries ? `${maxEntries} files` : `${maxBytes / 1024 / 1024} MB`;
    const what = `it changes ${this.#count} paths, of which it deletes ${this.#deleted}`;
    throw new UnrecordableEffect(`${what}: more than the ${limit} that can be shown`);
  }

  /** The time of a folder in which a name appeared or disappeared is no change of its own. Locks of git come and go. */
  tellUnkept(): void {
    const changed = new Set(this.effects.flatMap(({ path }) => [path, dirname(path)]));
    for (const path of this.#touched) if (!changed.has(path) && !/\/\.git(?:\/|$)/.test(path)) this.#unkept?.(path);
  }

  #touch(path: string): void {
    if (!this.#isTemporary) this.#touched.add(path);
  }

  #tell(path: string): void {
    if (!this.#isTemporary) this.#unkept?.(path);
  }

  #add(effect: Omit<Effect, "isTemporary">): Effect {
    this.#count++;
    if (effect.after.kind === "absent") this.#deleted++;
    const added = { ...effect, isTemporary: this.#isTemporary };
    if (this.#count <= this.#limits.maxEntries) this.effects.push(added);
    return added;
  }

  /** Nothing, once it is too much to record: then only the counts matter. */
  #read(path: string, info: Stats): Buffer {
    this.#bytes += info.size;
    const isTooMuch = this.#count > this.#limits.maxEntries || this.#bytes > this.#limits.maxBytes;
    return isTooMuch ? Buffer.alloc(0) : attempt(() => readFileSync(path));
  }
}

const ABSENT: EntryState = { kind: "absent" };

/** What marks a deleted entry in an upper layer. */
function isWhiteout(info: Stats): boolean {
  return info.isCharacterDevice() && info.rdev === 0;
}

function requireRecordable(now: Stats, old: Stats | undefined): void {
  const isOrdinary = now.isFile() || now.isDirectory() || now.isSymbolicLink();
  if (!isOrdinary) throw new UnrecordableEffect("it works with sockets, pipes or devices in the workspace");
  const isOwned = old ? old.uid === now.uid && old.gid === now.gid : now.uid === process.geteuid?.();
  if (!isOwned) throw new UnrecordableEffect("it changes owners of files");
}

function stateOf(path: string): Stats | undefined {
  return attempt(() => lstatSync(path, { throwIfNoEntry: false }));
}

function statOf(path: string): Stats {
  return attempt(() => lstatSync(path));
}

/** Sorted. */
function namesIn(folder: string): string[] {
  return attempt(() => readdirSync(folder, { encoding: "buffer" }))
    .map((name) => {
      const text = name.toString();
      if (Buffer.from(text).equals(name)) return text;
      throw new UnrecordableEffect("it uses file names that are not valid UTF-8");
    })
    .sort();
}

function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === "EACCES") throw new UnrecordableEffect("it removes the right to read its own files");
    throw error;
  }
}

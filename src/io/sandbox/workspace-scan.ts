import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { checkPath, type PathPolicy } from "../files/path-policy.ts";
import { inodeOf } from "./landlock.ts";

/** What a scan found in one folder. */
interface ScannedFolder {
  changedAt: number;
  /** A change shortly before the scan may share its time with one after it. */
  isRecent: boolean;
  folders: readonly string[];
  secrets: readonly string[];
  guarded: readonly string[];
  repository: string | undefined;
}

/** Contents that are large, made by tools, and hold no secrets and no settings. */
const SKIPPED_FOLDERS = new Set(["node_modules"]);
/** Above this number of folders the rest is not scanned, and not readable without approval. */
const MAX_FOLDERS = 50_000;
/** Longer than the steps of file times. */
const RECENT_MS = 50;
/**
 * Knows the secrets and the guarded paths below the workspace. `refresh` reads only folders that have changed since:
 * their times are compared before each command.
 */
export class WorkspaceScan {
  readonly root: string;
  readonly #policy: PathPolicy;
  readonly #folders = new Map<string, ScannedFolder>();
  /** Also of secrets that were renamed: a secret stays one under every name. */
  readonly #inodes = new Set<string>();
  #version = 0;
  #secrets = new Set<string>();
  #guarded: readonly string[] = [];
  #repositories: readonly string[] = [];

  constructor(policy: PathPolicy, root: string = policy.workspace) {
    // Names decide, not what may be written: a secret in a read-only folder is one as well.
    this.#policy = { ...policy, layers: [[{ path: "/", writable: true }]] };
    this.root = root;
  }

  /** Changes if the secrets, the guarded paths or the repositories changed. */
  get version(): number {
    return this.#version;
  }

  /** Real paths that must not be read, including folders that were not scanned. */
  get secrets(): ReadonlySet<string> {
    return this.#secrets;
  }

  /** Secrets with further names, and renamed ones; see `inodeOf`. */
  get inodes(): ReadonlySet<string> {
    return this.#inodes;
  }

  /** Existing real paths that must not be written, without those of repositories. */
  get guarded(): readonly string[] {
    return this.#guarded;
  }

  /** `.git` folders: they may be changed, but not replaced. */
  get repositories(): readonly string[] {
    return this.#repositories;
  }

  refresh(): void {
    const isFirst = this.#version === 0;
    const seen = new Set<string>();
    const waiting = [this.root];
    const unscanned: string[] = [];
    let hasChanged = isFirst;
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      if (seen.size >= MAX_FOLDERS) {
        unscanned.push(folder);
        continue;
      }
      seen.add(folder);
      const known = this.#folders.get(folder);
      const info = lstatSync(folder, { throwIfNoEntry: false });
      if (!info?.isDirectory()) continue;
      if (known && !known.isRecent && known.changedAt === changeTime(info)) {
        waiting.push(...known.folders);
        continue;
      }
      const scanned = this.#scan(folder, info);
      hasChanged ||= !known || !isSame(known, scanned);
      this.#folders.set(folder, scanned);
      waiting.push(...scanned.folders);
    }
    for (const folder of this.#folders.keys()) {
      if (seen.has(folder)) continue;
      this.#folders.delete(folder);
      hasChanged = true;
    }
    if (hasChanged) this.#collect(unscanned);
  }

  #collect(unscanned: readonly string[]): void {
    this.#version++;
    const all = [...this.#folders.values()];
    this.#secrets = new Set([...all.flatMap(({ secrets }) => secrets), ...unscanned, ...this.#policy.privatePaths]);
    this.#guarded = outermost(all.flatMap(({ guarded }) => guarded));
    this.#repositories = all.flatMap(({ repository }) => repository ?? []);
    this.#closeOtherNames();
  }

  #scan(folder: string, info: Stats): ScannedFolder {
    const folders: string[] = [];
    const secrets: string[] = [];
    const guarded: string[] = [];
    let repository: string | undefined;
    for (const entry of entriesOf(folder)) {
      // The target of a link is checked under its own path.
      if (entry.isSymbolicLink()) continue;
      const path = join(folder, entry.name);
      if (entry.name === ".git" && entry.isDirectory()) {
        repository = path;
      } else if (this.#wasSecret(entry, path)) {
        secrets.push(path);
      } else if (checkPath(this.#policy, path, "write")?.reason === "protected") {
        // What may not be read may not be written either, so one check is enough for nearly every path.
        const isSecret = checkPath(this.#policy, path, "read")?.reason === "protected";
        (isSecret ? secrets : guarded).push(path);
        if (!isSecret && entry.isDirectory()) folders.push(path);
      } else if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) folders.push(path);
    }
    const changedAt = changeTime(info);
    return { changedAt, isRecent: Date.now() - changedAt < RECENT_MS, folders, secrets, guarded, repository };
  }

  /** Remembers the secrets, and finds files that are further names of one. */
  #closeOtherNames(): void {
    let hasFurtherNames = false;
    for (const path of this.#secrets) {
      const info = lstatSync(path, { throwIfNoEntry: false });
      if (!info?.isFile()) continue;
      this.#inodes.add(inodeOf(info));
      hasFurtherNames ||= info.nlink > 1;
    }
    if (!hasFurtherNames) return;
    for (const [folder, { folders }] of this.#folders) {
      for (const entry of entriesOf(folder)) {
        const path = join(folder, entry.name);
        if (!folders.includes(path) && this.#wasSecret(entry, path)) this.#secrets.add(path);
      }
    }
  }

  #wasSecret(entry: Dirent, path: string): boolean {
    if (!entry.isFile() || this.#inodes.size === 0) return false;
    const info = lstatSync(path, { throwIfNoEntry: false });
    return info !== undefined && this.#inodes.has(inodeOf(info));
  }
}

function isSame(one: ScannedFolder, other: ScannedFolder): boolean {
  const factsOf = ({ folders, secrets, guarded, repository }: ScannedFolder): string =>
    JSON.stringify([folders, secrets, guarded, repository]);
  return factsOf(one) === factsOf(other);
}

/** Without paths that are inside another one. */
function outermost(paths: readonly string[]): string[] {
  const kept: string[] = [];
  for (const path of paths.toSorted()) {
    const last = kept.at(-1);
    if (last === undefined || !path.startsWith(`${last}/`)) kept.push(path);
  }
  return kept;
}

/** Also changes if the folder itself is replaced. */
function changeTime({ mtimeMs, ctimeMs }: Stats): number {
  return Math.max(mtimeMs, ctimeMs);
}

/** Empty for a folder that cannot be read: a confined command cannot read it either. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

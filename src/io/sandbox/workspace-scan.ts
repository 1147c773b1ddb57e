import { type Dirent, lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { join } from "node:path";
import type { Files } from "../files/files.ts";
import { checkPath, isDeniedByOwner, isInside, type PathPolicy } from "../files/path-policy.ts";
import { inodeOf } from "./landlock.ts";

/** What a scan found in one folder. */
interface ScannedFolder {
  changedAt: number;
  /** A change shortly before the scan may share its time with one after it. */
  isRecent: boolean;
  folders: readonly string[];
  secrets: readonly string[];
  /** Those of the secrets that the owner denies. */
  denied: readonly string[];
  guarded: readonly string[];
  repository: string | undefined;
}

/** Contents that are large, made by tools, and hold no secrets and no settings. */
const SKIPPED_FOLDERS = new Set(["node_modules"]);
/** Above this number of folders the rest is not scanned, and not readable without approval. */
const MAX_FOLDERS = 50_000;
/** Longer than the steps of file times. */
const RECENT_MS = 50;
/** Entries of folders of keys that are remembered, and entries that are compared to find a moved secret. */
const MAX_REMEMBERED = 2000;
const MAX_SEARCHED = 300_000;

/** Folders of a `.git` folder with configurations of their own. */
const HOLD_CONFIGURATIONS = new Set(["modules", "worktrees"]);
const MAX_MODULE_DEPTH = 5;
/** Folders of a repository without configurations. */
const GIT_DATA = new Set(["objects", "refs", "logs", "hooks", "info", "branches"]);

/** A secret that is recognized under other names. */
interface Remembered {
  path: string;
  names: number;
}

/**
 * Knows the secrets, what the owner denies and the guarded paths below the workspace. `refresh` reads only folders that
 * have changed since: their times are compared before each command. A new policy means that all are read again.
 */
export class WorkspaceScan {
  readonly root: string;
  readonly #files: Pick<Files, "policy">;
  #given: PathPolicy;
  #policy: PathPolicy;
  readonly #folders = new Map<string, ScannedFolder>();
  /** By `inodeOf`, with the path at which it was found last: a secret stays one under every name. */
  #remembered = new Map<string, Remembered>();
  /** Secrets in `.git` folders, and those that were found under a name that does not tell. */
  #inRepositories: readonly string[] = [];
  #moved: readonly string[] = [];
  #version = 0;
  #secrets = new Set<string>();
  #denied = new Set<string>();
  #deniedInodes = new Set<string>();
  #guarded: readonly string[] = [];
  #repositories: readonly string[] = [];

  constructor(files: Pick<Files, "policy">, root: string = files.policy.workspace) {
    this.#files = files;
    this.#given = files.policy;
    this.#policy = byNames(files.policy);
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

  /** Those of the secrets that the owner denies: an approval does not open them. */
  get denied(): ReadonlySet<string> {
    return this.#denied;
  }

  /** Secrets with further names, and renamed ones; see `inodeOf`. */
  get inodes(): ReadonlySet<string> {
    return new Set(this.#remembered.keys());
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
    const isFirst = this.#takePolicy() || this.#version === 0;
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
    const inRepositories = [...this.#folders.values()].flatMap(({ repository }) => this.#secretsOf(repository));
    hasChanged ||= inRepositories.join("\0") !== this.#inRepositories.join("\0");
    this.#inRepositories = inRepositories;
    if (hasChanged || this.#hasMoved()) this.#collect(unscanned);
  }

  /** Whether the policy is another one since. */
  #takePolicy(): boolean {
    const { policy } = this.#files;
    if (policy === this.#given) return false;
    this.#given = policy;
    this.#policy = byNames(policy);
    this.#folders.clear();
    // What was denied may be open now. A secret stays one under every name.
    for (const inode of this.#deniedInodes) this.#remembered.delete(inode);
    this.#moved = this.#moved.filter((path) => !this.#denied.has(path));
    this.#deniedInodes.clear();
    return true;
  }

  #collect(unscanned: readonly string[]): void {
    this.#version++;
    const all = [...this.#folders.values()];
    this.#guarded = outermost(all.flatMap(({ guarded }) => guarded));
    this.#repositories = all.flatMap(({ repository }) => repository ?? []);
    const named = [...all.flatMap(({ secrets }) => secrets), ...this.#inRepositories];
    const isDenied = (path: string): boolean => isDeniedByOwner(this.#policy, path);
    const denied = [...all.flatMap(({ denied: found }) => found), ...this.#inRepositories.filter(isDenied)];
    for (const inode of this.#identify(denied).keys()) this.#deniedInodes.add(inode);
    const kept = this.#moved.filter((path) => this.#wasSecret(path));
    const found = this.#identify([...named, ...kept]);
    const sought = new Set<string>();
    // One that is gone was moved or deleted; one with more names than were found has one elsewhere.
    for (const inode of this.#remembered.keys()) if (!found.has(inode)) sought.add(inode);
    for (const [inode, { names, paths }] of found) if (names > paths.length) sought.add(inode);
    this.#moved = sought.size === 0 ? kept : this.#search(sought);
    this.#secrets = new Set([...named, ...this.#moved, ...unscanned, ...this.#policy.privatePaths]);
    this.#remembered = new Map();
    for (const [inode, { names, paths }] of this.#identify([...named, ...this.#moved]))
      this.#remembered.set(inode, { path: paths[0] ?? "", names });
    for (const inode of this.#deniedInodes) if (!this.#remembered.has(inode)) this.#deniedInodes.delete(inode);
    const mayBeDenied = this.#policy.owner.globs.length > 0 ? unscanned : [];
    this.#denied = new Set([...denied, ...this.#moved.filter((path) => this.#wasDenied(path)), ...mayBeDenied]);
  }

  /** The files and folders at these paths, and what is in the folders, with the number of their names. */
  #identify(secrets: readonly string[]): Map<string, { names: number; paths: string[] }> {
    const found = new Map<string, { names: number; paths: string[] }>();
    const waiting = [...new Set(secrets)];
    let inFolders = 0;
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const info = lstatSync(path, { throwIfNoEntry: false });
      if (!info || info.isSymbolicLink()) continue;
      const inode = inodeOf(info);
      const known = found.get(inode);
      if (known) known.paths.push(path);
      else found.set(inode, { names: info.isDirectory() ? 1 : info.nlink, paths: [path] });
      if (!info.isDirectory()) continue;
      for (const { name } of entriesOf(path)) if (++inFolders <= MAX_REMEMBERED) waiting.push(join(path, name));
    }
    return found;
  }

  /** Whether a remembered secret is no longer at its path, or has another number of names. */
  #hasMoved(): boolean {
    for (const [inode, { path, names }] of this.#remembered) {
      const info = lstatSync(path, { throwIfNoEntry: false });
      if (!info || inodeOf(info) !== inode || (!info.isDirectory() && info.nlink !== names)) return true;
    }
    return false;
  }

  /** Every path with one of these inodes whose name does not tell, also in folders that are not scanned. */
  #search(inodes: ReadonlySet<string>): string[] {
    const found: string[] = [];
    const waiting = [this.root];
    let compared = 0;
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      const known = this.#folders.get(folder)?.secrets;
      for (const entry of entriesOf(folder)) {
        if (entry.isSymbolicLink()) continue;
        const path = join(folder, entry.name);
        if (known?.includes(path)) continue;
        // Too many to compare: what is left is closed.
        const isOpen = ++compared <= MAX_SEARCHED;
        const info = isOpen ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
        if (!isOpen || (info && inodes.has(inodeOf(info)))) found.push(path);
        else if (entry.isDirectory()) waiting.push(path);
      }
    }
    return found;
  }

  /** Files in a `.git` folder that hold passwords, and those of its submodules. */
  #secretsOf(repository: string | undefined, depth = 0): string[] {
    if (repository === undefined) return [];
    return entriesOf(repository).flatMap((entry) => {
      const path = join(repository, entry.name);
      if (entry.isFile()) return checkPath(this.#policy, path, "read")?.reason === "protected" ? [path] : [];
      const mayHoldMore = entry.isDirectory() && (depth > 0 || HOLD_CONFIGURATIONS.has(entry.name));
      return mayHoldMore && depth < MAX_MODULE_DEPTH && !GIT_DATA.has(entry.name)
        ? this.#secretsOf(path, depth + 1)
        : [];
    });
  }

  #scan(folder: string, info: Stats): ScannedFolder {
    const folders: string[] = [];
    const secrets: string[] = [];
    const denied: string[] = [];
    const guarded: string[] = [];
    let repository: string | undefined;
    const prefix = folder.endsWith("/") ? folder : `${folder}/`;
    for (const entry of entriesOf(folder)) {
      const path = `${prefix}${entry.name}`;
      const isDenied = isDeniedByOwner(this.#policy, path);
      if (entry.isSymbolicLink()) {
        // The target of a link is checked under its own path. To deny a link is to deny what it leads to.
        const target = isDenied ? this.#targetOf(path) : undefined;
        if (target !== undefined) denied.push(target);
        continue;
      }
      if (isDenied || this.#wasSecret(path)) {
        secrets.push(path);
        if (isDenied || this.#wasDenied(path)) denied.push(path);
      } else if (entry.name === ".git" && entry.isDirectory()) {
        repository = path;
      } else if (checkPath(this.#policy, path, "write")?.reason === "protected") {
        // What may not be read may not be written either, so one check is enough for nearly every path.
        const isSecret = checkPath(this.#policy, path, "read")?.reason === "protected";
        (isSecret ? secrets : guarded).push(path);
        if (!isSecret && entry.isDirectory()) folders.push(path);
      } else if (entry.isDirectory() && !this.#isSkipped(entry.name)) folders.push(path);
    }
    secrets.push(...denied.filter((path) => !secrets.includes(path)));
    const changedAt = changeTime(info);
    return { changedAt, isRecent: Date.now() - changedAt < RECENT_MS, folders, secrets, denied, guarded, repository };
  }

  #isSkipped(name: string): boolean {
    return SKIPPED_FOLDERS.has(name) && !this.#policy.owner.globs.some((glob) => glob.includes(name));
  }

  /** Inside the scanned folder only. */
  #targetOf(link: string): string | undefined {
    try {
      const target = realpathSync.native(link);
      return target !== this.root && isInside(target, this.root) ? target : undefined;
    } catch {
      return undefined;
    }
  }

  #wasSecret(path: string): boolean {
    if (this.#remembered.size === 0) return false;
    const info = lstatSync(path, { throwIfNoEntry: false });
    return info !== undefined && this.#remembered.has(inodeOf(info));
  }

  #wasDenied(path: string): boolean {
    if (this.#deniedInodes.size === 0) return false;
    const info = lstatSync(path, { throwIfNoEntry: false });
    return info !== undefined && this.#deniedInodes.has(inodeOf(info));
  }
}

/** Names decide, not what may be written: a secret in a read-only folder is one as well. */
function byNames(policy: PathPolicy): PathPolicy {
  return { ...policy, layers: [[{ path: "/", writable: true }]] };
}

function isSame(one: ScannedFolder, other: ScannedFolder): boolean {
  const factsOf = ({ folders, secrets, denied, guarded, repository }: ScannedFolder): string =>
    JSON.stringify([folders, secrets, denied, guarded, repository]);
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

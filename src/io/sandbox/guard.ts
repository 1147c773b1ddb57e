import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../../core/error.ts";
import { isPlainRepository } from "../shell/read-only-git.ts";
import { isInside } from "../files/path-policy.ts";
import { type ExecutedChange, namesIn } from "./executed-files.ts";
import { exists } from "./profiles.ts";
import type { WorkspaceScan } from "./workspace-scan.ts";

/** What a command changed although it must not. All paths are real. */
export interface GuardReport {
  /** Changed or deleted by the command, and restored. */
  restored: readonly string[];
  /** Created by the command, and removed. */
  removed: readonly string[];
  /** The folder that keeps what was there before the restoration. */
  keptIn?: string;
  /** What programs execute by themselves, and the command changed. It stays changed. */
  executed?: readonly ExecutedChange[];
}

/** What makes git run programs. */
const RUN_BY_GIT = ["hooks", "config", "config.worktree", "info", "commondir"];
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FILES = 2000;

/** Existing paths in `.git` folders that make git run programs. */
export function guardedInRepositories(repositories: readonly string[]): string[] {
  return repositories.flatMap((repository) => {
    const modules = namesIn(join(repository, "modules")).map((name) => join(repository, "modules", name));
    return [repository, ...modules].flatMap((folder) => RUN_BY_GIT.map((name) => join(folder, name))).filter(exists);
  });
}

/** Whether a path below a `.git` folder makes git run programs. */
export function isRunByGit(below: string): boolean {
  const [first = "", , third = ""] = below.split("/");
  return RUN_BY_GIT.includes(first === "modules" ? third : first);
}

type Saved =
  | { kind: "file"; content: Buffer; mode: number }
  | { kind: "large file"; identity: string }
  | { kind: "link"; target: string }
  | { kind: "folder" };

export interface GuardOptions {
  scan: WorkspaceScan;
  guarded: readonly string[];
  repositories: readonly string[];
  /** Whether the engine keeps existing guarded paths unchanged. Only new ones are looked for then. */
  isProtected: boolean;
  /** Whether the command could write there. Paths that others create meanwhile stay. */
  mayWrite(path: string): boolean;
  /** What was changed or created is moved here. */
  keepIn: () => string;
}

/** Remembers guarded paths before a command, and restores them after it. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #saved = new Map<string, Saved>();
  #kept: string | undefined;

  constructor(options: GuardOptions) {
    this.#options = options;
    for (const path of options.guarded) this.#save(path);
  }

  /** Every process of the command must have ended: nothing may change the paths while they are compared. */
  finish(): GuardReport {
    const { scan, guarded, mayWrite } = this.#options;
    scan.refresh();
    const restored: string[] = [];
    const removed: string[] = [];
    for (const path of this.#createdInGuarded()) removed.push(this.#remove(path));
    for (const [path, saved] of this.#saved) {
      // Without its folder a protected path has no effect: the command has deleted or moved a whole folder.
      if (isSame(path, saved) || !this.#isInRealFolder(dirname(path))) continue;
      if (this.#restore(path, saved)) restored.push(path);
    }
    const isKnown = (path: string): boolean => guarded.some((known) => isInside(path, known));
    for (const path of [...scan.guarded, ...this.#createdInRepositories()])
      if (!isKnown(path) && mayWrite(path) && exists(path)) removed.push(this.#remove(path));
    if (restored.length + removed.length > 0) scan.refresh();
    return { restored, removed, keptIn: this.#kept };
  }

  #save(path: string): void {
    if (this.#saved.size >= MAX_FILES) return;
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (!info) return;
    // An engine with mounts protects a path, not a file that has a further name elsewhere.
    const isProtected = this.#options.isProtected && (info.isDirectory() || info.nlink === 1);
    const saved = isProtected ? undefined : read(path);
    if (saved) this.#saved.set(path, saved);
    if (info.isDirectory()) for (const name of namesIn(path)) this.#save(join(path, name));
  }

  *#createdInGuarded(): Iterable<string> {
    for (const [path, saved] of [...this.#saved]) {
      if (saved.kind !== "folder" || !this.#isInRealFolder(path)) continue;
      for (const name of namesIn(path)) if (!this.#saved.has(join(path, name))) yield join(path, name);
    }
  }

  /** A new repository is kept, without hooks and without a configuration that names programs. */
  #createdInRepositories(): string[] {
    const { scan, repositories } = this.#options;
    return scan.repositories.flatMap((repository) => {
      const found = guardedInRepositories([repository]);
      if (repositories.includes(repository)) return found;
      const folder = dirname(repository);
      const isPlain = isPlainRepository(folder, folder);
      return found.flatMap((path) => {
        if (basename(path) === "hooks")
          return namesIn(path)
            .filter((name) => !name.endsWith(".sample"))
            .map((name) => join(path, name));
        return basename(path) === "info" || isPlain ? [] : [path];
      });
    });
  }

  #restore(path: string, saved: Saved): boolean {
    // It cannot be restored, so it is only moved away if it is another file now.
    if (saved.kind === "large file") return false;
    if (exists(path)) this.#moveAway(path);
    if (saved.kind === "folder") mkdirSync(path);
    else if (saved.kind === "link") symlinkSync(saved.target, path);
    else {
      writeFileSync(path, saved.content, { mode: saved.mode, flag: "wx" });
      chmodSync(path, saved.mode);
    }
    return true;
  }

  #remove(path: string): string {
    this.#moveAway(path);
    return path;
  }

  /**
   * Whether the folder and its parents are folders, not links: a link would redirect what is restored. Checked up to the
   * workspace; above it the command could not change anything.
   */
  #isInRealFolder(folder: string): boolean {
    const { root } = this.#options.scan;
    for (let at = folder; at !== root && isInside(at, root); at = dirname(at))
      if (!lstatSync(at, { throwIfNoEntry: false })?.isDirectory()) return false;
    return true;
  }

  #moveAway(path: string): void {
    this.#kept ??= join(
      this.#options.keepIn(),
      `${new Date().toISOString().replaceAll(":", "-")}-${randomUUID().slice(0, 8)}`,
    );
    const target = join(this.#kept, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    const free = exists(target) ? `${target}.${randomUUID().slice(0, 8)}` : target;
    try {
      renameSync(path, free);
    } catch (error) {
      if (errorCode(error) !== "EXDEV") throw error;
      cpSync(path, free, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
      rmSync(path, { recursive: true, force: true });
    }
  }
}

function read(path: string): Saved | undefined {
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (!info) return undefined;
  if (info.isDirectory()) return { kind: "folder" };
  if (info.isSymbolicLink()) return { kind: "link", target: readlinkSync(path) };
  const identity = [info.dev, info.ino, info.size, info.mtimeMs].join(":");
  if (!info.isFile() || info.size > MAX_FILE_BYTES) return { kind: "large file", identity };
  try {
    return { kind: "file", content: readFileSync(path), mode: info.mode & 0o7777 };
  } catch {
    return { kind: "large file", identity };
  }
}

function isSame(path: string, saved: Saved): boolean {
  const now = read(path);
  if (now?.kind === "file" && saved.kind === "file")
    return now.mode === saved.mode && now.content.equals(saved.content);
  return JSON.stringify(now) === JSON.stringify(saved);
}

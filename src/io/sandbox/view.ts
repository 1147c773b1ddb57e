import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../core/error.ts";
import { isPlainRepository } from "../shell/read-only-git.ts";
import { checkPath, isInside, type PathPolicy } from "../files/path-policy.ts";
import { hashOf } from "../files/undo-store.ts";
import { buildOpaqueTable, type Overlay } from "./build-table.ts";
import { runSync } from "./engines.ts";
import { collectEffects, type Effect } from "./effects.ts";
import { isRunByGit } from "./guard.ts";
import type { Engine } from "./self-test.ts";
import type { WorkspaceScan } from "./workspace-scan.ts";

/** What a command did in a view. */
export interface ViewEffects {
  effects: Effect[];
  /** New contents of files, by the path of the effect. */
  contents: ReadonlyMap<string, Buffer>;
  /** Paths whose content must not be shown. */
  secrets: ReadonlySet<string>;
  /** Real paths that it changed although commands must not. They are no effects. */
  guarded: readonly string[];
}

interface ViewOverlay extends Overlay {
  /** `cache`: what is written there is lost. */
  use: "workspace" | "temporary" | "cache";
}

/** A command may fill this much of the disk before it is stopped. */
const MAX_DISK_BYTES = 1024 * 1024 * 1024;
/** A single file that a previewed command writes. */
export const MAX_VIEW_FILE_BYTES = 64 * 1024 * 1024;

/** The private folder of one view: the changes that a command makes to folders it is shown. */
export class ViewFolder {
  readonly path: string;
  readonly #overlays: ViewOverlay[] = [];
  readonly #freeAtStart: number;

  /** Confined commands must not be able to reach `base`. */
  constructor(base: string) {
    mkdirSync(base, { recursive: true, mode: 0o700 });
    removeAbandoned(base);
    this.path = takeSlot(base);
    this.#freeAtStart = freeBytes(this.path);
  }

  get overlays(): readonly Overlay[] {
    return this.#overlays;
  }

  add(lower: string, use: ViewOverlay["use"]): void {
    if (this.#overlays.some((known) => isInside(lower, known.lower))) return;
    const number = this.#overlays.length;
    const [upper, work] = [join(this.path, `upper-${number}`), join(this.path, `work-${number}`)];
    for (const path of [upper, work]) mkdirSync(path, { mode: 0o700 });
    // The view shows the owner and the mode of the upper folder.
    const { mode, uid, gid } = lstatSync(lower);
    if (process.geteuid?.() === 0) chownSync(upper, uid, gid);
    chmodSync(upper, mode & 0o7777);
    this.#overlays.push({ lower, upper, work, use });
  }

  /** Whether the command fills the disk. */
  get isTooLarge(): boolean {
    return this.#freeAtStart - freeBytes(this.path) > MAX_DISK_BYTES;
  }

  /** Throws `UnrecordableEffect`. */
  collect(engine: Engine, { scan, policy }: { scan: WorkspaceScan; policy: PathPolicy }): ViewEffects {
    const contents = new Map<string, Buffer>();
    const overlays = this.#overlays.filter(({ use }) => use !== "cache");
    const effects = collectEffects({
      overlays: overlays.map(({ lower, upper, use }) => ({ lower, upper, isTemporary: use === "temporary" })),
      opaqueAmong: (folders) => this.#opaqueAmong(folders, engine),
      keep: ({ path }, bytes) => void contents.set(path, bytes),
    });
    const guarded: string[] = [];
    const kept = effects.filter(({ path, isTemporary }) => {
      const isAllowed = isTemporary || !this.#isGuarded(path, { scan, policy });
      if (!isAllowed) guarded.push(path);
      return isAllowed;
    });
    return { effects: kept, contents, secrets: secretsAmong(kept, { scan, policy }), guarded };
  }

  /** What cannot be removed now is removed with abandoned folders. */
  async remove(): Promise<void> {
    // Another view can take its place at once.
    const removed = `${this.path}-${randomUUID()}`;
    renameSync(this.path, removed);
    await rm(removed, { recursive: true, force: true }).catch(() => removeFolder(removed));
  }

  /** Node cannot read attributes of files, so the launcher does. */
  #opaqueAmong(folders: readonly string[], { runner, machine }: Engine): Set<string> {
    const table = join(this.path, "opaque.table");
    writeFileSync(table, buildOpaqueTable(machine, folders), { mode: 0o600 });
    const { status, stdout } = runSync([...runner, table, "/bin/true"]);
    if (status !== 0 || stdout.length !== folders.length) throw new Error("The layers of a view cannot be compared");
    return new Set(folders.filter((_, index) => stdout[index] === "y"));
  }

  #isGuarded(path: string, { scan, policy }: { scan: WorkspaceScan; policy: PathPolicy }): boolean {
    const [, repository] = /^(.*?\/\.git)(?:\/|$)/.exec(path.slice(policy.workspace.length)) ?? [];
    if (repository !== undefined) {
      const folder = policy.workspace + repository;
      const below = path.slice(folder.length + 1);
      if (scan.repositories.includes(folder)) return isRunByGit(below);
      return this.#isGuardedInNew(folder, below);
    }
    const isSecret = checkPath(policy, path, "read")?.reason === "protected";
    return !isSecret && checkPath(policy, path, "write") !== null;
  }

  /** A new repository is kept, without hooks and without a configuration that names programs. */
  #isGuardedInNew(repository: string, below: string): boolean {
    const overlay = this.#overlays.find(({ lower }) => isInside(repository, lower));
    const upper = overlay && overlay.upper + repository.slice(overlay.lower.length);
    // Git takes a file of this name as the way to a repository elsewhere.
    if (upper === undefined || !lstatSync(upper, { throwIfNoEntry: false })?.isDirectory()) return true;
    if (below.startsWith("hooks/")) return !below.endsWith(".sample");
    const folder = join(upper, "..");
    return isRunByGit(below) && !/^(?:info|hooks)(?:\/|$)/.test(below) && !isPlainRepository(folder, folder);
  }
}

/** Secrets by their name, and files with the content of one. */
function secretsAmong(
  effects: readonly Effect[],
  { scan, policy }: { scan: WorkspaceScan; policy: PathPolicy },
): Set<string> {
  const sizes = new Map<number, string[]>();
  for (const path of scan.secrets) {
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info?.isFile() && info.size > 0) sizes.set(info.size, [...(sizes.get(info.size) ?? []), path]);
  }
  const hasSecret = ({ before, after }: Effect): boolean =>
    [before, after].some((state) => {
      if (state.kind !== "file") return false;
      return (sizes.get(state.size) ?? []).some((path) => hashOf(readFileSync(path)) === state.hash);
    });
  const isSecret = (effect: Effect): boolean =>
    checkPath(policy, effect.path, "read")?.reason === "protected" || hasSecret(effect);
  return new Set(effects.filter(isSecret).map(({ path }) => path));
}

/** Mount points inside a folder, which a view of it would not show. */
export function mountsInside(folder: string): string[] {
  const unescape = (text: string): string =>
    text.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => unescape(line.split(" ")[4] ?? ""))
    .filter((path) => path !== folder && isInside(path, folder));
}

const PREFIX = "view-";
const MAX_VIEWS = 1000;

/** The same names again and again, so tables that name them can be used again. */
function takeSlot(base: string): string {
  for (let number = 0; number < MAX_VIEWS; number++) {
    const path = join(base, `${PREFIX}${number}`);
    try {
      mkdirSync(path, { mode: 0o700 });
      return path;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
  throw new Error(`There are ${MAX_VIEWS} views`);
}

/** Longer than any preview takes. */
const ABANDONED_MS = 60 * 60_000;

/** What killed processes left. */
function removeAbandoned(base: string): void {
  for (const name of readdirSync(base)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(base, name);
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info && Date.now() - info.mtimeMs > ABANDONED_MS) removeFolder(path);
  }
}

/** Also folders that the command has closed for its own user. */
function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    openFolders(path);
    rmSync(path, { recursive: true, force: true });
  }
}

function openFolders(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) openFolders(join(folder, entry.name));
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

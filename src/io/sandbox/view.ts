import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../../core/error.ts";
import { readProcess } from "../shell/process-tree.ts";
import { isPlainRepository } from "../shell/read-only-git.ts";
import { checkPath, isInside, type PathPolicy } from "../files/path-policy.ts";
import { hashOf } from "../files/undo-store.ts";
import {
  type Bind,
  buildOpaqueTable,
  type CoveredFolder,
  type OutsideOverlay,
  type Overlay,
  type WatchedPlaceholders,
} from "./build-table.ts";
import { runSync } from "./engines.ts";
import { collectEffects, type Effect, UnrecordableEffect } from "./effects.ts";
import { isRunByGit } from "./guard.ts";
import { isCache, noiseAt, outsideFolders, writtenToCovered } from "./outside.ts";
import { outermost } from "./profiles.ts";
import {
  type LauncherReport,
  readLauncherReport,
  refusalsInOutput,
  type Refusal,
  type RefusalReport,
  type RefusalReporting,
  refusedCalls,
  refusedHidden,
  refusedNetwork,
} from "./refusals.ts";
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
  /** Real paths of which it may have changed attributes, or the time of a folder. They are no effects. */
  unkept: readonly string[];
}

/** Hidden paths that a command has used, as real paths. */
export interface HiddenUse {
  /** It may use them after its approval, and may do something else then. */
  secrets: readonly string[];
  /** It may never use them. */
  denied: readonly string[];
}

/** The kernel reports no attempt to remove a placeholder, or to open a name that its folder does not have. */
const FAILED_ON_PLACEHOLDER = /\bEBUSY\b|resource busy|\bENOENT\b|No such file/i;

/** What a program ran, and what it may use; see `refusalsInOutput`. */
export interface RunInView {
  command: readonly string[];
  output: string;
  readable: readonly string[];
  home: string;
  covered?: CoveredFolder;
}

/** Keeps programs from writing what only saves them time. */
const QUIET = { GIT_OPTIONAL_LOCKS: "0", PYTHONDONTWRITEBYTECODE: "1", npm_config_update_notifier: "false" };
/** The launcher has this many descriptors for mounts in one folder. */
const MAX_INNER_MOUNTS = 16;

interface Placeholder extends Bind {
  /** How it was before the run. */
  changedAt: number;
}

interface ViewOverlay extends Overlay {
  /** `cache`: what is written there is lost. */
  use: "workspace" | "temporary" | "cache";
  /** The time of the upper folder before the run. */
  startedAt: number;
}

/** A command may fill this much of the disk before it is stopped. */
const MAX_DISK_BYTES = 1024 * 1024 * 1024;
const MAX_DISK_FILES = 200_000;
/** A single file that a previewed command writes. */
export const MAX_VIEW_FILE_BYTES = 64 * 1024 * 1024;

/** The private folder of one view: the changes that a command makes to folders it is shown. */
export class ViewFolder {
  readonly path: string;
  readonly #overlays: ViewOverlay[] = [];
  readonly #outside: OutsideOverlay[] = [];
  readonly #placeholders: Placeholder[] = [];
  readonly #reporting: RefusalReporting;
  readonly #atStart: { freeBytes: number; freeFiles: number };
  #renamed: string | undefined;

  /** Confined commands must not be able to reach `base`. */
  constructor(base: string, reporting: RefusalReporting) {
    this.#reporting = reporting;
    mkdirSync(base, { recursive: true, mode: 0o700 });
    removeAbandonedViews(base);
    this.path = takeSlot(base);
    writeFileSync(join(this.path, OWNER), ownerText(process.pid), { mode: 0o600 });
    this.#atStart = freeSpace(this.path);
  }

  get overlays(): readonly Overlay[] {
    return this.#overlays;
  }

  get outside(): readonly OutsideOverlay[] {
    return this.#outside;
  }

  get isReported(): boolean {
    return this.#reporting.isReported;
  }

  /** What the command writes into the home folder, if that is covered. */
  get coverFolder(): string {
    return join(this.path, "home");
  }

  get env(): Readonly<Record<string, string>> {
    return this.isReported ? QUIET : {};
  }

  add(lower: string, use: ViewOverlay["use"]): void {
    if (this.#overlays.some((known) => isInside(lower, known.lower))) return;
    const overlay = this.#makeOverlay(lower, `${this.#overlays.length}`);
    this.#overlays.push({ ...overlay, use, startedAt: lstatSync(overlay.upper).mtimeMs });
  }

  /** Lets the command write outside of the workspace, so that it is noticed. Nothing of it is kept. */
  addOutside(covered: CoveredFolder | undefined): void {
    if (!this.isReported) return;
    mkdirSync(this.coverFolder, { mode: 0o755 });
    const shown = this.#overlays.map(({ lower }) => lower);
    const state = dirname(dirname(dirname(this.path)));
    for (const lower of outsideFolders({ shown, state, covered: covered?.path })) {
      const inner = outermost([...mountsInside(lower), ...shown.filter((path) => isInside(path, lower))]);
      if (inner.length > MAX_INNER_MOUNTS) continue;
      this.#outside.push({ ...this.#makeOverlay(lower, `outside-${this.#outside.length}`), inner });
    }
  }

  #makeOverlay(lower: string, name: string): Overlay {
    const [upper, work] = [join(this.path, `upper-${name}`), join(this.path, `work-${name}`)];
    for (const path of [upper, work]) mkdirSync(path, { mode: 0o700 });
    // The view shows the owner and the mode of the upper folder.
    const { mode, uid, gid } = lstatSync(lower);
    if (process.geteuid?.() === 0) chownSync(upper, uid, gid);
    chmodSync(upper, mode & 0o7777);
    return { lower, upper, work };
  }

  /** Shows nothing there. `isReadOnly`: a change fails, otherwise it is noticed. `folders`: empty ones in it. */
  hide(path: string, { isReadOnly, folders = [] }: Pick<Bind, "isReadOnly"> & { folders?: readonly string[] }): void {
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (!info) return;
    const from = join(this.path, `hidden-${this.#placeholders.length}`);
    if (info.isDirectory()) for (const name of ["", ...folders]) mkdirSync(join(from, name));
    else writeFileSync(from, "");
    if (process.geteuid?.() === 0) chownSync(from, info.uid, info.gid);
    // Only what can be opened is noticed.
    chmodSync(from, (info.mode & 0o777) | (info.isDirectory() ? 0o555 : 0o444));
    this.#placeholders.push({ from, to: path, isReadOnly, changedAt: lstatSync(from).ctimeMs });
  }

  get watched(): WatchedPlaceholders {
    return { binds: this.#placeholders, report: join(this.path, "used"), isReported: this.isReported };
  }

  get #report(): LauncherReport | undefined {
    return readLauncherReport(this.watched.report);
  }

  /** After the run: see `CommandView`. */
  refusals(engine: Engine, run: RunInView): RefusalReport | undefined {
    const report = this.isReported ? this.#report : undefined;
    if (!report) return undefined;
    const { used } = report;
    const hidden = this.#placeholders
      .filter((_, index) => used?.has(index))
      .map(({ to, from, changedAt }) => ({ path: to, hasChanged: lstatSync(from).ctimeMs !== changedAt }));
    const found: Refusal[] = [
      ...refusedHidden(hidden, run.command),
      ...refusedNetwork(report),
      ...refusedCalls(report, engine.machine.architecture),
    ];
    const written = this.#writtenOutside(engine, run);
    found.push(...written.refusals);
    if (!used) found.push({ kind: "hidden", subject: "more than can be listed", count: 1 });
    for (const each of refusalsInOutput(run.output, run))
      if (!found.some(({ subject }) => isInside(each.subject, subject))) found.push(each);
    return { refusals: found, thrownAway: written.thrownAway };
  }

  #writtenOutside(engine: Engine, { home, covered }: RunInView): RefusalReport {
    const written = covered ? writtenToCovered({ ...covered, writtenTo: this.coverFolder }) : [];
    const deleted = new Set<string>();
    const caches = this.#overlays.filter(({ use }) => use === "cache");
    for (const { lower, upper } of [...this.#outside, ...caches]) {
      if (readdirSync(upper).length === 0) continue;
      try {
        const effects = collectEffects({
          overlays: [{ lower, upper, isTemporary: false }],
          opaqueAmong: (folders) => this.#opaqueAmong(folders, engine),
          keep: () => undefined,
        });
        written.push(...effects.map(({ path }) => path));
        for (const { path, after } of effects) if (after.kind === "absent") deleted.add(path);
      } catch (error) {
        if (!(error instanceof UnrecordableEffect)) throw error;
        written.push(lower);
      }
    }
    const sorted = written.toSorted();
    // A folder is named only if nothing in it is, whose names follow its own in this order.
    const leaves = sorted.filter(
      (path) => deleted.has(path) || !sorted.some((other) => other !== path && isInside(other, path)),
    );
    const thrownAway = new Set<string>();
    const refusals = leaves.flatMap((subject): Refusal[] => {
      const noise = noiseAt(subject, home, deleted.has(subject));
      if (noise === undefined) return [{ kind: isCache(subject, home) ? "cache" : "outside", subject, count: 1 }];
      thrownAway.add(noise);
      return [];
    });
    return { refusals, thrownAway: [...thrownAway] };
  }

  /** After the run, with what it printed: see `CommandView`. */
  used(output: string): HiddenUse | undefined {
    const numbers = this.#report?.used;
    if (!numbers) return undefined;
    const failures = output.split("\n").filter((line) => FAILED_ON_PLACEHOLDER.test(line));
    const used = this.#placeholders.filter(
      ({ to }, index) => numbers.has(index) || failures.some((line) => line.includes(basename(to))),
    );
    const pathsOf = (isDenied: boolean): string[] =>
      used.filter(({ isReadOnly }) => isReadOnly === isDenied).map(({ to }) => to);
    return { secrets: pathsOf(false), denied: pathsOf(true) };
  }

  /** Whether the command fills the disk. */
  get isTooLarge(): boolean {
    const { freeBytes, freeFiles } = freeSpace(this.path);
    return this.#atStart.freeBytes - freeBytes > MAX_DISK_BYTES || this.#atStart.freeFiles - freeFiles > MAX_DISK_FILES;
  }

  /** Throws `UnrecordableEffect`. */
  collect(engine: Engine, { scan, policy }: { scan: WorkspaceScan; policy: PathPolicy }): ViewEffects {
    const contents = new Map<string, Buffer>();
    const unkept: string[] = [];
    const overlays = this.#overlays.filter(({ use }) => use !== "cache");
    const effects = collectEffects({
      overlays: overlays.map(({ use, ...overlay }) => ({ ...overlay, isTemporary: use === "temporary" })),
      opaqueAmong: (folders) => this.#opaqueAmong(folders, engine),
      keep: ({ path }, bytes) => void contents.set(path, bytes),
      unkept: (path) => unkept.push(path),
    });
    const guarded: string[] = [];
    const kept = effects.filter(({ path, isTemporary }) => {
      const isAllowed = isTemporary || !this.#isGuarded(path, { scan, policy });
      if (!isAllowed) guarded.push(path);
      return isAllowed;
    });
    return { effects: kept, contents, secrets: secretsAmong(kept, { scan, policy }), guarded, unkept };
  }

  /** What cannot be removed now is removed with abandoned folders. */
  async remove(): Promise<void> {
    if (this.#renamed !== undefined) return;
    // Another view can take its place at once.
    const removed = `${this.path}-${randomUUID()}`;
    renameSync(this.path, removed);
    this.#renamed = removed;
    await rm(removed, { recursive: true, force: true }).catch(() => this.removeNow());
  }

  /** The same, before this process ends. */
  removeNow(): void {
    removeFolder(this.#renamed ?? this.path);
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

/** The file of a view that names its process. */
const OWNER = "owner";
/** For views whose process cannot be known. Longer than any preview takes. */
const ABANDONED_MS = 60 * 60_000;

/** Removes what processes left that were killed. */
export function removeAbandonedViews(base: string): void {
  if (!existsSync(base)) return;
  for (const name of readdirSync(base)) {
    const path = join(base, name);
    if (name.startsWith(PREFIX) && isAbandoned(path)) removeFolder(path);
  }
}

function isAbandoned(view: string): boolean {
  const info = lstatSync(view, { throwIfNoEntry: false });
  if (!info) return false;
  try {
    const text = readFileSync(join(view, OWNER), "utf8");
    const [namespace, pid] = text.split(" ");
    // The number of a process means nothing in another container.
    if (namespace === processNamespace()) return text !== ownerText(Number(pid));
  } catch {
    // It is being created or removed, or an earlier version created it.
  }
  return Date.now() - info.mtimeMs > ABANDONED_MS;
}

/** With its start time, since numbers of processes are used again. */
function ownerText(pid: number): string {
  return `${processNamespace()} ${pid} ${readProcess(pid)?.startTime ?? "gone"}`;
}

function processNamespace(): string {
  return readlinkSync("/proc/self/ns/pid");
}

/** Also folders that the command has closed for its own user, and paths that are longer than a call may name. */
function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    runSync(["/bin/chmod", "-R", "u+rwx", path]);
    runSync(["/bin/rm", "-rf", path]);
    rmSync(path, { recursive: true, force: true });
  }
}

function freeSpace(path: string): { freeBytes: number; freeFiles: number } {
  const { bavail, bsize, ffree } = statfsSync(path);
  return { freeBytes: bavail * bsize, freeFiles: ffree };
}

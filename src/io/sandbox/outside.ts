import { accessSync, constants, readdirSync, statfsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isInside } from "../files/path-policy.ts";
import type { CoveredFolder } from "./build-table.ts";
import { cacheFolders, isFolder, namesInHome, outermost, realFolderOrFile } from "./profiles.ts";

export interface CoverOptions {
  read: readonly string[];
  write: readonly string[];
  cwd: string;
  /** The folder for temporary files of every program. */
  temporary: string;
}

/** Only what the command may use, also under the names that lead there. Undefined if that is the whole folder. */
export function coveredHome(home: string, { read, write, cwd, temporary }: CoverOptions): CoveredFolder | undefined {
  const used = [...read, ...write, cwd];
  const [path] = realFolderOrFile(home);
  if (path === undefined || !isFolder("/dev/shm") || used.some((root) => isInside(path, root))) return undefined;
  // The folder for temporary files is covered as a whole.
  if (write.length > 0 && isInside(path, temporary)) return undefined;
  const shown = outermost(used.filter((root) => isInside(root, path))).map((from) => ({ from, to: from }));
  for (const name of namesInHome({ home: path, path: process.env["PATH"] ?? "" })) {
    const [from] = realFolderOrFile(name);
    const isShown = shown.some(({ to }) => isInside(name, to));
    if (from !== undefined && from !== name && !isShown) shown.push({ from, to: name });
  }
  return { path, shown: shown.map((each) => ({ ...each, isFolder: isFolder(each.from) })) };
}

/** A view has its own of these, or the kernel makes them. */
const NOT_OVERLAID = new Set(["/proc", "/sys", "/dev", "/tmp", "/lost+found"]);
/** Below these an ordinary user may have folders that it can write. */
const MAY_BE_WRITABLE = ["/var/tmp", "/usr/local", "/opt", "/srv"];
/** ext, XFS, Btrfs, tmpfs, overlay, F2FS: an overlay of another file system may be refused. */
const LOWER_TYPES = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010]);

export interface OutsideOptions {
  /** Folders that the view has overlays of already. */
  shown: readonly string[];
  /** The folder that holds the view. It cannot be inside a folder that it holds the changes of. */
  state: string;
  /** The home folder, if it is covered. */
  covered: string | undefined;
}

/**
 * The folders outside of the workspace that this user can really write. Owners are compared here, and not in the user
 * namespace, where those of other users look alike.
 */
export function outsideFolders({ shown, state, covered }: OutsideOptions): string[] {
  const isRoot = process.geteuid?.() === 0;
  const candidates = foldersIn("/").filter((path) => !NOT_OVERLAID.has(path));
  if (!isRoot) candidates.push(...MAY_BE_WRITABLE, ...shown.flatMap(foldersAbove));
  const split = (path: string): string[] => {
    if (NOT_OVERLAID.has(path) || shown.some((root) => isInside(path, root))) return [];
    if (covered !== undefined && isInside(path, covered)) return [];
    if (isInside(path, state)) return [];
    if (isInside(state, path)) return foldersIn(path).flatMap(split);
    return isWritable(path) ? [path] : [];
  };
  return outermost([...new Set(candidates.flatMap(split))]);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return isFolder(path) && LOWER_TYPES.has(statfsSync(path).type);
  } catch {
    return false;
  }
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === "/" ? [] : [parent, ...foldersAbove(parent)];
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

/** What a command wrote into a covered folder, besides the places of what is shown in it. */
export function writtenToCovered({ path, writtenTo, shown }: CoveredFolder): string[] {
  if (writtenTo === undefined) return [];
  const places = new Set(shown.map(({ to }) => to));
  const around = new Set([...places].flatMap(foldersAbove));
  const written = (folder: string, below: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const at = join(below, entry.name);
      if (places.has(at)) return [];
      const inside = entry.isDirectory() ? written(join(folder, entry.name), at) : [];
      return inside.length > 0 || around.has(at) ? inside : [at];
    });
  return written(writtenTo, path);
}

/** What programs write below caches whenever they run, and write again if it is gone. */
const NOISE = new RegExp(
  `^(?:${[
    String.raw`\.npm/(?:_logs|_cacache/tmp|_update-notifier-last-checked)`,
    String.raw`\.cache/(?:go-build|ccache|sccache|fontconfig|matplotlib|mesa_shader_cache|node/corepack|ruff|mypy|black|pylint|prettier|eslint)`,
    String.raw`\.cache/pip/selfcheck|\.cache/uv/\.lock|\.cargo/registry/\.package-cache`,
  ].join("|")})(?=/|$)`,
);
const REMOVED_AT_WILL = /^\.npm\/(?:_logs|_cacache\/tmp)\//;

/** The folder or file to name of what may be lost without a question. Undefined: somebody may miss it. */
export function noiseAt(path: string, home: string, isDeleted = false): string | undefined {
  const compiled = /^.*?\/__pycache__(?=\/|$)/.exec(path)?.[0];
  if (!isInside(path, home)) return isDeleted ? undefined : compiled;
  const name = relative(home, path);
  const noise = NOISE.exec(name)?.[0];
  if (noise === undefined) return isDeleted ? undefined : compiled;
  return !isDeleted || REMOVED_AT_WILL.test(name) ? join(home, noise) : undefined;
}

/** Whether a package manager or another program can make again what is there. */
export function isCache(path: string, home: string): boolean {
  return [...cacheFolders(home), join(home, ".cache")].some((folder) => isInside(path, folder));
}

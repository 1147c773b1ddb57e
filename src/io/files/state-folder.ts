import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import path from "node:path";
import { toolError } from "../../core/error.ts";
import { findStateRoot, type StateFolderOptions } from "./own-folders.ts";

export type { StateFolderOptions } from "./own-folders.ts";

/** As `findStateRoot`; throws if `HAFT_STATE_DIR` is not an absolute path. */
export function stateRootOf(options: StateFolderOptions = {}): string {
  const root = findStateRoot(options);
  if (root !== undefined) return root;
  const { env = process.env } = options;
  throw toolError(
    "invalid_input",
    `HAFT_STATE_DIR is ${JSON.stringify(env["HAFT_STATE_DIR"])}, which is not an absolute path`,
    { next: "Set it to the absolute path of a folder, or unset it." },
  );
}

/**
 * The folder in which Haft keeps what it writes for itself about a workspace: its store, spilled outputs and saved rules.
 * One folder for all spellings of the workspace's path. Creates nothing; throws if the workspace does not exist.
 */
export function stateFolderOf(workspace: string, options: StateFolderOptions = {}): string {
  const { platform = process.platform } = options;
  // The native form also corrects upper and lower case if the file system ignores it.
  const real = realpathSync.native(workspace);
  const name =
    path
      .basename(real)
      .replaceAll(/[^A-Za-z0-9._-]/g, "_")
      .slice(0, 40) || "root";
  const hash = createHash("sha256").update(real).digest("hex").slice(0, 16);
  return (platform === "win32" ? path.win32 : path.posix).join(stateRootOf(options), `${name}-${hash}`);
}

/** Creates the folder if it is missing, for this user only. A link is refused: it would redirect writes. */
export function ensureStateFolder(folder: string): void {
  if (!path.isAbsolute(folder)) {
    throw toolError("invalid_input", `The state folder ${JSON.stringify(folder)} is not an absolute path`);
  }
  try {
    makeFolder(folder);
    const info = lstatSync(folder);
    if (!info.isDirectory()) throw linkedState(folder);
    restrictMode(folder, 0o700);
  } catch (error) {
    throw explainStateFailure(error, folder);
  }
}

/** Not `recursive`: Node's loop never ends on file systems such as /proc that answer ENOENT for a new folder. */
function makeFolder(folder: string): void {
  const isThere = (place: string) => statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (isThere(folder)) return;
    const parent = path.dirname(folder);
    if (Object(error).code !== "ENOENT" || parent === folder || isThere(parent)) throw error;
    makeFolder(parent);
    makeFolder(folder);
  }
}

/** Takes away rights of others. */
export function restrictMode(file: string, mode: number): void {
  if (process.platform === "win32" || (lstatSync(file).mode & 0o777 & ~mode) === 0) return;
  chmodSync(file, mode);
}

/** The store, backups and long outputs need some space. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;

/** Whether the disk of a folder has no space for the store. False if that is not known. */
export async function isDiskFull(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize < MIN_FREE_BYTES;
  } catch {
    return false;
  }
}

const SET_ANOTHER = "set HAFT_STATE_DIR to the absolute path of a folder that this user may write";

const ADVICE: Record<string, readonly [what: string, next: string]> = {
  EACCES: ["cannot be written: permission denied", `Give this user the right to write there, or ${SET_ANOTHER}.`],
  EPERM: ["cannot be written: permission denied", `Give this user the right to write there, or ${SET_ANOTHER}.`],
  EROFS: ["is on a read-only file system", `To keep the state elsewhere, ${SET_ANOTHER}.`],
  ENOSPC: ["cannot be written: the disk is full", `Free some space, or ${SET_ANOTHER}.`],
  EDQUOT: ["cannot be written: the disk quota is used up", `Free some space, or ${SET_ANOTHER}.`],
  EEXIST: ["is not a folder", `Remove or rename the file of that name, or ${SET_ANOTHER}.`],
  ENOENT: ["cannot be created", `To keep the state elsewhere, ${SET_ANOTHER}.`],
  ENOTDIR: ["is below a file", `Remove or rename that file, or ${SET_ANOTHER}.`],
};

/** A file system error with the folder and the setting that moves it; other errors as they are. */
export function explainStateFailure(error: unknown, folder: string): unknown {
  const known = ADVICE[String(Object(error).code)];
  if (!known) return error;
  const [what, next] = known;
  return toolError("io_error", `The state folder ${folder} ${what}`, { next, cause: error });
}

export function linkedState(file: string): Error {
  return toolError("path_denied", `${file} is a link or not what Haft expects there, so nothing is written to it`, {
    next: `Remove it, or ${SET_ANOTHER}.`,
  });
}

/** What `state.json` holds. The file is there from the first use on. */
export interface StateRecord {
  version: 1;
  /** The real path of the workspace, for people who look into the folder. */
  workspace: string;
  createdAt: string;
  /** The folder of an earlier version, `<workspace>/.haft`, whose content was copied. */
  migration?: {
    /** Its new name beside the old one; equal to the old name if it could not be renamed. */
    renamedTo: string;
    /** If missing, the copy is not finished. */
    completedAt?: string;
  };
}

/** The names in a state folder. */
export const STATE_FILES = {
  record: "state.json",
  store: "haft.db",
  /** Written when the store is created. */
  marker: "store.json",
  backups: "backups",
  /** Audit segments. */
  archives: "archives",
  rules: "config.yml",
  spills: "spill",
  /** What commands did before their approval. */
  previews: "previews",
  /** A folder for each MCP server, and one for hooks. */
  programs: "programs",
} as const;

export function readStateRecord(folder: string): StateRecord | undefined {
  const file = path.join(folder, STATE_FILES.record);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(String(Object(error).code))) return undefined;
    throw explainStateFailure(error, folder);
  }
  try {
    const record = JSON.parse(text) as StateRecord;
    if (record.version === 1) return record;
  } catch (cause) {
    throw toolError("io_error", `${file} is damaged`, { next: "Restore it from a backup, or remove it.", cause });
  }
  throw toolError("conflict", `${file} was written by a newer version of Haft`, { next: "Update Haft." });
}

/** Where earlier versions kept their state. */
export function oldStateFolderOf(workspace: string): string {
  return path.join(workspace, ".haft");
}

/** The folder of an earlier version whose content is not in the state folder yet. */
export function findUnmigratedState(workspace: string, folder: string): string | undefined {
  const record = readStateRecord(folder);
  if (record && (!record.migration || record.migration.completedAt !== undefined)) return undefined;
  const places = [record?.migration?.renamedTo, oldStateFolderOf(workspace)];
  return places.find((place) => place !== undefined && isFolder(place));
}

/** A link to a folder is not one. */
export function isFolder(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

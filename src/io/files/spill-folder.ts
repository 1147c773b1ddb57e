import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, toolError } from "../../core/error.ts";
import { createFiles, type Files } from "./files.ts";
import { createPathPolicy } from "./path-policy.ts";
import { ensureStateFolder, explainStateFailure, STATE_FILES } from "./state-folder.ts";

const ADDRESS = "spill:";
/** Earlier versions named a path in the workspace. Results that they recorded are still read. */
const OLD_ADDRESS = /^\.haft\/spill\/(?=[A-Za-z0-9_-]+\.txt$)/;
/** Kept for a week, then removed when the folder is next opened. */
const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;
/** All outputs together. For a new one the oldest are removed, and if that is not enough, it is cut. */
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;
/** The part of that which is written before the folder is measured again. */
const MEASURED_PART = 1 / 64;
/** An output that was written just now may not be complete, and its caller has not read it yet. */
const RECENT_MS = 60_000;

/** The part of a caller that owns an output. */
export interface SpillOwner {
  user?: string;
  session?: string;
  agent?: string;
}

export interface SpilledCall {
  callId: string;
  caller: SpillOwner;
}

/** A file that is written piece by piece. */
export interface SpillFile {
  /** Returns how many bytes were written: fewer if the folder is full. */
  write(chunk: Buffer): Promise<number>;
  close(): Promise<{ ref: string }>;
}

export interface SpillFolder {
  /** `ref` is an address, such as `spill:ID`, not a path. */
  save(call: SpilledCall, text: string): Promise<{ ref: string }>;
  open(call: SpilledCall): Promise<SpillFile>;
  /** For the runtime itself, which shows an output to callers that may see the call. Undefined if it is gone. */
  read(ref: string): Promise<string | undefined>;
  /** For a tool: the file with that address, if it belongs to this caller's session. */
  locate(ref: string, caller: SpillOwner): Promise<LocatedSpill>;
}

export interface LocatedSpill {
  /** These files reach nothing but the spill folder. */
  files: Files;
  name: string;
}

/** Whether a tool was given an address instead of a path. A file of such a name is reached as `./spill:…`. */
export function isSpillAddress(path: string): boolean {
  return path.startsWith(ADDRESS);
}

export interface SpillFolderOptions {
  now?: () => number;
  /** Of all outputs together. Default: 1 GiB. */
  maxTotalBytes?: number;
}

/** Outputs that were too long to show, in the state folder. `stateFolder` is called at the first use. */
export function createSpillFolder(stateFolder: () => string, options: SpillFolderOptions = {}): SpillFolder {
  const { now = Date.now, maxTotalBytes = MAX_TOTAL_BYTES } = options;
  let opened: Promise<{ folder: string; files: Files }> | undefined;

  const prepare = async () => {
    const folder = join(stateFolder(), STATE_FILES.spills);
    ensureStateFolder(folder);
    await removeOld(folder, now());
    return { folder, files: createFiles(createPathPolicy({ workspace: folder })) };
  };
  const prepared = () => {
    // A failure is not remembered: the folder may be writable again.
    opened ??= prepare().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const start = async ({ callId, caller }: SpilledCall): Promise<{ handle: FileHandle; ref: string }> => {
    const { folder } = await prepared();
    const base = `${ownerKey(caller)}-${safeName(callId)}`;
    for (let attempt = 0; ; attempt++) {
      const id = attempt === 0 ? base : `${base}-${attempt}`;
      try {
        // Never over an existing file; for this user only.
        return { handle: await open(join(folder, fileName(id)), "wx", 0o600), ref: `${ADDRESS}${id}` };
      } catch (error) {
        if (errorCode(error) !== "EEXIST" || attempt > 100) {
          throw explainStateFailure(error, folder);
        }
      }
    }
  };

  /** How many of `wanted` bytes the folder still takes. */
  const roomFor = async (wanted: number): Promise<number> => {
    const { folder } = await prepared();
    const spills = await listSpills(folder);
    let free = maxTotalBytes - spills.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { path, bytes, at } of spills.toSorted((a, b) => a.at - b.at)) {
      if (free >= wanted || now() - at < RECENT_MS) break;
      await unlink(path).catch(() => undefined);
      free += bytes;
    }
    return Math.max(0, Math.min(free, wanted));
  };

  return {
    async save(call, text) {
      const bytes = Buffer.byteLength(text);
      if ((await roomFor(bytes)) < bytes) throw tooFull(maxTotalBytes);
      const { handle, ref } = await start(call);
      try {
        await handle.writeFile(text);
      } finally {
        await handle.close();
      }
      return { ref };
    },
    async open(call) {
      const { handle, ref } = await start(call);
      let room = 0;
      return {
        async write(chunk) {
          if (room < chunk.length)
            room = await roomFor(Math.max(chunk.length, Math.floor(maxTotalBytes * MEASURED_PART)));
          const part = chunk.subarray(0, room);
          room -= part.length;
          await handle.write(part);
          return part.length;
        },
        close: async () => {
          await handle.close();
          return { ref };
        },
      };
    },
    async read(ref) {
      const name = nameOf(ref);
      if (name === undefined) return undefined;
      const { files } = await prepared();
      try {
        return (await files.readWhole(name)).bytes.toString("utf8");
      } catch (error) {
        if (errorCode(error) === "path_not_found") return undefined;
        throw error;
      }
    },
    async locate(ref, caller) {
      const name = isSpillAddress(ref) ? nameOf(ref) : undefined;
      const isOwn = ref.startsWith(`${ADDRESS}${ownerKey(caller)}-`);
      // One answer for both: whether another session has such an output is not for this one to know.
      if (name === undefined || !isOwn) throw unknownSpill(ref);
      const { files } = await prepared();
      await files.info(name).catch(() => {
        throw unknownSpill(ref);
      });
      return { files, name };
    },
  };
}

function nameOf(ref: string): string | undefined {
  if (OLD_ADDRESS.test(ref)) return ref.replace(OLD_ADDRESS, "");
  const id = isSpillAddress(ref) ? ref.slice(ADDRESS.length) : "";
  return /^[A-Za-z0-9_-]+$/.test(id) ? fileName(id) : undefined;
}

function fileName(id: string): string {
  return `${id}.txt`;
}

function unknownSpill(ref: string): Error {
  return toolError("path_not_found", `There is no output ${JSON.stringify(ref.slice(0, 200))} of this session`, {
    next: "Outputs are kept for a week, and less long if they are more than 1 GiB together. Make the call again, or request less output.",
  });
}

/** A part of the address: it shows whose output it is. */
function ownerKey({ user = "", session, agent }: SpillOwner): string {
  const owner = session === undefined ? ["agent", agent ?? ""] : ["session", session];
  return createHash("sha256")
    .update(JSON.stringify([user, ...owner]))
    .digest("hex")
    .slice(0, 16);
}

function tooFull(maxTotalBytes: number): Error {
  return toolError("io_error", `The outputs of the last minute are more than ${maxTotalBytes} bytes together`, {
    next: "Request less output, or wait a minute.",
  });
}

async function removeOld(folder: string, now: number): Promise<void> {
  for (const { path, at } of await listSpills(folder))
    if (now - at > RETENTION_MS) await unlink(path).catch(() => undefined);
}

async function listSpills(folder: string): Promise<{ path: string; bytes: number; at: number }[]> {
  const found = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info) found.push({ path, bytes: info.size, at: info.mtimeMs });
  }
  return found;
}

function safeName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 80) || "output";
}

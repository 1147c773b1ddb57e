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
  write(chunk: Buffer): Promise<void>;
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

/** Outputs that were too long to show, in the state folder. `stateFolder` is called at the first use. */
export function createSpillFolder(stateFolder: () => string, now: () => number = Date.now): SpillFolder {
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

  return {
    async save(call, text) {
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
      return {
        write: async (chunk) => void (await handle.write(chunk)),
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
    next: "Outputs are kept for a week. Make the call again, or request less output.",
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

async function removeOld(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info && now - info.mtimeMs > RETENTION_MS) await unlink(path).catch(() => undefined);
  }
}

function safeName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 80) || "output";
}

import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { type FileHandle, open, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

/** Whole outputs are kept for a week, and then given up when the folder is next opened. */
const RETENTION_MS = 7 * 24 * 60 * 60 * 1000;

/** A file that is being written piece by piece. */
export interface SpillFile {
  write(chunk: Buffer): Promise<void>;
  close(): Promise<{ ref: string }>;
}

/** Where output lies that was too long to be shown. The runtime writes here, below its own state; tools may read it. */
export interface SpillFolder {
  /** As a tool would name it: relative to the workspace. */
  save(name: string, text: string): Promise<{ ref: string }>;
  open(name: string): Promise<SpillFile>;
}

export function createSpillFolder(workspace: string, now: () => number = Date.now): SpillFolder {
  const below = join(".haft", "spill");
  const folder = join(workspace, below);
  let ready: Promise<void> | undefined;

  const start = async (name: string): Promise<{ handle: FileHandle; ref: string }> => {
    await (ready ??= prepare(folder, now()));
    for (let attempt = 0; ; attempt++) {
      const file = `${safeName(name)}${attempt === 0 ? "" : `-${attempt}`}.txt`;
      try {
        // Never over something that is there, and for nobody else's eyes.
        return { handle: await open(join(folder, file), "wx", 0o600), ref: `${below}/${file}` };
      } catch (error) {
        if ((error as { code?: unknown }).code !== "EEXIST" || attempt > 100) throw error;
      }
    }
  };

  return {
    async save(name, text) {
      const { handle, ref } = await start(name);
      try {
        await handle.writeFile(text);
      } finally {
        await handle.close();
      }
      return { ref };
    },
    async open(name) {
      const { handle, ref } = await start(name);
      return {
        write: async (chunk) => void (await handle.write(chunk)),
        close: async () => {
          await handle.close();
          return { ref };
        },
      };
    },
  };
}

/** A folder of our own: a link that somebody put in its place would lead the output elsewhere. */
async function prepare(folder: string, now: number): Promise<void> {
  const state = join(folder, "..");
  for (const path of [state, folder]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (lstatSync(path).isSymbolicLink()) throw new Error(`${path} is a link; remove it.`);
  }
  chmodSync(folder, 0o700);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info && now - info.mtimeMs > RETENTION_MS) await unlink(path).catch(() => undefined);
  }
}

function safeName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 80) || "output";
}

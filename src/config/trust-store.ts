import { mkdir, open, realpath } from "node:fs/promises";
import { join } from "node:path";
import { createFiles } from "../files/files.ts";
import { createPathPolicy } from "../files/path-policy.ts";
import { ConfigError } from "./config-problem.ts";
import { withFileLock } from "./file-lock.ts";
import { isObject } from "./read-mcp-servers.ts";
import type { UserPaths } from "./user-folder.ts";

interface TrustedFolder {
  digests: string[];
}

/** What a person agreed to, by folder: kept with the user, where no workspace can write. */
export interface TrustStore {
  /** The digests that are trusted in a folder. */
  read(folder: string): Promise<ReadonlySet<string>>;
  update(folder: string, change: (digests: ReadonlySet<string>) => Iterable<string>): Promise<void>;
}

export function openTrustStore({ folder: userFolder }: Pick<UserPaths, "folder">): TrustStore {
  const file = join(userFolder, "trust.json");
  return {
    async read(folder) {
      const folders = await readFolders(file);
      return new Set(folders.get(await realpath(folder))?.digests);
    },
    async update(folder, change) {
      await mkdir(userFolder, { recursive: true, mode: 0o700 });
      const real = await realpath(folder);
      await withFileLock(file, async () => {
        const folders = await readFolders(file);
        const digests = [...new Set(change(new Set(folders.get(real)?.digests)))].sort();
        if (digests.length > 0) folders.set(real, { digests });
        else folders.delete(real);
        const text = JSON.stringify({ version: 1, folders: Object.fromEntries(folders) }, null, 2);
        const files = createFiles(createPathPolicy({ workspace: userFolder }));
        await files.writeFileAtomic("trust.json", Buffer.from(`${text}\n`), { mode: 0o600 });
      });
    },
  };
}

/** A file that others may write, or that cannot be read, vouches for nothing: it is said, never ignored. */
async function readFolders(file: string): Promise<Map<string, TrustedFolder>> {
  const fail = (message: string, cause?: unknown) => new ConfigError([{ file, message }], { cause });
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw fail("Cannot be read. Mend its permissions, or remove it and trust your folders again.", error);
  }
  try {
    const info = await handle.stat();
    if (process.getuid && (info.uid !== process.getuid() || (info.mode & 0o022) !== 0)) {
      throw fail("Can be written by other users. Remove it, and trust your folders again.");
    }
    const parsed: unknown = JSON.parse(await handle.readFile("utf8"));
    const folders = isObject(parsed) && parsed["version"] === 1 ? parsed["folders"] : undefined;
    if (!isObject(folders))
      throw fail("Is of another version. Update Haft, or remove it and trust your folders again.");
    return new Map(
      Object.entries(folders).map(([folder, record]) => {
        const digests = isObject(record) && Array.isArray(record["digests"]) ? record["digests"] : [];
        return [folder, { digests: digests.filter((each) => typeof each === "string") }];
      }),
    );
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fail("Is damaged. Remove it, and trust your folders again.", error);
  } finally {
    await handle.close();
  }
}

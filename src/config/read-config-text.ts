import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { ConfigError } from "./config-problem.ts";
import { MAX_BYTES } from "./text-limits.ts";

/** The text of a file, or null where there is none. Throws a `ConfigError` for what is not a small text file. */
export async function readConfigText(file: string): Promise<string | null> {
  const fail = (message: string, cause?: unknown) => new ConfigError([{ file, message }], { cause });
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    // Not blocking: a pipe that somebody put there would hold the start for ever.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw fail(`Cannot be read (${code}). Mend its permissions, or remove it.`, error);
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw fail("Is not a regular file. Put a file there, or remove it.");
    if (stat.size > MAX_BYTES) throw fail(`Larger than ${MAX_BYTES} bytes. Make it smaller.`);
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    if (bytesRead > MAX_BYTES) throw fail(`Larger than ${MAX_BYTES} bytes. Make it smaller.`);
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, bytesRead));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fail("Is not text in UTF-8. Save it as UTF-8.", error);
  } finally {
    await handle.close();
  }
}

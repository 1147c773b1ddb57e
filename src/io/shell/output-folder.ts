import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The folder of the nameless files that collect the output of commands. It holds no other files, so a confined command
 * may open what is in it: its own output, through /dev/stdout. Undefined if it cannot be created for this user only.
 */
export function outputFolder(): string | undefined {
  const uid = process.geteuid?.() ?? "user";
  try {
    const folder = join(realpathSync(tmpdir()), `haft-output-${uid}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const info = lstatSync(folder);
    return info.isDirectory() && info.uid === uid && (info.mode & 0o077) === 0 ? folder : undefined;
  } catch {
    return undefined;
  }
}

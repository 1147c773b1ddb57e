import { readdirSync } from "node:fs";
import { join } from "node:path";
import { checkPath, type PathPolicy } from "./path-policy.ts";

/** More is not looked at while a call waits to be judged. */
const MAX_ENTRIES = 2000;

/**
 * Whether something below a real path may not be read, as far as a short look tells; true also where there is too much
 * to look at, and where a link leads on. For deciding whether to ask, never for opening.
 */
export function containsDenied(policy: PathPolicy, realPath: string): boolean {
  const waiting = [realPath];
  let seen = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (++seen > MAX_ENTRIES || entry.isSymbolicLink() || checkPath(policy, path, "read") !== null) return true;
      if (entry.isDirectory()) waiting.push(path);
    }
  }
  return false;
}

/** Nothing lies below a file, and nothing is read from a folder that cannot be opened. */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

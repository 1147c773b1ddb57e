import { dirname } from "node:path";
import type { FileAccess } from "./locate-entry.ts";
import { removeStaleTempFiles } from "./temporary-file.ts";

const EVERY_MS = 60 * 60 * 1000;
const MAX_REMEMBERED = 1_000;

/** Looks for strays in the folder of a write, at most once an hour for each folder. */
export function createTempFileCleaner() {
  const visited = new Map<string, number>();
  return {
    visit(real: string, { anchoring, clock }: Pick<FileAccess, "anchoring" | "clock">): void {
      const directory = dirname(real);
      const now = clock();
      const last = visited.get(directory);
      if (last !== undefined && now - last < EVERY_MS) return;
      if (visited.size >= MAX_REMEMBERED) visited.clear();
      visited.set(directory, now);
      try {
        const anchor = anchoring(directory, { directory: true });
        try {
          // A directory swapped in since is left alone.
          if (anchor.real === directory) removeStaleTempFiles(anchor, now);
        } finally {
          anchor.close();
        }
      } catch {
        // Cleaning is a courtesy: it never makes a write fail.
      }
    },
  };
}

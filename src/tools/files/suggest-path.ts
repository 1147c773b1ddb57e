import { basename, dirname } from "node:path";
import { toolError, ToolError } from "../../core/error.ts";
import { nearestNames } from "../../core/nearest-name.ts";
import type { Files } from "../../files/files.ts";

/** Fails as given; where nothing is at the path, with the names that may have been meant. */
export async function failWithSuggestion(error: unknown, files: Files, path: string): Promise<never> {
  if (!(error instanceof ToolError) || error.code !== "path_not_found") throw error;
  const near = await suggestPaths(files, path);
  if (near.length === 0) throw error;
  throw toolError("path_not_found", error.message, {
    next: `Did you mean ${near.join(" or ")}?`,
    data: { near },
    cause: error,
  });
}

/** Names beside a path that does not exist, the likeliest first; also one that differs in its kind of blanks only. */
async function suggestPaths(files: Files, path: string): Promise<string[]> {
  const folder = dirname(path);
  try {
    const names = (await files.listDirectory(folder)).map(({ name }) => name);
    const wanted = foldBlanks(basename(path));
    const alike = names.filter((name) => foldBlanks(name) === wanted);
    const near = alike.length > 0 ? alike.slice(0, 3) : nearestNames(basename(path), names);
    return near.map((name) => (folder === "." ? name : `${folder}/${name}`));
  } catch {
    return [];
  }
}

/** Screenshots of macOS have a narrow no-break space where everybody types a blank; models escape blanks. */
function foldBlanks(name: string): string {
  return name
    .replaceAll("\\ ", " ")
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .toLowerCase();
}

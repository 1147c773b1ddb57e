// Frameworks that `run.mjs` installs.
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

/** Whether this run tests the framework of that name in `frameworks/`. */
export function isWanted(framework: string): boolean {
  return (process.env["HAFT_FRAMEWORKS"] ?? "").split(" ").includes(framework);
}

/** Of the repository: also in a program that was bundled elsewhere. */
const ROOT = process.env["HAFT_ADOPTION_ROOT"] ?? join(import.meta.dirname, "..", "..");

/** Its exports, as `entry.mjs` of its folder lists them. */
export async function importFramework<Exports>(framework: string): Promise<Exports> {
  const file = join(folderOf(framework), "entry.mjs");
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Exports;
}

export function folderOf(framework: string): string {
  return join(ROOT, ".runtimes", "adoption", framework);
}

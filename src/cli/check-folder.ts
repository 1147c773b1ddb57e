import { statSync } from "node:fs";
import { UsageError } from "./usage-error.ts";

/** Before anything is opened in it: later it would be told as a failure of the store or of a file. */
export function checkFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new UsageError(`There is no folder ${folder}.`, "Make it first, or name another one.");
}

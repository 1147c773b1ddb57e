import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

const known = new Map<string, boolean>();

/** Whether the PATH has the program. */
export function isInstalled(program: string): boolean {
  const found =
    known.get(program) ??
    (process.env["PATH"] ?? "").split(delimiter).some((folder) => isExecutable(join(folder, program)));
  known.set(program, found);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

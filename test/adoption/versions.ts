import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../architecture/read-entries.ts";

/** The installed version of a package, in `folder` of the repository. */
export function versionOf(packageName: string, folder = ""): string {
  const file = join(ROOT, folder, "node_modules", packageName, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

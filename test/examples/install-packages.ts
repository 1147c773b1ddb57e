import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../architecture/read-entries.ts";

/** The packages that a program and its own modules import. */
function packagesOf(file: string): string[] {
  const source = readFileSync(file, "utf8");
  return Array.from(source.matchAll(/(?:from |import\()"(?!node:)([^"]+)"/g), ([, found = ""]) => found).flatMap(
    (found) =>
      found.startsWith(".") ? packagesOf(join(dirname(file), found)) : [/^(?:@[^/]+\/)?[^/]+/.exec(found)![0]],
  );
}

export interface Installation {
  /** The folder of the packed package. */
  haft: string;
  /** Folders of packages that are not in the repository's `node_modules`. */
  places?: readonly string[];
}

/** Links the packages that programs import into a folder, as an installation would have them. */
export function installPackages(
  folder: string,
  programs: readonly string[],
  { haft, places = [] }: Installation,
): void {
  const modules = join(folder, "node_modules");
  for (const found of new Set(programs.flatMap(packagesOf))) {
    const place =
      found === "haft"
        ? dirname(haft)
        : [...places, join(ROOT, "node_modules")].find((each) => existsSync(join(each, found)));
    if (place === undefined) throw new Error(`${programs.join(", ")} imports ${found}, which is not installed.`);
    mkdirSync(dirname(join(modules, found)), { recursive: true });
    symlinkSync(join(place, found), join(modules, found), "junction");
  }
}

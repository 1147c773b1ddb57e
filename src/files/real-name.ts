import { existsSync, lstatSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { resolveLinks } from "./path-name.ts";

/**
 * Where an absolute name leads now, as `resolveLinks` says it, but with few questions to the system: what does not exist
 * stays as written below the deepest folder that does. For rules, which judge names; what opens files judges what it
 * opened.
 */
export function realName(absolute: string): string {
  try {
    if (existsSync(absolute)) return realpathSync.native(absolute);
    let missing = absolute;
    let folder = dirname(absolute);
    while (!existsSync(folder)) [missing, folder] = [folder, dirname(folder)];
    // A link that leads nowhere yet: what is written there comes to be where it leads.
    if (lstatSync(missing, { throwIfNoEntry: false })) return resolveLinks(absolute) ?? absolute;
    const real = realpathSync.native(folder);
    return (real === "/" ? "" : real) + absolute.slice(folder === "/" ? 0 : folder.length);
  } catch {
    // A folder that may not be looked into.
    return resolveLinks(absolute) ?? absolute;
  }
}

import { isAbsolute, join } from "node:path";
import type { SeenCommand } from "./unwrap-command.ts";

const MOVES = new Set(["cd", "pushd", "popd", "chdir"]);

/**
 * Paths with what they become where the command changes its folder, for rules that forbid: by every way through the
 * folders that it names. `unknown` are those of which that cannot be said.
 */
export function movedPaths(paths: string[], commands: readonly SeenCommand[]): { paths: string[]; unknown: string[] } {
  const relative = paths.filter((path) => !isAbsolute(path) && !/^~(?:\/|$)/.test(path));
  const moves = commands.filter(({ name }) => MOVES.has(name));
  const isElsewhere = commands.some(
    ({ name, argv }) => name === "env" && argv.some((word) => /^(?:-C|--chdir)/.test(word)),
  );
  if (relative.length === 0 || (moves.length === 0 && !isElsewhere)) return { paths, unknown: [] };
  const targets = moves.map(({ argv }) => argv.slice(1).filter((word) => word === "-" || !/^[-+]/.test(word)));
  const isKnown = moves.every(
    ({ open }, at) => open.length === 0 && targets[at]?.length === 1 && targets[at]?.[0] !== "-",
  );
  if (!isKnown || isElsewhere) return { paths, unknown: relative };
  let through = "";
  const folders = targets.flatMap(([target = ""]) => {
    through = isAbsolute(target) || target.startsWith("~") ? target : join(through, target);
    return [target, through];
  });
  return { paths: [...paths, ...folders.flatMap((folder) => relative.map((path) => join(folder, path)))], unknown: [] };
}

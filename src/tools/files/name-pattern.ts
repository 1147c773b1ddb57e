import { compileGlob } from "../../files/glob-pattern.ts";

/** A pattern without a slash speaks of names, one with a slash of paths below the listed folder. */
export function compileNamePattern(pattern: string): (path: string) => boolean {
  const glob = compileGlob(pattern);
  if (pattern.includes("/")) return (path) => glob.matches(path);
  return (path) => glob.matches(path.slice(path.lastIndexOf("/") + 1));
}

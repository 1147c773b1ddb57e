// Kept apart from the policy of paths, which compiles globs: the front door gives this answer without loading that.
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { resolveLinks } from "./path-name.ts";

/**
 * Does the name lead to one of the allowed paths, by the links that exist now? An answer about a name: what opens files
 * asks again about what it opened.
 */
export function isPathAllowed(path: string, allowedPaths: readonly string[] = [process.cwd()]): boolean {
  if (typeof path !== "string" || path === "" || path.includes("\0")) return false;
  const real = resolveLinks(resolve(path));
  return real !== null && realRoots(allowedPaths, process.cwd()).some((root) => isInside(real, root));
}

export function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root === "/" ? "/" : `${root}/`);
}

export function realRoots(paths: readonly string[], base: string): string[] {
  // An empty entry would otherwise mean the current directory.
  return paths
    .filter((path) => typeof path === "string" && path !== "" && !path.includes("\0"))
    .map((path) => realRoot(path, base));
}

export function realRoot(path: string, base: string): string {
  const absolute = resolve(base, expandHome(path));
  return resolveLinks(absolute) ?? absolute;
}

export function expandHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

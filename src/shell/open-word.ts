import type { CommandWord } from "./parse-command.ts";

/** Whether the shell may make something else of a word than what is written: a variable, a glob, braces, a substitution. */
export function isOpenWord({ literal, source }: CommandWord): boolean {
  if (literal || source === "[" || source === "{}") return false;
  // The home folder is always the same.
  return /[$`*?[{(~]/.test(source.replace(/^~\//, ""));
}

/** What an open word begins with in any case. */
export function certainStart(value: string): string {
  return /^[^$`*?[{}~(\\]*/.exec(value)?.[0] ?? "";
}

import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Settings that choose no program. Everything else may: filters, drivers, helpers, includes. */
const PLAIN_SETTINGS: ReadonlyMap<string, RegExp> = new Map([
  [
    "core",
    /^(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)$/,
  ],
  ["remote", /^(?:url|pushurl|fetch)$/],
  ["branch", /^(?:remote|merge|rebase|description)$/],
  ["user", /^(?:name|email)$/],
  ["init", /^defaultbranch$/],
  ["pull", /^(?:rebase|ff)$/],
  ["push", /^(?:default|autosetupremote)$/],
  ["color", /^\w+$/],
]);
const MAX_BYTES = 64 * 1024;

/**
 * Whether git, started in the folder, finds an ordinary repository below `top` whose configuration names no program. Where
 * git would look elsewhere (a link, a `.git` file, a bare repository lying in a folder), it is not.
 */
export function isPlainRepository(folder: string, top: string): boolean {
  for (let at = folder; at === top || at.startsWith(`${top}/`); at = dirname(at)) {
    if (existsSync(join(at, "HEAD")) && existsSync(join(at, "objects"))) return false;
    const stat = lstatSync(join(at, ".git"), { throwIfNoEntry: false });
    if (stat) return stat.isDirectory() && hasPlainFolder(join(at, ".git")) && !existsSync(join(at, ".gitmodules"));
    if (at === dirname(at)) return false;
  }
  return false;
}

function hasPlainFolder(folder: string): boolean {
  if (["commondir", "config.worktree", "modules"].some((name) => existsSync(join(folder, name)))) return false;
  try {
    const text = readFileSync(join(folder, "config"), "utf8");
    return text.length <= MAX_BYTES && isPlainConfig(text);
  } catch {
    return false;
  }
}

/** Narrower than git's own syntax: a line that it does not know makes the whole not plain. */
function isPlainConfig(text: string): boolean {
  let allowed: RegExp | undefined;
  return text.split("\n").every((raw) => {
    const line = raw.trim();
    if (line === "" || /^[#;]/.test(line)) return true;
    if (line.endsWith("\\")) return false;
    const section = /^\[([A-Za-z]+)(?: "(?:[^"\\]|\\["\\])*")?\]$/.exec(line)?.[1];
    if (section !== undefined) {
      allowed = PLAIN_SETTINGS.get(section.toLowerCase());
      return allowed !== undefined;
    }
    const name = /^([A-Za-z][\w-]*)\s*(?:=|$)/.exec(line)?.[1];
    return name !== undefined && (allowed?.test(name.toLowerCase()) ?? false);
  });
}

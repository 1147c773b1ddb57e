import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isInside } from "../files/is-path-allowed.ts";

const MAX_FILES = 2_000;
const MAX_BYTES = 32 * 1024 * 1024;
const MODULE_ENDINGS = ["", ".ts", ".mts", ".js", ".mjs", ".cjs", ".cts", ".json", "/index.ts", "/index.js"];

/** What a file held, by its path below the folder; a file that is not there is told apart from an empty one. */
export type FileDigests = Record<string, string>;

export function digestOf(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * The files of the folder that a command line names. What those load in turn is not covered: a script's own imports, the
 * scripts of a package.json.
 */
export async function digestNamedFiles(words: readonly string[], folder: string): Promise<FileDigests> {
  const digests: FileDigests = {};
  for (const word of words) {
    const path = resolve(
      folder,
      word.replace(/^\$\{?(?:CLAUDE_PROJECT_DIR|HAFT_PROJECT_DIR|workspaceFolder)\}?\/?/, "./"),
    );
    if (!isInside(path, folder) || path === folder) continue;
    const digest = await digestIfFile(path);
    if (digest !== undefined || word.includes("/")) digests[relative(folder, path)] = digest ?? "absent";
  }
  return digests;
}

/** The words of a command as far as quotes tell: enough to find the files that it names. */
export function wordsOf(command: string): string[] {
  const quoted = [...command.matchAll(/"([^"]*)"|'([^']*)'/g)].map((found) => found[1] ?? found[2]!);
  // A path may be quoted in part: "$CLAUDE_PROJECT_DIR"/hooks/check.sh.
  return [...quoted, ...command.replace(/["']/g, "").split(/[\s;&|()<>]+/)].filter(Boolean);
}

/** A module and the modules of the folder that it imports by a relative path. */
export async function digestModule(entry: string, folder: string, text?: string): Promise<FileDigests> {
  const digests: FileDigests = {};
  const waiting = [{ path: entry, source: text }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const name = relative(folder, next.path);
    if (Object.hasOwn(digests, name) || Object.keys(digests).length >= MAX_FILES) continue;
    const source = next.source ?? (await readFile(next.path, "utf8").catch(() => undefined));
    digests[name] = source === undefined ? "absent" : digestOf(source);
    for (const [, specifier] of (source ?? "").matchAll(/(?:from|import|require)\s*\(?\s*["'](\.[^"']*)["']/g)) {
      const path = await firstFile(resolve(dirname(next.path), specifier!));
      if (path) waiting.push({ path, source: undefined });
    }
  }
  return digests;
}

/** Every file of a folder, without installed packages; undefined where it is too large to be covered. */
export async function digestFolder(folder: string): Promise<FileDigests | undefined> {
  const digests: FileDigests = {};
  let bytes = 0;
  const walk = async (at: string): Promise<boolean> => {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules" && entry.name !== ".git" && !(await walk(path))) return false;
        continue;
      }
      // A link is followed: what it leads to is what would run.
      const info = await stat(path).catch(() => undefined);
      if (!info?.isFile()) continue;
      bytes += info.size;
      if (bytes > MAX_BYTES || Object.keys(digests).length >= MAX_FILES) return false;
      digests[relative(folder, path)] = digestOf(await readFile(path));
    }
    return true;
  };
  return (await walk(folder)) ? digests : undefined;
}

async function digestIfFile(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (!info?.isFile()) return undefined;
  return info.size > MAX_BYTES ? `size ${info.size}, changed ${info.mtimeMs}` : digestOf(await readFile(path));
}

async function firstFile(base: string): Promise<string | undefined> {
  // Sources name the file that will be built, "./a.js" for a.ts.
  for (const candidate of [...MODULE_ENDINGS.map((ending) => base + ending), base.replace(/\.(m?)js$/, ".$1ts")]) {
    if ((await stat(candidate).catch(() => undefined))?.isFile()) return candidate;
  }
  return undefined;
}

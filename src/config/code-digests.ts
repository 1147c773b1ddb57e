import { createHash } from "node:crypto";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Jiti } from "jiti";
import { isInside } from "../io/files/path-name.ts";
import { isObject } from "../schema/json-schema.ts";
import { noteLook } from "./config-watch.ts";

/** Digests by path relative to the folder. A missing file differs from an empty one. */
export type FileDigests = Record<string, string>;

const MAX_FILES = 2_000;
export const MAX_BYTES = 32 * 1024 * 1024;
const CODE_ENDINGS = [".js", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".mtsx", ".ctsx", ".jsx", ".node", ".wasm"];
/** What an import of a path without an ending may mean. */
const ENDINGS = [...CODE_ENDINGS, ".json"];

export function digestOf(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Whether a plugin is named by its path. Otherwise it is a package. */
export function isPluginPath(from: string): boolean {
  return /^(\.{0,2}\/|[A-Za-z]:[\\/])/.test(from);
}

/**
 * The code of a plugin: a module with what it imports, or a folder. Of a package, its entry and what that imports by relative
 * paths; the packages that it depends on are the package manager's responsibility.
 */
export async function digestPlugin(from: string, folder: string): Promise<FileDigests> {
  const path = isPluginPath(from) ? resolve(folder, from) : await resolveModule(from, join(folder, "haft.config.js"));
  const info = path === undefined ? undefined : await stat(path).catch(() => undefined);
  if (path === undefined || !info) return { [from]: "absent" };
  if (!info.isDirectory()) return digestModule(path, folder);
  const digests = await digestFolder(path, folder);
  // Too large to cover: the digest always differs, so it is never trusted.
  if (!digests) return { [from]: `too large ${process.hrtime.bigint()}` };
  const code = Object.keys(digests).filter((name) => CODE_ENDINGS.includes(extname(name)));
  const entries = [...code.map((name) => join(folder, name)), ...(await filesFor(path))];
  return { ...(await digestModules(entries, folder)), ...digests };
}

/** A module and the files of the folder that it imports. */
export function digestModule(entry: string, folder: string, text?: string): Promise<FileDigests> {
  return digestModules([entry], folder, text);
}

async function digestModules(entries: readonly string[], folder: string, text?: string): Promise<FileDigests> {
  const digests: FileDigests = {};
  const waiting = entries.map((path) => ({ path, source: text }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const name = relative(folder, next.path);
    if (Object.hasOwn(digests, name)) continue;
    if (Object.keys(digests).length >= MAX_FILES) return { ...digests, "": `too many ${process.hrtime.bigint()}` };
    noteLook(next.path);
    const source = next.source ?? (await readFile(next.path, "utf8").catch(() => undefined));
    digests[name] = source === undefined ? "absent" : digestOf(source);
    for (const path of await importsOf(source ?? "", next.path, folder)) waiting.push({ path, source: undefined });
  }
  return digests;
}

/** A path in quotes is taken for a module wherever it stands: `createRequire` and comments hide the word before it. */
const RELATIVE = /["'`](\.{1,2}(?:\/[^"'`\n\\$]*)?)["'`]/g;
const IMPORTED = /(?:from|import|require|resolve)\s*(?:\(\s*)?["'`]([^"'`\n\\$]+)["'`]/g;

/** All files that the imports of a module may mean. Which of them is loaded, the loader decides. */
async function importsOf(source: string, file: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of firstGroups(source, RELATIVE)) {
    const files = await filesFor(resolve(dirname(file), path));
    found.push(...files.filter((each) => CODE_ENDINGS.includes(extname(each)) || each.endsWith("package.json")));
  }
  for (const specifier of firstGroups(source, IMPORTED)) {
    if (specifier.startsWith(".")) found.push(...(await filesFor(resolve(dirname(file), specifier))));
    else if (!isBuiltin(specifier)) {
      const path = specifier.startsWith("/") ? specifier : await resolveModule(specifier, file);
      const real = path === undefined ? undefined : await realpath(path).catch(() => undefined);
      const isOwn = real !== undefined && isInside(real, folder) && !real.split(sep).includes("node_modules");
      if (isOwn) found.push(real);
    }
  }
  return found;
}

function firstGroups(source: string, pattern: RegExp): Set<string> {
  return new Set(Array.from(source.matchAll(pattern), ([, group = ""]) => group));
}

let resolver: Jiti | undefined;

/** The file that an import of this name in `parent` loads. Undefined if there is none. */
export async function resolveModule(specifier: string, parent: string): Promise<string | undefined> {
  if (isBuiltin(specifier)) return undefined;
  const { createJiti } = await import("jiti");
  resolver ??= createJiti(import.meta.url);
  try {
    return fileURLToPath(resolver.esmResolve(specifier, pathToFileURL(parent).href));
  } catch {
    return undefined;
  }
}

/** The files that an import of this path may load: with an ending, as a folder with an index, or as a package. */
async function filesFor(base: string, depth = 0): Promise<string[]> {
  // TypeScript sources import "./a.js" for a.ts.
  const written = base.replace(/\.([mc]?)js(x?)$/, ".$1ts$2");
  const candidates = [base, written, ...ENDINGS.map((ending) => base + ending)];
  const inside = ["package.json", ...ENDINGS.map((ending) => `index${ending}`)].map((name) => join(base, name));
  const found: string[] = [];
  for (const candidate of new Set([...candidates, ...inside])) {
    if ((await stat(candidate).catch(() => undefined))?.isFile()) found.push(candidate);
  }
  const manifest = found.includes(join(base, "package.json")) ? await readMain(join(base, "package.json")) : undefined;
  if (manifest !== undefined && depth < 3) found.push(...(await filesFor(resolve(base, manifest), depth + 1)));
  return found;
}

async function readMain(file: string): Promise<string | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isObject(value) && typeof value["main"] === "string" ? value["main"] : undefined;
  } catch {
    return undefined;
  }
}

/** Every file below `at` except installed packages. Undefined if it is too large. */
async function digestFolder(at: string, folder: string): Promise<FileDigests | undefined> {
  const digests: FileDigests = {};
  let bytes = 0;
  const walk = async (below: string): Promise<boolean> => {
    for (const entry of await readdir(below, { withFileTypes: true })) {
      const path = join(below, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules" && entry.name !== ".git" && !(await walk(path))) return false;
        continue;
      }
      // Follows links: their targets would run.
      const info = await stat(path).catch(() => undefined);
      if (!info?.isFile()) continue;
      bytes += info.size;
      if (bytes > MAX_BYTES || Object.keys(digests).length >= MAX_FILES) return false;
      digests[relative(folder, path)] = digestOf(await readFile(path));
    }
    return true;
  };
  return (await walk(at)) ? digests : undefined;
}

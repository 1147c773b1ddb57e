import { readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { attempt, errorMessage } from "../core/error.ts";
import { type Clock, systemClock, type Timer } from "../core/clock.ts";
import type { Plugin, PluginManifest } from "../core/plugin.ts";
import { findPackage } from "../io/files/own-folders.ts";
import { isObject } from "../schema/json-schema.ts";
import { isPluginPath, resolveModule } from "./code-digests.ts";
import type { ConfigOriginName, ConfigSource } from "./sources.ts";

export interface LoadedPlugins {
  /** For `haft.tools.install`. */
  plugins: { plugin: Plugin; reference: PluginReference }[];
  /** Plugins that could not be loaded. The others were. */
  failures: { reference: PluginReference; message: string }[];
}

const ENTRIES = ["index.ts", "index.mts", "index.mjs", "index.js"];

/**
 * Imports the plugins of a loaded configuration. It contains those of a folder only if they are trusted. A disabled plugin
 * is not imported. One that fails or hangs does not affect the others; one that exits the process does.
 */
export async function loadPlugins(
  { plugins }: { plugins: readonly PluginReference[] },
  { timeoutMs = 10_000, clock = systemClock }: { timeoutMs?: number; clock?: Clock } = {},
): Promise<LoadedPlugins> {
  const loaded: LoadedPlugins = { plugins: [], failures: [] };
  for (const reference of plugins.filter(({ enabled }) => enabled)) {
    try {
      const plugin = await withinTime(loadPlugin(reference), timeoutMs, clock);
      loaded.plugins.push({ plugin, reference });
    } catch (error) {
      const why = errorMessage(error);
      loaded.failures.push({ reference, message: `The plugin "${reference.from}" was not loaded: ${why}` });
    }
  }
  return loaded;
}

/** Imports the code of a plugin, in the process that is to run it. */
export async function loadPlugin(reference: PluginSource): Promise<Plugin> {
  const entry = await findEntry(reference);
  const { createJiti } = await import("jiti");
  const jiti = createJiti(entry, { fsCache: false, moduleCache: false, alias: await missingPackages(entry) });
  const exported: unknown = await jiti.import(entry, { default: true });
  const manifest = (isObject(exported) ? exported["manifest"] : undefined) ?? (await readManifest(reference));
  const register = isObject(exported) ? exported["register"] : exported;
  if (!isManifest(manifest)) throw new Error("It has no manifest: export `{ manifest: { id }, register }` as default.");
  if (typeof register !== "function") throw new Error("It has no register function: export `{ manifest, register }`.");
  return {
    manifest: { ...manifest, ...narrower(manifest.tools, reference.tools) },
    register: (api) => (register as Plugin["register"]).call(exported, api),
  };
}

/** Where `haft` and `zod` are, for a plugin without node_modules. One by one, because an alias is a prefix. */
async function missingPackages(entry: string): Promise<Record<string, string>> {
  const { resolve: fromPlugin } = createRequire(entry);
  const own = await findPackage();
  if (own === undefined) return {};
  const { resolve: fromHaft } = createRequire(join(own, "package.json"));
  const zod = tryResolve(fromHaft, "zod/package.json");
  const wanted = [
    ...(await entryPoints("haft", join(own, "package.json"))),
    ...(zod === undefined ? [] : await entryPoints("zod", zod)),
  ];
  const missing = wanted.filter((name) => tryResolve(fromPlugin, name) === undefined);
  const alias: Record<string, string> = {};
  for (const name of missing) {
    const file = tryResolve(fromHaft, name);
    if (file !== undefined) alias[name] = file;
  }
  return alias;
}

async function entryPoints(name: string, manifest: string): Promise<string[]> {
  const { exports } = await readJson(manifest);
  const entries = isObject(exports) ? Object.keys(exports) : [];
  return entries.filter((entry) => !/\.json$|\*/.test(entry)).map((entry) => `${name}${entry.slice(1)}`);
}

function tryResolve(resolveName: (name: string) => string, name: string): string | undefined {
  return attempt(() => resolveName(name));
}

/** A file itself, the entry of a folder (package.json or index), or the export of a package. */
async function findEntry({ from, path, folder }: PluginSource): Promise<string> {
  if (path === undefined) {
    const entry = await resolveModule(from, join(folder, "haft.config.js"));
    if (entry === undefined) throw new Error(`there is no package "${from}" beside the configuration.`);
    return entry;
  }
  const info = await stat(path).catch(() => undefined);
  if (info?.isFile()) return path;
  if (!info?.isDirectory()) throw new Error(`${path} does not exist.`);
  const { main } = await readJson(join(path, "package.json"));
  for (const name of [...(typeof main === "string" ? [main] : []), ...ENTRIES]) {
    if ((await stat(join(path, name)).catch(() => undefined))?.isFile()) return join(path, name);
  }
  throw new Error(`${path} has neither an index file nor a package.json with "main".`);
}

/** Some plugins keep their manifest in a file beside the code. */
async function readManifest({ path }: PluginSource): Promise<unknown> {
  if (path === undefined) return undefined;
  const manifest = await readJson(join(path, "haft.plugin.json"));
  return "id" in manifest ? manifest : undefined;
}

async function readJson(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, "utf8").catch(() => "{}");
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : {};
}

function isManifest(value: unknown): value is PluginManifest {
  return isObject(value) && typeof value["id"] === "string";
}

async function withinTime<T>(work: Promise<T>, timeoutMs: number, clock: Clock): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.after(timeoutMs, () => reject(new Error(`it did not load within ${timeoutMs} ms.`)));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer?.cancel();
    // A later failure has no handler any more.
    work.catch(() => {});
  }
}

/** Where the code of a plugin is. */
export interface PluginSource {
  /** A path or the name of a package, as written. */
  from: string;
  /** The path, resolved against the folder of its source. Undefined for a package. */
  path?: string;
  /** The folder from which a package is resolved. */
  folder: string;
  /** The only tools that it may register. */
  tools?: readonly string[];
}

/** A plugin of a trusted source. */
export interface PluginReference extends PluginSource {
  enabled: boolean;
  /** Its code runs in the process of Haft. Default: in a process of its own. */
  inProcess?: boolean;
  /** Max heap of its own process. */
  memoryMb?: number;
  origin: ConfigOriginName;
  file?: string;
}

/** Each plugin once. If one source disables it, it is disabled. */
export function listPlugins(sources: readonly ConfigSource[]): PluginReference[] {
  const references = new Map<string, PluginReference>();
  for (const { origin, folder, file, value } of sources) {
    for (const setting of value.plugins ?? []) {
      const given = typeof setting === "string" ? { from: setting } : setting;
      const { from, enabled = true, tools, inProcess, memoryMb } = given;
      const path = isPluginPath(from) ? resolve(folder, from) : undefined;
      const known = references.get(path ?? from);
      references.set(path ?? from, {
        from,
        path,
        enabled: enabled && (known?.enabled ?? true),
        ...narrower(known?.tools, tools),
        inProcess: inProcess ?? known?.inProcess,
        memoryMb: memoryMb ?? known?.memoryMb,
        origin,
        folder,
        file,
      });
    }
  }
  return [...references.values()];
}

/** What both lists allow. A missing list allows everything. */
function narrower(a: readonly string[] | undefined, b: readonly string[] | undefined): { tools?: readonly string[] } {
  const tools = a && b ? b.filter((name) => a.includes(name)) : (a ?? b);
  return tools ? { tools } : {};
}

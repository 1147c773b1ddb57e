import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { didYouMean } from "../core/nearest-name.ts";
import type { PolicyConfig } from "../gate/permit/policy-layers.ts";
import type { HaftConfig, HookSettings } from "./config-schema.ts";
import { formatOf, parseConfigText, readConfigText, runConfigModule } from "./config-text.ts";
import { findUnmigratedState, STATE_FILES } from "../io/files/state-folder.ts";
import { isObject } from "./mcp-entries.ts";
import {
  ConfigError,
  type ConfigPath,
  type ConfigProblem,
  pathKey,
  showPath,
  type SourcePosition,
} from "./problems.ts";
import type { UserPaths } from "./user-paths.ts";

const ENDINGS = ["yml", "yaml", "json", "json5", "ts", "mts", "js", "mjs"];
const MODULE = /\.m?[jt]s$/;

/** What `import.mcp: true` looks for in a folder. */
const CLIENT_FILES = [
  ".mcp.json",
  ".cursor/mcp.json",
  ".vscode/mcp.json",
  ".gemini/settings.json",
  ".codex/config.toml",
];

export interface ReadSources {
  sources: RawSource[];
  /** What could not be read. */
  problems: ConfigProblem[];
  /** What was not taken over from a file of another program. */
  warnings: ConfigProblem[];
}

/** Every file that has a say, lowest first. Of the folder nothing is run. */
export async function readSources(folder: string, user: UserPaths): Promise<ReadSources> {
  const warnings: ConfigProblem[] = [];
  const problems: ConfigProblem[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const read = (source: SourceFile) => attempt(() => readSource(source, warnings));
  const one = (base: string, at: Pick<SourceFile, "origin" | "folder">) =>
    attempt(async () => {
      const file = await onlyFile(base);
      return file === undefined ? undefined : readSource({ ...at, kind: "haft", file }, warnings);
    });

  const ofUser = await one(join(user.folder, "config"), { origin: "user", folder: user.folder });
  const ofProject = await one(join(folder, "haft.config"), { origin: "project", folder });
  const stateFolder = user.stateFolderOf(folder);
  const rules = join(findUnmigratedState(folder, stateFolder) ?? stateFolder, STATE_FILES.rules);
  const local = await read({ origin: "local", kind: "haft", file: rules, folder });

  // A folder may leave out its own files, never the user's: their denials would go with them.
  const userImports = importsOf([ofUser]);
  const folderImports = importsOf([ofUser, ofProject, local]);
  const claude = join(user.home, ".claude");
  const sources = [
    userImports.claude &&
      (await read({ origin: "user", kind: "claude", file: join(claude, "settings.json"), folder: claude })),
    ...(await readMcpFiles(ofUser, { origin: "user", base: user.home, user, read })),
    ofUser,
    folderImports.claude &&
      (await read({ origin: "project", kind: "claude", file: join(folder, ".claude/settings.json"), folder })),
    ...(await readMcpFiles(ofProject, {
      origin: "project",
      base: folder,
      user,
      read,
      isOff: userImports.mcp === false,
    })),
    ofProject,
    folderImports.claude &&
      (await read({ origin: "local", kind: "claude", file: join(folder, ".claude/settings.local.json"), folder })),
    local,
  ];
  return { sources: sources.filter((source): source is RawSource => Boolean(source)), problems, warnings };
}

interface SourceFile extends Pick<RawSource, "origin" | "kind" | "folder"> {
  file: string;
}

async function readSource(source: SourceFile, warnings: ConfigProblem[]): Promise<RawSource | undefined> {
  const { file, kind } = source;
  const text = await readConfigText(file);
  if (text === null) return undefined;
  if (MODULE.test(file)) {
    // The user's own is run at once; one of a folder waits until it is trusted.
    const isOwn = source.origin === "user";
    const value = isOwn ? await runConfigModule(file, text) : undefined;
    return { ...source, value, code: text, isFinal: true, positionOf: () => undefined };
  }
  const parsed = await parseConfigText(text, file, formatOf(file));
  // An empty file, or one of comments only, says nothing.
  const value = parsed.value ?? {};
  if (kind !== "claude") return { ...source, value, positionOf: parsed.positionOf };
  const leftOut = listLeftOut(value);
  for (const { path, note } of leftOut) {
    if (note) warnings.push({ file, ...parsed.positionOf(path), path: showPath(path), message: note });
  }
  const kept = dropPaths(
    value,
    leftOut.map(({ path }) => path),
  );
  return { ...source, value: kept.value, positionOf: (path) => parsed.positionOf(kept.originalOf(path)) };
}

/** Two files for one place would leave open which of them counts, and whose denials are lost. */
async function onlyFile(base: string): Promise<string | undefined> {
  const files = ENDINGS.map((ending) => `${base}.${ending}`);
  const present = await Promise.all(
    files.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  const [first, second] = files.filter((_, index) => present[index]);
  if (first && second) {
    throw new ConfigError([{ file: second, message: `${first} is there as well. Keep one of them.` }]);
  }
  return first;
}

function importsOf(sources: readonly (RawSource | undefined)[]): { claude: boolean; mcp: unknown } {
  let claude = true;
  let mcp: unknown;
  for (const source of sources) {
    const imported = isObject(source?.value) ? source.value["import"] : undefined;
    if (!isObject(imported)) continue;
    if (typeof imported["claude"] === "boolean") claude = imported["claude"];
    mcp = imported["mcp"] ?? mcp;
  }
  return { claude, mcp };
}

interface McpFiles {
  origin: "user" | "project";
  base: string;
  user: UserPaths;
  read(source: SourceFile): Promise<RawSource | undefined>;
  isOff?: boolean;
}

/** Lists of servers that other clients keep: a project's `.mcp.json` unless said otherwise, others where named. */
async function readMcpFiles(
  source: RawSource | undefined,
  { origin, base, user, read, isOff = false }: McpFiles,
): Promise<(RawSource | undefined)[]> {
  const { mcp = origin === "user" ? false : [".mcp.json"] } = importsOf([source]);
  if (isOff || mcp === false) return [];
  const files =
    mcp === true ? CLIENT_FILES : (Array.isArray(mcp) ? mcp : []).filter((file) => typeof file === "string");
  return Promise.all(
    files.map((file) => {
      const path = file.startsWith("~/") ? join(user.home, file.slice(2)) : resolve(base, file);
      return read({ origin, kind: "mcp", file: path, folder: base });
    }),
  );
}

/** Later ones win where only one can; rules and denials of all of them count. */
export const ORIGINS = ["user", "project", "local", "environment", "call"] as const;
export type ConfigOriginName = (typeof ORIGINS)[number];

/** A file as it was read: nothing in it was expanded, checked or run. */
export interface RawSource {
  origin: ConfigOriginName;
  kind: "haft" | "claude" | "mcp";
  /** Absent for the environment and for what a caller passed. */
  file?: string;
  /** What paths that begin with "/" in rules are relative to. */
  folder: string;
  /** Undefined for a module: it says something only when it is run. */
  value: unknown;
  /** The text of a module, which is what is run once it is trusted. */
  code?: string;
  /** Its values are final, as those of a module or a caller are: nothing in them is expanded. */
  isFinal?: boolean;
  positionOf(path: ConfigPath): SourcePosition | undefined;
}

export interface SourceRule {
  list: "allow" | "ask" | "deny";
  rule: string;
  line?: number;
  column?: number;
}

/** What one file says, without what is not trusted in it. */
export interface ConfigSource {
  origin: ConfigOriginName;
  kind: RawSource["kind"];
  file?: string;
  folder: string;
  value: HaftConfig;
  permissions: { allow: string[]; ask: string[]; deny: string[] };
  /** The same rules, each with its line. */
  rules: SourceRule[];
  hooks: HookSettings;
  /** For `createPolicyLayers`: the layers of every source hold together, so that none can widen another. */
  policy?: PolicyConfig;
}

export interface Dropped {
  value: unknown;
  /** Where a value stood before others were taken out of its list. */
  originalOf(path: ConfigPath): ConfigPath;
}

/** A copy without what stands at the given paths. */
export function dropPaths(value: unknown, paths: readonly ConfigPath[]): Dropped {
  const dropped = new Set(paths.map(pathKey));
  const keptIndexes = new Map<string, number[]>();
  const copy = (each: unknown, path: ConfigPath): unknown => {
    if (Array.isArray(each)) {
      const kept = each.flatMap((_, index) => (dropped.has(pathKey([...path, index])) ? [] : [index]));
      keptIndexes.set(pathKey(path), kept);
      return kept.map((index) => copy(each[index], [...path, index]));
    }
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(
      Object.entries(each).flatMap(([key, field]) => {
        const at = [...path, key];
        return dropped.has(pathKey(at)) ? [] : [[key, copy(field, at)]];
      }),
    );
  };
  return {
    value: dropped.size === 0 ? value : copy(value, []),
    originalOf(path) {
      let original: ConfigPath = [];
      for (const part of path) {
        const kept = typeof part === "number" ? keptIndexes.get(pathKey(original)) : undefined;
        original = [...original, typeof part === "number" ? (kept?.[part] ?? part) : part];
      }
      return original;
    },
  };
}

export function isBelow(path: ConfigPath, parent: ConfigPath): boolean {
  return parent.every((part, index) => path[index] === part);
}

const EVENTS = ["PreToolUse", "PermissionRequest", "PostToolUse"];
const MODES = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];
const LISTS = ["allow", "ask", "deny"];
const PERMISSION_KEYS = [...LISTS, "defaultMode", "disableBypassPermissionsMode"];
const HOOK_KEYS: Readonly<Record<string, readonly string[]>> = {
  command: ["type", "command", "args", "timeout", "onFailure", "statusMessage"],
  http: ["type", "url", "headers", "allowedEnvVars", "timeout", "onFailure", "statusMessage"],
};

/** A place of a `.claude/settings.json` that is not taken over, and why where its reader should know. */
export interface LeftOut {
  path: ConfigPath;
  note?: string;
}

/** Permissions and hooks are taken as they are. The other keys of the file are not Haft's, and nothing is said of them. */
function listLeftOut(value: unknown): LeftOut[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, field]): LeftOut[] => {
    if (key === "permissions") return isObject(field) ? leftOutOfPermissions(field) : [];
    if (key === "hooks") return isObject(field) ? leftOutOfHooks(field) : [];
    return [{ path: [key] }];
  });
}

function leftOutOfPermissions(permissions: Record<string, unknown>): LeftOut[] {
  return Object.entries(permissions).flatMap(([key, value]): LeftOut[] => {
    const path = ["permissions", key];
    if (!PERMISSION_KEYS.includes(key)) {
      return [{ path, note: `Not taken over. ${didYouMean(key, LISTS) ?? "Haft has no such key."}` }];
    }
    if (key !== "defaultMode" || MODES.includes(String(value))) return [];
    return [{ path, note: `The mode ${JSON.stringify(value)} is not taken over; the default mode is used.` }];
  });
}

function leftOutOfHooks(hooks: Record<string, unknown>): LeftOut[] {
  return Object.entries(hooks).flatMap(([event, groups]): LeftOut[] => {
    const path = ["hooks", event];
    if (!EVENTS.includes(event)) {
      return [{ path, note: `Hooks for ${event} are not taken over. ${didYouMean(event, EVENTS) ?? ""}`.trim() }];
    }
    if (!Array.isArray(groups)) return [];
    return groups.flatMap((group: unknown, index) => {
      const handlers: unknown = isObject(group) ? group["hooks"] : undefined;
      if (!Array.isArray(handlers)) return [];
      return handlers.flatMap((handler: unknown, each) =>
        isObject(handler) ? leftOutOfHandler(handler, [...path, index, "hooks", each]) : [],
      );
    });
  });
}

function leftOutOfHandler(handler: Record<string, unknown>, path: ConfigPath): LeftOut[] {
  const type = String(handler["type"]);
  const known = Object.hasOwn(HOOK_KEYS, type) ? HOOK_KEYS[type]! : undefined;
  if (!known) return [{ path, note: `Hooks of type "${type}" are not taken over; command and http are.` }];
  return Object.keys(handler)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: [...path, key], note: "Not taken over: Haft's hooks have no such key." }));
}

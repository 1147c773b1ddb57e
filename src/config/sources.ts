import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { didYouMean } from "../core/nearest-name.ts";
import type { PolicyConfig } from "../gate/permit/policy-layers.ts";
import { isObject } from "../schema/json-schema.ts";
import type { HaftConfig, HookSettings } from "./config-schema.ts";
import { formatOf, parseConfigText, readConfigText, runConfigModule } from "./config-text.ts";
import { findUnmigratedState, STATE_FILES } from "../io/files/state-folder.ts";
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

/** The files that `import.mcp: true` reads. */
const CLIENT_FILES = [
  ".mcp.json",
  ".cursor/mcp.json",
  ".vscode/mcp.json",
  ".gemini/settings.json",
  ".codex/config.toml",
];

export interface ReadSources {
  sources: RawSource[];
  /** Files that could not be read. */
  problems: ConfigProblem[];
  /** Settings of other programs that were not imported. */
  warnings: ConfigProblem[];
}

/** All configuration files, lowest precedence first. Runs no code of the folder. */
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

  // A folder can exclude its own files only. Excluding the user's would also drop their denials.
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
    // The user's own module runs at once; one of a folder only after it is trusted.
    const isOwn = source.origin === "user";
    const value = isOwn ? await runConfigModule(file, text) : undefined;
    return { ...source, value, code: text, isFinal: true, positionOf: () => undefined };
  }
  const parsed = await parseConfigText(text, file, formatOf(file));
  // An empty file, or one with comments only.
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

/** Two files are an error: one would be ignored, with its denials. */
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
    throw new ConfigError([{ file: second, message: `${first} exists too. Keep one of them.` }]);
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

/** Server lists of other clients. Default: a project's `.mcp.json`; others if `import.mcp` names them. */
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

/** Lowest precedence first. Rules and denials of all of them have effect. */
export const ORIGINS = ["user", "project", "local", "environment", "call"] as const;
export type ConfigOriginName = (typeof ORIGINS)[number];

/** A file as it was read. Nothing in it has been expanded, checked or run. */
export interface RawSource {
  origin: ConfigOriginName;
  kind: "haft" | "claude" | "mcp";
  /** Undefined for the environment and for overrides of a caller. */
  file?: string;
  /** The base of paths in rules that begin with "/". */
  folder: string;
  /** Undefined for a module that has not run. */
  value: unknown;
  /** The text of a module. This text is run once it is trusted. */
  code?: string;
  /** Variables in its values are not expanded, as in those of a module or a caller. */
  isFinal?: boolean;
  positionOf(path: ConfigPath): SourcePosition | undefined;
}

export interface SourceRule {
  list: "allow" | "ask" | "deny";
  rule: string;
  line?: number;
  column?: number;
}

/** The content of one file, without what is not trusted. */
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
  /** For `createPolicyLayers`. The layers of all sources apply together, so none can widen another. */
  policy?: PolicyConfig;
}

export interface Dropped {
  value: unknown;
  /** The path of a value before other items of its list were removed. */
  originalOf(path: ConfigPath): ConfigPath;
}

/** A copy without the values at the given paths. */
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

/** A part of a `.claude/settings.json` that is not imported, with a note if the user should know. */
export interface LeftOut {
  path: ConfigPath;
  note?: string;
}

/** Permissions and hooks are imported as they are. Other keys of the file are ignored without a note. */
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
      return [{ path, note: `Not imported. ${didYouMean(key, LISTS) ?? "Haft has no such key."}` }];
    }
    if (key !== "defaultMode" || MODES.includes(String(value))) return [];
    return [{ path, note: `The mode ${JSON.stringify(value)} is not imported; the default mode is used.` }];
  });
}

function leftOutOfHooks(hooks: Record<string, unknown>): LeftOut[] {
  return Object.entries(hooks).flatMap(([event, groups]): LeftOut[] => {
    const path = ["hooks", event];
    if (!EVENTS.includes(event)) {
      return [{ path, note: `Hooks for ${event} are not imported. ${didYouMean(event, EVENTS) ?? ""}`.trim() }];
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
  if (!known) return [{ path, note: `Hooks of type "${type}" are not imported; command and http are.` }];
  return Object.keys(handler)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: [...path, key], note: "Not imported: Haft's hooks have no such key." }));
}

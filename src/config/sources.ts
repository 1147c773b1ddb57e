import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { PolicyConfig } from "../gate/permit/policy-layers.ts";
import type { Limit } from "../gate/permit/rules/rule.ts";
import { isObject } from "../schema/json-schema.ts";
import type { HaftConfig, HookSettings } from "./config-schema.ts";
import { formatOf, parseConfigText, readConfigText, runConfigModule } from "./config-text.ts";
import { noteLook } from "./config-watch.ts";
import { readClaudeAgents } from "./foreign/claude-agents.ts";
import {
  FOREIGN_PLACES,
  type ForeignFile,
  type ForeignPlace,
  type ForeignProgram,
  readForeignFile,
} from "./foreign/foreign-files.ts";
import { readInstructionSource } from "./foreign/instructions.ts";
import type { ServerLimits } from "./foreign/server-limits.ts";
import type { LocatedSetting } from "./foreign/settings-reader.ts";
import { findUnmigratedState, STATE_FILES } from "../io/files/state-folder.ts";
import { ConfigError, type ConfigPath, type ConfigProblem, type SourcePosition } from "./problems.ts";
import { listTrustItems } from "./trust-items.ts";
import type { UserPaths } from "./user-paths.ts";

const ENDINGS = ["yml", "yaml", "json", "json5", "ts", "mts", "js", "mjs"];
const MODULE = /\.m?[jt]s$/;

export interface ReadSources {
  sources: RawSource[];
  /** Files that could not be read. */
  problems: ConfigProblem[];
  /** What could be read of them. Only its denials may be used. */
  broken: RawSource[];
  /** What becomes of the settings in files of other programs that are no source. */
  imported: LocatedSetting[];
  /** Whether the files of Claude Code are read. */
  importsClaude: { home: boolean; folder: boolean };
}

/** All configuration files, lowest precedence first. Runs no code of the folder. `trusted`: digests of what is trusted. */
export async function readSources(
  folder: string,
  user: UserPaths,
  trusted: ReadonlySet<string> = new Set(),
): Promise<ReadSources> {
  const problems: ConfigProblem[] = [];
  const imported: LocatedSetting[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const broken: RawSource[] = [];
  const own = async (source: SourceFile): Promise<RawSource | undefined> => {
    try {
      return await readSource(source);
    } catch (error) {
      if (error instanceof ConfigError && error.readable !== undefined)
        broken.push({ ...source, value: error.readable, positionOf: () => undefined });
      throw error;
    }
  };
  const one = (base: string, at: Pick<SourceFile, "origin" | "folder">) =>
    attempt(async () => {
      const file = await onlyFile(base);
      return file === undefined ? undefined : own({ ...at, kind: "haft", file });
    });

  const ofUser = await one(join(user.folder, "config"), { origin: "user", folder: user.folder });
  const ofProject = await one(join(folder, "haft.config"), { origin: "project", folder });
  const stateFolder = user.stateFolderOf(folder);
  const rules = join(findUnmigratedState(folder, stateFolder) ?? stateFolder, STATE_FILES.rules);
  const local = await attempt(() => own({ origin: "local", kind: "haft", file: rules, folder }));

  // A folder can exclude its own files only. Excluding the user's would also drop their denials.
  const ofHome = importsOf([ofUser]);
  const ofFolder = importsOf([ofUser, ofProject, local]);
  const foreign = async (files: readonly ForeignFile[]): Promise<RawSource[]> => {
    const read = await Promise.all(files.map((file) => attempt(() => readForeignFile(file))));
    imported.push(...read.flatMap((each) => each?.lines ?? []));
    return read.flatMap((each) => each?.sources ?? []);
  };
  const homeServers = serverFiles(ofHome.mcp, { origin: "user", base: user.home, user });
  const folderServers =
    ofHome.mcp === false ? [] : serverFiles(importsOf([ofProject]).mcp, { origin: "project", base: folder, user });
  const untrusted = (ofProject ? await listTrustItems(ofProject, folder) : []).filter(
    ({ digest }) => !trusted.has(digest),
  );
  // Until a person has trusted it, a project's file cannot leave out settings, with their denials.
  const kept = importsOf([ofUser, ofProject, local], { except: untrusted.map(({ path }) => path) });
  const inFolder = filesOf("folder", { base: folder, imports: kept, servers: folderServers });
  const includes = { includesHome: ofHome.claude, includesFolder: ofFolder.claude };
  const agents = await readClaudeAgents({ folder, home: user.home, ...includes });
  const sources = [
    ...(await foreign(filesOf("home", { base: user.home, imports: ofHome, servers: homeServers }))),
    ...agents.filter(({ origin }) => origin === "user"),
    ofUser,
    ...agents.filter(({ origin }) => origin === "project"),
    ...(await foreign(inFolder.filter(({ origin }) => origin === "project"))),
    ofProject,
    ...(await foreign(inFolder.filter(({ origin }) => origin === "local"))),
    local,
  ];
  const instructions = await readInstructionSource(folder, user.home);
  return {
    sources: [...sources, instructions].filter((source) => source !== undefined),
    problems,
    broken,
    imported,
    importsClaude: { home: ofHome.claude, folder: ofFolder.claude },
  };
}

interface SourceFile extends Pick<RawSource, "origin" | "kind" | "folder"> {
  file: string;
}

async function readSource(source: SourceFile): Promise<RawSource | undefined> {
  const { file } = source;
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
  return { ...source, value: parsed.value ?? {}, positionOf: parsed.positionOf };
}

/** Two files are an error: one would be ignored, with its denials. */
export async function onlyFile(base: string): Promise<string | undefined> {
  const files = ENDINGS.map((ending) => `${base}.${ending}`);
  for (const file of files) noteLook(file);
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

type Imports = Record<Exclude<ForeignProgram, "servers">, boolean> & { mcp: unknown };

function importsOf(
  sources: readonly (RawSource | undefined)[],
  { except = [] }: { except?: readonly string[] } = {},
): Imports {
  const imports: Imports = { claude: true, codex: true, gemini: true, opencode: true, mcp: undefined };
  for (const source of sources) {
    const given = isObject(source?.value) ? source.value["import"] : undefined;
    if (!isObject(given)) continue;
    for (const program of ["claude", "codex", "gemini", "opencode"] as const) {
      const isOpen = source?.origin === "project" && except.includes(`import.${program}`);
      if (typeof given[program] === "boolean" && !isOpen) imports[program] = given[program];
    }
    imports.mcp = given["mcp"] ?? imports.mcp;
  }
  return imports;
}

/** The files whose MCP servers are used. Default: a project's `.mcp.json`. */
function serverFiles(
  mcp: unknown,
  { origin, base, user }: { origin: "user" | "project"; base: string; user: UserPaths },
): string[] {
  const named = mcp ?? (origin === "user" ? false : [".mcp.json"]);
  if (named === true) {
    const place = origin === "user" ? "home" : "folder";
    return FOREIGN_PLACES.filter((each) => each.in === place).map(({ path }) => join(base, path));
  }
  const files = Array.isArray(named) ? named.filter((file) => typeof file === "string") : [];
  return files.map((file) => (file.startsWith("~/") ? join(user.home, file.slice(2)) : resolve(base, file)));
}

/** The known files of other programs in a folder, and those that `import.mcp` names besides. */
function filesOf(
  place: ForeignPlace["in"],
  { base, imports, servers }: { base: string; imports: Imports; servers: readonly string[] },
): ForeignFile[] {
  const origin = place === "home" ? "user" : "project";
  const known = FOREIGN_PLACES.filter((each) => each.in === place).map(({ path, program }): ForeignFile => {
    const file = join(base, path);
    return {
      file,
      folder: place === "home" && program === "claude" ? join(base, ".claude") : base,
      origin: path.endsWith("settings.local.json") ? "local" : origin,
      program,
      isLeftOut: program !== "servers" && !imports[program],
      hasServers: program !== "claude" && servers.includes(file),
    };
  });
  const others = servers.filter((file) => !known.some((each) => each.file === file));
  return [
    ...others.map((file): ForeignFile => ({ file, folder: base, origin, program: "servers", hasServers: true })),
    ...known,
  ];
}

/** Lowest precedence first. Rules and denials of all of them have effect. */
export const ORIGINS = ["user", "project", "local", "environment", "call"] as const;
export type ConfigOriginName = (typeof ORIGINS)[number];

/** A file as it was read. Nothing in it has been expanded, checked or run. */
export interface RawSource {
  origin: ConfigOriginName;
  /** `mcp`: a list of servers. `foreign`: settings of another program, translated. `instructions`: imports of AGENTS.md. */
  kind: "haft" | "claude" | "foreign" | "mcp" | "instructions";
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
  /** For a file of another program: the path in the file of a path in `value`. Default: the same. */
  originalOf?(path: ConfigPath): ConfigPath;
  /** For a file of another program: what becomes of each setting, if all of it is trusted. */
  imported?: LocatedSetting[];
  /** Servers of other programs that are not started. */
  limits?: ServerLimits;
  /** Commands run confined, or not at all. */
  confinesCommands?: boolean;
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
  permissions: { allow: string[]; ask: string[]; deny: string[]; limits?: Limit[] };
  /** The same rules, each with its line. */
  rules: SourceRule[];
  hooks: HookSettings;
  /** For `createPolicyLayers`. The layers of all sources apply together, so none can widen another. */
  policy?: PolicyConfig;
}

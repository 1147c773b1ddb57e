import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConfigError, type ConfigProblem, showPath } from "./config-problem.ts";
import type { RawSource } from "./config-source.ts";
import { dropPaths } from "./drop-paths.ts";
import { formatOf, parseConfigText } from "./parse-config-text.ts";
import { listLeftOut } from "./read-claude-settings.ts";
import { readConfigText } from "./read-config-text.ts";
import { isObject } from "./read-mcp-servers.ts";
import { runConfigModule } from "./run-config-module.ts";
import type { UserPaths } from "./user-folder.ts";

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
  const local = await read({ origin: "local", kind: "haft", file: join(folder, ".haft", "config.yml"), folder });

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

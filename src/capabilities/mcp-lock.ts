import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseConfigText, readConfigText } from "../config/config-text.ts";
import { findMcpEntries } from "../config/mcp-entries.ts";
import { ConfigError, type ConfigPath, type SourcePosition } from "../config/problems.ts";
import { readSources } from "../config/sources.ts";
import { trustStatus } from "../config/trust.ts";
import { type UserOptions, userPaths } from "../config/user-paths.ts";
import { McpLock, type McpLockNow } from "../contracts/mcp.ts";
import { hideSecrets } from "../core/secrets/mask-secrets.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { type DefinitionLock, type LockedServer, lockedTools } from "../mcp/client/definition-lock.ts";
import type { McpHub } from "../mcp/client/mcp-hub.ts";
import type { LockedDefinition } from "../mcp/client/server-tools.ts";
import { isObject } from "../schema/json-schema.ts";

export const LOCK_FILE = "haft.lock";

export interface ReadLock {
  lock: DefinitionLock;
  positionOf(path: ConfigPath): SourcePosition | undefined;
}

/** Undefined if there is no such file. Throws a `ConfigError` if it cannot be read. */
export async function readLock(folder: string): Promise<ReadLock | undefined> {
  const file = join(folder, LOCK_FILE);
  const text = await readConfigText(file);
  if (text === null) return undefined;
  const { value, positionOf } = await parseConfigText(text, file, "json");
  const read = McpLock.safeParse(value);
  if (read.success) return { lock: read.data, positionOf };
  const [issue] = read.error.issues;
  throw new ConfigError([
    { file, path: issue?.path.join("."), message: `${issue?.message}. Write it with haft mcp lock.` },
  ]);
}

export async function writeLock(folder: string, lock: DefinitionLock): Promise<string> {
  const files = createFiles(createPathPolicy({ workspace: await realpath(folder), permitGlobs: [LOCK_FILE] }));
  await files.writeFileAtomic(LOCK_FILE, Buffer.from(`${JSON.stringify(lock, null, 2)}\n`), { mode: 0o644 });
  return join(folder, LOCK_FILE);
}

/** The definitions in the lock file of the folder, to compare tools with that nobody has approved here. */
export async function readLocked(folder: string, warn: (warning: string) => void): Promise<LockedDefinition> {
  let lock: DefinitionLock | undefined;
  try {
    lock = (await readLock(folder))?.lock;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    warn(`${LOCK_FILE} is not used: ${error.message}`);
  }
  return (server, tool) => {
    const locked = lock?.servers.find(({ name }) => name === server);
    if (!locked) return undefined;
    const known = locked.tools.find(({ name }) => name === tool);
    return known ? { hash: known.hash, definition: JSON.stringify(known.definition) } : { hash: "", definition: "{}" };
  };
}

/** What a lock file would have now, for the servers that the files of the folder configure. */
export async function lockNow({
  folder,
  user,
  hub,
}: {
  folder: string;
  user: UserOptions;
  hub: McpHub;
}): Promise<McpLockNow> {
  const servers: LockedServer[] = [];
  const missing: McpLockNow["missing"] = [];
  const items = (await trustStatus(folder, user).catch(() => undefined))?.items ?? [];
  for (const [name, launch] of await folderLaunches(folder, user)) {
    const status = hub.status().find((each) => each.name === name);
    const isChanged = !status && items.some((item) => item.name === name && item.isChanged);
    const error = isChanged ? "it changed since you trusted it" : status?.error;
    if (status?.state === "ready") servers.push({ name, launch, tools: lockedTools(hub.definitions(name)) });
    else missing.push({ name, state: status?.state ?? "not_trusted", error });
  }
  return { lock: { version: 1, servers }, missing };
}

type Launch = LockedServer["launch"];

async function folderLaunches(folder: string, user: UserOptions): Promise<[string, Launch][]> {
  const paths = userPaths(user);
  const { sources } = await readSources(folder, paths);
  const launches = new Map<string, Launch>();
  for (const { kind, origin, file, value } of sources) {
    if (origin === "user" || (kind !== "mcp" && kind !== "haft")) continue;
    // A later file takes precedence.
    for (const { name, fields } of findMcpEntries(value, file)) {
      launches.set(name, {
        ...launchOf(fields),
        ...(await packageOf(fields, { folder, home: paths.home, env: paths.env })),
      });
    }
  }
  return [...launches].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Fields that do not decide what starts. */
const NO_LAUNCH = new Set(["name", "description", "enabled", "disabled", "timeout", "alwaysLoad", "trust"]);

/** As the file has it: variables stay variables, and of the environment and the headers only the names are kept. */
function launchOf(fields: Readonly<Record<string, unknown>>): Launch {
  const kept = Object.entries(fields).filter(([key, value]) => !NO_LAUNCH.has(key) && value !== undefined);
  return Object.fromEntries(
    kept.map(([key, value]): [string, unknown] => {
      if (/url$/i.test(key) && typeof value === "string") return [key, hideSecrets(value)];
      const hasSecrets = /^(?:env|environment|oauth)$|headers$/i.test(key);
      return [key, hasSecrets && isObject(value) ? Object.keys(value).sort() : value];
    }),
  );
}

interface Place {
  folder: string;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** The npm package that a command runs, and what npm has verified of it. */
async function packageOf(fields: Readonly<Record<string, unknown>>, place: Place): Promise<{ package?: object }> {
  const spec = npmSpec([fields["command"], fields["args"]].flat().filter((word) => typeof word === "string"));
  const [, name, requested] = /^((?:@[\w.~-]+\/)?[\w.~-]+)(?:@(.+))?$/.exec(spec ?? "") ?? [];
  if (name === undefined) return {};
  return { package: { name, requested, ...(await installedPackage(name, place)) } };
}

/** `npx -y NAME@1`, `pnpm dlx NAME`, `npm exec -- NAME`, `bunx NAME`. */
function npmSpec([command = "", ...args]: readonly string[]): string | undefined {
  const program = basename(command).replace(/\.(?:cmd|exe|ps1)$/i, "");
  const isRunner = /^(?:npx|bunx|pnpx)$/.test(program);
  if (!isRunner && !(/^(?:npm|pnpm|yarn|bun)$/.test(program) && /^(?:exec|dlx|x)$/.test(args[0] ?? "")))
    return undefined;
  const words = isRunner ? args : args.slice(1);
  const named = words.findIndex((word) => word === "-p" || word === "--package");
  if (named >= 0) return words[named + 1];
  return words.find((word) => word.startsWith("--package="))?.slice(10) ?? words.find((word) => !word.startsWith("-"));
}

async function installedPackage(name: string, { folder, home, env }: Place): Promise<object> {
  const cache = join(env["npm_config_cache"] ?? join(home, ".npm"), "_npx");
  const runs = await readdir(cache).catch(() => []);
  const cached = await Promise.all(
    runs.map(async (run) => {
      const file = join(cache, run, "package-lock.json");
      return {
        file,
        at: await stat(file).then(
          (info) => info.mtimeMs,
          () => 0,
        ),
      };
    }),
  );
  const newest = cached.filter(({ at }) => at > 0).sort((one, other) => other.at - one.at);
  for (const file of [join(folder, "package-lock.json"), ...newest.map((each) => each.file)]) {
    const found = await readPackage(file, name);
    if (found) return found;
  }
  return {};
}

async function readPackage(file: string, name: string): Promise<object | undefined> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
    const packages = isObject(parsed) && isObject(parsed["packages"]) ? parsed["packages"] : {};
    const found = packages[`node_modules/${name}`];
    return isObject(found) ? { version: found["version"], integrity: found["integrity"] } : undefined;
  } catch {
    return undefined;
  }
}

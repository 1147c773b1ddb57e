import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, toolError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import type { ProgramAccess } from "../io/sandbox/program-sandbox.ts";
import { isObject } from "../schema/json-schema.ts";
import { FOREIGN_PLACES, programOf, readForeignFile } from "./foreign/foreign-files.ts";
import { limitOf, type ServerLimits } from "./foreign/server-limits.ts";
import type { ImportedSetting } from "./foreign/settings-reader.ts";
import { type McpDialect, type McpServerConfig, readMcpServers } from "./mcp-entries.ts";
import { showProblem } from "./problems.ts";
import type { Environment } from "./variables.ts";

/** A server in `.mcp.json`. */
export interface McpJsonServer extends ProgramAccess {
  type?: string;
  command?: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  url?: string;
  headers?: Readonly<Record<string, string>>;
  headersHelper?: string;
  oauth?: unknown;
  cwd?: string;
  disabled?: true;
  includeTools?: readonly string[];
  excludeTools?: readonly string[];
  /** Milliseconds. */
  timeout?: number;
  alwaysLoad?: boolean;
}

export interface AddedServer {
  file: string;
  /** Another server had this name. */
  replaced: boolean;
  /** It is there already, with the same settings. */
  unchanged: boolean;
}

/**
 * Adds a server to `.mcp.json` of a folder. If one of this name is there with other settings, it is replaced only if `replaces` is
 * true; otherwise nothing is written, and a `ToolError` with the code `conflict` says so.
 */
export async function addMcpServer(
  folder: string,
  name: string,
  server: McpJsonServer,
  { replaces = false }: { replaces?: boolean } = {},
): Promise<AddedServer> {
  const file = mcpJsonOf(folder);
  const added = { file, replaced: false, unchanged: false };
  await changeServers(file, (servers) => {
    if (Object.hasOwn(servers, name)) {
      added.unchanged = isSameServer(servers[name], server);
      added.replaced = !added.unchanged;
      if (added.replaced && !replaces) throw takenName(file, [name]);
    }
    return { ...servers, [name]: server };
  });
  return added;
}

/** Of these names, those that are in `.mcp.json` of a folder with other settings. */
export async function takenNames(folder: string, servers: readonly NamedServer[]): Promise<string[]> {
  const known = serversOf(await readSettings(mcpJsonOf(folder)));
  return servers
    .filter(({ name, entry }) => Object.hasOwn(known, name) && !isSameServer(known[name], entry))
    .map(({ name }) => name);
}

export interface NamedServer {
  name: string;
  entry: McpJsonServer;
}

export function takenName(file: string, names: readonly string[]): Error {
  const listed = names.map((name) => JSON.stringify(name)).join(", ");
  const are = names.length === 1 ? "is" : "are";
  return toolError("conflict", `${listed} ${are} in ${file} already, with other settings, so nothing was written`, {
    next: "Replace what is there, or add it under another name.",
    data: { names },
  });
}

function isSameServer(known: unknown, server: McpJsonServer): boolean {
  // As a reader of the file gets it: without fields that are undefined.
  return canonicalJson(known) === canonicalJson(JSON.parse(JSON.stringify(server)));
}

/** Removes a server from `.mcp.json` of a folder. Returns false if it is not there. */
export async function removeMcpServer(folder: string, name: string): Promise<boolean> {
  let wasThere = false;
  await changeServers(mcpJsonOf(folder), ({ [name]: removed, ...others }) => {
    wasThere = removed !== undefined;
    return others;
  });
  return wasThere;
}

export function mcpJsonOf(folder: string): string {
  return join(folder, ".mcp.json");
}

type Servers = Readonly<Record<string, unknown>>;

async function changeServers(file: string, change: (servers: Servers) => Servers): Promise<void> {
  await withFileLock(file, async () => {
    const settings = await readSettings(file);
    const text = JSON.stringify({ ...settings, mcpServers: change(serversOf(settings)) }, null, 2);
    const fresh = `${file}.${process.pid}.tmp`;
    await writeFile(fresh, `${text}\n`, { mode: 0o600 });
    await rename(fresh, file);
  });
}

function serversOf(settings: Readonly<Record<string, unknown>>): Servers {
  return isObject(settings["mcpServers"]) ? settings["mcpServers"] : {};
}

/** A server of another client, and how it is written to `.mcp.json`. */
export interface ImportedServer {
  server: McpServerConfig;
  entry: McpJsonServer;
}

export interface McpImport {
  /** The client. */
  dialect: McpDialect;
  servers: ImportedServer[];
  /** What was inferred, and what could not be converted. */
  notes: string[];
  /** What becomes of each setting of the file. */
  imported: ImportedSetting[];
}

/** Reads the servers of another client's configuration, to be written with `addMcpServer`. */
export async function readMcpImport(
  source: { file: string } | { text: string },
  { env, folder, home }: { env: Environment; folder: string; home: string },
): Promise<McpImport> {
  // Variables stay variables: their values are secrets and must not get into a file.
  const names = new Proxy(env, { get: (_env, name) => `\${${String(name)}}` });
  const { dialect, servers, notes } = await readMcpServers(source, { env: names, folder });
  const { imported, limits } = "file" in source ? await reportImport(source.file, { folder, home }) : NOTHING_ELSE;
  const read: McpImport = { dialect, servers: [], notes: notes.map(showProblem), imported };
  for (const server of servers) {
    const limit = limitOf(server, limits);
    const { entry, notes: left } = toMcpJson(limit === undefined ? server : { ...server, enabled: false });
    read.servers.push({ server, entry });
    read.notes.push(...left.map((note) => `MCP server "${server.name}": ${note}`));
    if (limit !== undefined) read.notes.push(`MCP server "${server.name}": disabled, because ${limit}.`);
  }
  return read;
}

const NOTHING_ELSE: { imported: ImportedSetting[]; limits: ServerLimits[] } = { imported: [], limits: [] };

/** The other settings of the file have effect only where Haft reads them: in the folder and in the home folder. */
async function reportImport(
  file: string,
  { folder, home }: { folder: string; home: string },
): Promise<typeof NOTHING_ELSE> {
  const read = await readForeignFile({ file, program: programOf(file), hasServers: true, origin: "project", folder });
  const isRead = FOREIGN_PLACES.some((place) => join(place.in === "home" ? home : folder, place.path) === file);
  const imported = (read?.sources ?? []).flatMap(({ kind, imported: lines = [] }) =>
    lines.map(({ at: _at, isMisspelled: _isMisspelled, ...line }): ImportedSetting => {
      if (kind === "mcp" || isRead || line.outcome === "not_applied") return line;
      const reason = "Only MCP servers are imported. Haft reads other settings in the folder and in your home folder.";
      return { ...line, outcome: "not_applied", reason };
    }),
  );
  return { imported, limits: (read?.sources ?? []).flatMap(({ limits }) => limits ?? []) };
}

/** Converts a server of another client's file. The notes name what was not converted. */
export function toMcpJson(server: McpServerConfig): { entry: McpJsonServer; notes: string[] } {
  const { enabled, includeTools, excludeTools, timeoutMs: timeout, alwaysLoad, trust } = server;
  const entry = {
    ...reachOf(server),
    ...(enabled ? {} : { disabled: true as const }),
    ...given({ includeTools, excludeTools, timeout, alwaysLoad }),
  };
  // What another program may do without asking does not apply here.
  const notes = trust === true ? ['"trust" is not converted: allow its tools by rules.'] : [];
  return { entry, notes };
}

function reachOf(server: McpServerConfig): McpJsonServer {
  if (server.transport !== "stdio") {
    const { transport: type, url, headers, headersHelper, oauth } = server;
    return {
      type,
      url,
      headers: Object.keys(headers).length > 0 ? headers : undefined,
      ...given({ headersHelper, oauth }),
    };
  }
  const { command, args, env, cwd, network, read, write, sandbox } = server;
  return {
    command,
    args: args.length > 0 ? args : undefined,
    env: Object.keys(env).length > 0 ? env : undefined,
    ...given({ cwd, network, read, write, sandbox }),
  };
}

function given<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

async function readSettings(file: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return {};
    throw error;
  }
  try {
    const settings: unknown = JSON.parse(text);
    if (isObject(settings)) return settings;
  } catch {
    // Reported below. A file that cannot be read is not overwritten.
  }
  throw toolError("bad_encoding", `${file} is not a JSON object, so nothing was added to it`, {
    next: "Fix it first.",
  });
}

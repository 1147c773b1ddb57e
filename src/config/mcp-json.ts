import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, toolError } from "../core/error.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import { isObject } from "../schema/json-schema.ts";
import { type McpDialect, type McpServerConfig, readMcpServers } from "./mcp-entries.ts";
import { showProblem } from "./problems.ts";
import type { Environment } from "./variables.ts";

/** A server in `.mcp.json`. */
export interface McpJsonServer {
  type?: string;
  command?: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  url?: string;
  headers?: Readonly<Record<string, string>>;
  headersHelper?: string;
  oauth?: unknown;
  cwd?: string;
  network?: "all" | "none" | readonly string[];
  read?: readonly string[];
  write?: readonly string[];
  sandbox?: boolean;
  disabled?: true;
  includeTools?: readonly string[];
  excludeTools?: readonly string[];
  /** Milliseconds. */
  timeout?: number;
  alwaysLoad?: boolean;
}

/** Adds a server to `.mcp.json` of a folder, or replaces the one of the same name. */
export async function addMcpServer(
  folder: string,
  name: string,
  server: McpJsonServer,
): Promise<{ file: string; replaced: boolean }> {
  const file = mcpJsonOf(folder);
  const replaced = await changeServers(file, (servers) => ({ ...servers, [name]: server }), name);
  return { file, replaced };
}

/** Removes a server from `.mcp.json` of a folder. Returns false if it is not there. */
export async function removeMcpServer(folder: string, name: string): Promise<boolean> {
  return changeServers(mcpJsonOf(folder), ({ [name]: _removed, ...others }) => others, name);
}

export function mcpJsonOf(folder: string): string {
  return join(folder, ".mcp.json");
}

/** Returns whether there was a server of this name. */
async function changeServers(
  file: string,
  change: (servers: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
  name: string,
): Promise<boolean> {
  return withFileLock(file, async () => {
    const settings = await readSettings(file);
    const servers = isObject(settings["mcpServers"]) ? settings["mcpServers"] : {};
    const text = JSON.stringify({ ...settings, mcpServers: change(servers) }, null, 2);
    const fresh = `${file}.${process.pid}.tmp`;
    await writeFile(fresh, `${text}\n`, { mode: 0o600 });
    await rename(fresh, file);
    return Object.hasOwn(servers, name);
  });
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
}

/** Reads the servers of another client's configuration, to be written with `addMcpServer`. */
export async function readMcpImport(
  source: { file: string } | { text: string },
  { env, folder }: { env: Environment; folder: string },
): Promise<McpImport> {
  // Variables stay variables: their values are secrets and must not get into a file.
  const names = new Proxy(env, { get: (_env, name) => `\${${String(name)}}` });
  const { dialect, servers, notes } = await readMcpServers(source, { env: names, folder });
  const read: McpImport = { dialect, servers: [], notes: notes.map(showProblem) };
  for (const server of servers) {
    const { entry, notes: left } = toMcpJson(server);
    read.servers.push({ server, entry });
    read.notes.push(...left.map((note) => `MCP server "${server.name}": ${note}`));
  }
  return read;
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

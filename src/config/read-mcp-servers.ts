import { homedir } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { ConfigError, type ConfigPath, type ConfigProblem, showPath } from "./config-problem.ts";
import type { ClientVariables } from "./expand-client-variables.ts";
import type { McpDialect, McpServerConfig } from "./mcp-server-config.ts";
import { formatOf, parseConfigText, type ConfigFormat, type ParsedText } from "./parse-config-text.ts";
import { readConfigText } from "./read-config-text.ts";
import { readMcpEntry } from "./read-mcp-entry.ts";

export interface ReadMcpOptions extends Partial<ClientVariables> {
  /** Told from the file's name and its keys where absent. */
  dialect?: McpDialect;
  /** Of a text: how it is written; JSON (with all that JSON5 admits) where absent. */
  format?: ConfigFormat;
}

export interface McpServerList {
  dialect: McpDialect;
  servers: McpServerConfig[];
  /** What was inferred, what is missing, and what could not be carried over. */
  notes: ConfigProblem[];
}

/** An entry as it stands in a file, before anything is expanded. */
export interface RawMcpEntry {
  name: string;
  path: ConfigPath;
  fields: Record<string, unknown>;
}

/** Reads the MCP servers of any client's file. Throws a `ConfigError` where there is none, or it cannot be read. */
export async function readMcpServers(
  source: { file: string } | { text: string; file?: string },
  options: ReadMcpOptions = {},
): Promise<McpServerList> {
  const { file } = source;
  const text = "text" in source ? source.text : await readConfigText(source.file);
  if (text === null) throw new ConfigError([{ file, message: "There is no such file." }]);
  const format = options.format ?? (file === undefined ? "json" : formatOf(file));
  const parsed = await parseConfigText(text, file ?? "(text)", format);
  const dialect = options.dialect ?? dialectOf(parsed.value, file, format);
  const variables: ClientVariables = {
    env: options.env ?? process.env,
    home: options.home ?? homedir(),
    folder: options.folder ?? workspaceOf(file),
  };
  const entries = findMcpEntries(parsed.value, file);
  return { dialect, ...readMcpEntries(entries, { dialect, file, variables, parsed }) };
}

export interface EntryOrigin {
  dialect: McpDialect;
  file: string | undefined;
  variables: ClientVariables;
  parsed?: Pick<ParsedText, "positionOf">;
}

export function readMcpEntries(
  entries: readonly RawMcpEntry[],
  { dialect, file, variables, parsed }: EntryOrigin,
): { servers: McpServerConfig[]; notes: ConfigProblem[] } {
  const servers: McpServerConfig[] = [];
  const notes: ConfigProblem[] = [];
  for (const { name, path, fields } of entries) {
    const position = parsed?.positionOf(path);
    const read = readMcpEntry({ name, fields, dialect, file, line: position?.line }, variables);
    const where = { ...(file === undefined ? {} : { file }), ...position, path: showPath(path) };
    notes.push(...read.notes.map((note) => ({ ...where, message: `MCP server "${name}": ${note}` })));
    if (read.server && servers.some((other) => other.name === name)) {
      notes.push({ ...where, message: `MCP server "${name}" is there twice; the later one counts.` });
      servers.splice(
        servers.findIndex((other) => other.name === name),
        1,
      );
    }
    if (read.server) servers.push(read.server);
  }
  return { servers, notes };
}

/** The places where clients keep their servers: an object by name, or the seed's list with names in it. */
const KEYS: readonly ConfigPath[] = [
  ["mcpServers"],
  ["servers"],
  ["mcp_servers"],
  ["mcp", "servers"],
  ["tools", "mcpServers"],
];

/** Throws a `ConfigError` for an entry that is no object, so that none is lost in silence. */
export function findMcpEntries(value: unknown, file?: string): RawMcpEntry[] {
  if (Array.isArray(value)) return entriesOf(value, [], file);
  return KEYS.flatMap((key) => {
    let at = value;
    for (const part of key) at = isObject(at) ? at[part as string] : undefined;
    return at === undefined || at === null ? [] : entriesOf(at, key, file);
  });
}

function entriesOf(value: unknown, path: ConfigPath, file: string | undefined): RawMcpEntry[] {
  const fail = (at: ConfigPath, message: string): never => {
    throw new ConfigError([{ file, path: showPath(at), message }]);
  };
  if (Array.isArray(value)) {
    return value.map((fields: unknown, index) => {
      const at = [...path, index];
      if (!isObject(fields) || typeof fields["name"] !== "string") return fail(at, 'Must be an object with a "name".');
      return { name: fields["name"], path: at, fields };
    });
  }
  if (!isObject(value)) return fail(path, "Must be an object of servers by name, or a list.");
  return Object.entries(value).map(([name, fields]) => {
    if (!isObject(fields)) return fail([...path, name], "Must be an object.");
    return { name, path: [...path, name], fields };
  });
}

export function dialectOf(value: unknown, file: string | undefined, format = formatOf(file ?? "")): McpDialect {
  const keys = isObject(value) ? value : {};
  if (format === "toml" || "mcp_servers" in keys) return "codex";
  const path = (file ?? "").replaceAll("\\", "/");
  if (/\.cursor\//.test(path)) return "cursor";
  if (/\.gemini\//.test(path)) return "gemini";
  if (/\.vscode\//.test(path) || "servers" in keys || "inputs" in keys) return "vscode";
  if (isObject(keys["mcp"]) && "servers" in keys["mcp"]) return "openclaw";
  if (Array.isArray(value) || "tools" in keys || Array.isArray(keys["mcpServers"])) return "haft";
  const text = JSON.stringify(keys["mcpServers"] ?? {});
  if (/\$\{(env:|workspaceFolder|userHome)/.test(text)) return "cursor";
  return /"httpUrl":/.test(text) ? "gemini" : "claude";
}

/** The folder that a client's file belongs to: the one above `.cursor/`, `.vscode/`, `.gemini/`. */
function workspaceOf(file: string | undefined): string {
  if (file === undefined) return process.cwd();
  const folder = dirname(resolve(file));
  return /^\.(cursor|vscode|gemini|codex|claude)$/.test(basename(folder)) ? dirname(folder) : folder;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

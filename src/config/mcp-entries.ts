import { homedir } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { didYouMean, nearestNames } from "../core/nearest-name.ts";
import { parseHostPattern } from "../io/net/url-check.ts";
import type { ProgramAccess } from "../io/sandbox/program-sandbox.ts";
import { isObject } from "../schema/json-schema.ts";
import { type ConfigFormat, formatOf, parseConfigText, type ParsedText, readConfigText } from "./config-text.ts";
import { ConfigError, type ConfigPath, type ConfigProblem, showPath } from "./problems.ts";
import { type ClientVariables, expandClientVariables } from "./variables.ts";

export interface ReadMcpOptions extends Partial<ClientVariables> {
  /** Default: inferred from the file's name and its keys. */
  dialect?: McpDialect;
  /** The format of a text. Default: JSON, JSON5 included. */
  format?: ConfigFormat;
}

export interface McpServerList {
  dialect: McpDialect;
  servers: McpServerConfig[];
  /** What was inferred, is missing, or could not be converted. */
  notes: ConfigProblem[];
}

/** An entry as written in a file, before variables are expanded. */
export interface RawMcpEntry {
  name: string;
  path: ConfigPath;
  fields: Record<string, unknown>;
}

/** Reads the MCP servers of any client's file. Throws a `ConfigError` if it does not exist or cannot be read. */
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
  const { servers, notes } = readMcpEntries(entries, { dialect, file, variables, parsed });
  return { dialect, servers, notes };
}

export interface EntryOrigin {
  dialect: McpDialect;
  file: string | undefined;
  variables: ClientVariables;
  parsed?: Pick<ParsedText, "positionOf">;
}

export interface ReadEntries {
  servers: McpServerConfig[];
  notes: ConfigProblem[];
  /** Fields that have no effect, with their paths. */
  unused: ConfigPath[];
}

export function readMcpEntries(
  entries: readonly RawMcpEntry[],
  { dialect, file, variables, parsed }: EntryOrigin,
): ReadEntries {
  const servers: McpServerConfig[] = [];
  const notes: ConfigProblem[] = [];
  const unused: ConfigPath[] = [];
  for (const { name, path, fields } of entries) {
    const position = parsed?.positionOf(path);
    const read = readMcpEntry({ name, fields, dialect, file, line: position?.line }, variables);
    const where = { file, ...position, path: showPath(path) };
    notes.push(...read.notes.map((note) => ({ ...where, message: `MCP server "${name}": ${note}` })));
    unused.push(...read.unused.map((key) => [...path, key]));
    if (read.server && servers.some((other) => other.name === name)) {
      notes.push({ ...where, message: `MCP server "${name}" is there twice; the later one is used.` });
      servers.splice(
        servers.findIndex((other) => other.name === name),
        1,
      );
    }
    if (read.server) servers.push(read.server);
  }
  return { servers, notes, unused };
}

/** The keys under which clients keep their servers: an object by name, or a list with names. */
const KEYS: readonly ConfigPath[] = [
  ["mcpServers"],
  ["servers"],
  ["mcp_servers"],
  ["mcp", "servers"],
  ["tools", "mcpServers"],
];

/** Whether an entry starts Haft itself, for another client. Haft never starts that one. */
export function isHaftServer(fields: Readonly<Record<string, unknown>>): boolean {
  const words = [fields["command"], fields["args"]].flat().filter((word) => typeof word === "string");
  const at = words.indexOf("mcp") - 1;
  const program = words[at];
  if (program === undefined) return false;
  // Nothing else may be in between that could be the program.
  const isStarted =
    at === 0 || (RUNNER.test(words[0] ?? "") && words.slice(1, at).every((word) => /^(?:-y|--yes)$/.test(word)));
  const isOwn = program === process.argv[1] && /[\\/]cli[\\/]main\.[jt]s$/.test(program);
  return isStarted && (isOwn || HAFT_PROGRAM.test(program));
}

const RUNNER = /(?:^|[\\/])(?:node|npx|bunx)(?:\.cmd|\.exe)?$/;
const HAFT_PROGRAM = /(?:^|[\\/])haft(?:@[\w.-]+|\.cmd|\.exe|\.ps1|[\\/]dist[\\/]cli[\\/]main\.js)?$/;

/** Without entries that start Haft itself. Throws a `ConfigError` for an entry that is not an object. */
export function findMcpEntries(value: unknown, file?: string): RawMcpEntry[] {
  return allEntries(value, file).filter(({ fields }) => !isHaftServer(fields));
}

function allEntries(value: unknown, file?: string): RawMcpEntry[] {
  if (Array.isArray(value)) return entriesOf(value, [], file);
  if (isOpencode(value, file)) {
    const servers = isObject(value) ? value["mcp"] : undefined;
    return servers === undefined || servers === null ? [] : entriesOf(servers, ["mcp"], file);
  }
  return KEYS.flatMap((key) => {
    let at = value;
    for (const part of key) at = isObject(at) ? at[part] : undefined;
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

/** OpenCode keeps its servers under `mcp`, where Gemini has other settings. */
function isOpencode(value: unknown, file: string | undefined): boolean {
  if (/(?:^|[\\/])opencode\.jsonc?$/.test(file ?? "")) return true;
  const schema = isObject(value) ? value["$schema"] : undefined;
  return typeof schema === "string" && schema.includes("opencode.ai");
}

export function dialectOf(value: unknown, file: string | undefined, format = formatOf(file ?? "")): McpDialect {
  const keys = isObject(value) ? value : {};
  if (isOpencode(value, file)) return "opencode";
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

export interface McpEntry {
  name: string;
  fields: Record<string, unknown>;
  dialect: McpDialect;
  file?: string;
  line?: number;
}

export interface ReadEntry {
  /** Undefined if the entry does not say how to reach the server. */
  server?: McpServerConfig;
  /** What was inferred, and what could not be converted. */
  notes: string[];
  /** Fields that have no effect. */
  unused: string[];
}

const TRANSPORTS: Readonly<Record<string, McpServerConfig["transport"]>> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  "streamable-http": "http",
  streamablehttp: "http",
  streamable_http: "http",
  remote: "http",
  sse: "sse",
  ws: "ws",
  websocket: "ws",
};

/** Fields that affect neither the connection nor permissions. */
const HARMLESS = new Set(["name", "description", "$schema", "gallery", "version", "icon", "title", "displayName"]);

/** Fields of other clients that have no meaning here. They are not misspellings. */
const KNOWN_ELSEWHERE = new Set([
  ..."auth envFile dev sandbox sandboxEnabled autoApprove alwaysAllow authProviderType scopes".split(" "),
  ...["required", "tools", "approval_mode", "default_tools_approval_mode", "bearer_token", "instructions", "extension"],
]);

/** Fields that only servers with an address have. */
const REMOTE_KEYS = [
  ...["url", "httpUrl", "serverUrl", "headers", "http_headers", "env_http_headers"],
  ...["bearer_token_env_var", "headersHelper", "oauth"],
];

/** Converts an entry of any dialect. */
function readMcpEntry(
  { name, fields, dialect, file, line: lineNumber }: McpEntry,
  variables: ClientVariables,
): ReadEntry {
  const notes: string[] = [];
  const unused: string[] = [];
  const missing = new Set<string>();
  const used = new Set<string>();
  const field = (key: string): unknown => {
    used.add(key);
    return fields[key];
  };
  const expand = (text: string) => expandClientVariables(text, dialect, variables, (what) => missing.add(what));
  const wrong = (key: string, wanted: string): undefined => {
    notes.push(`"${key}" must be ${wanted}, and is left out.`);
  };
  const text = (...keys: string[]): string | undefined => {
    for (const key of keys) {
      const value = field(key);
      if (typeof value === "string") return expand(value);
      if (value !== undefined && value !== null) wrong(key, "text");
    }
    return undefined;
  };
  const list = (...keys: string[]): string[] | undefined => {
    for (const key of keys) {
      const value = field(key);
      if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.map(expand);
      if (value !== undefined && value !== null) wrong(key, "a list of texts");
    }
    return undefined;
  };
  const record = (...keys: string[]): Record<string, string> => {
    const entries: [string, string][] = [];
    for (const key of keys) {
      const value = field(key);
      if (value === undefined || value === null) continue;
      if (typeof value !== "object" || Array.isArray(value)) wrong(key, "an object of texts");
      else for (const [each, of] of Object.entries(value)) if (of !== null) entries.push([each, expand(String(of))]);
    }
    return Object.fromEntries(entries);
  };
  const fromEnvironment = (variable: string): string => {
    const value = variables.env[variable];
    if (value === undefined) missing.add(variable);
    return value ?? `\${${variable}}`;
  };

  const type = text("type", "transport");
  // OpenCode has the program and its arguments in one list.
  const line = Array.isArray(fields["command"]) ? list("command") : undefined;
  const command = line ? line[0] : text("command");
  const args = line ? [...line.slice(1), ...(list("args") ?? [])] : list("args");
  const httpUrl = text("httpUrl");
  const url = httpUrl ?? text("url", "serverUrl");
  const headers = record("headers", "http_headers");
  const bearer = field("bearer_token_env_var");
  if (typeof bearer === "string") headers["Authorization"] = `Bearer ${fromEnvironment(bearer)}`;
  for (const [header, variable] of Object.entries(record("env_http_headers")))
    headers[header] = fromEnvironment(variable);
  const env = record("env", "environment");
  for (const variable of list("env_vars") ?? []) {
    const value = variables.env[variable];
    if (value !== undefined) env[variable] = value;
  }
  const timeoutMs = milliseconds(field("timeout")) ?? milliseconds(field("tool_timeout_sec"), 1000);
  if (field("startup_timeout_sec") !== undefined) {
    unused.push("startup_timeout_sec");
    notes.push('"startup_timeout_sec" is not converted.');
  }
  const cwd = text("cwd");
  const headersHelper = text("headersHelper");
  const oauth = field("oauth");
  const enabled = field("enabled") !== false && field("disabled") !== true;
  const includeTools = list("includeTools", "enabled_tools");
  const excludeTools = list("excludeTools", "disabled_tools");
  const trust = field("trust");
  const confinement = readConfinement(field, expand);
  if (typeof confinement === "string") return { unused, notes: [...notes, `${confinement} The server is not used.`] };
  const alwaysLoad = field("alwaysLoad");

  const declared = type === undefined ? undefined : TRANSPORTS[type.toLowerCase()];
  if (type !== undefined && declared === undefined) {
    const near = didYouMean(type, Object.keys(TRANSPORTS)) ?? "Transports: stdio, http, sse, ws.";
    notes.push(`The transport "${type}" is not known. ${near}`);
  }
  for (const key of Object.keys(fields)) {
    if (used.has(key) || HARMLESS.has(key)) continue;
    unused.push(key);
    const [near] = KNOWN_ELSEWHERE.has(key) ? [] : nearestNames(key, used, 1);
    notes.push(`"${key}" is not converted.${near ? ` Did you mean "${near}"?` : ""}`);
  }
  const transport = declared ?? inferTransport({ command, url, isHttpUrl: httpUrl !== undefined, dialect });
  if (type !== undefined && declared === undefined) return { notes, unused };
  if (!transport) return { unused, notes: [...notes, 'It has neither "command" nor "url"; set one of them.'] };
  if (declared === undefined && transport !== "stdio") {
    notes.push(`The transport is not given; "${transport}" was inferred. Set "type".`);
  }
  const shared = {
    name,
    enabled,
    isInferred: declared === undefined,
    includeTools,
    excludeTools,
    timeoutMs,
    trust: typeof trust === "boolean" ? trust : undefined,
    alwaysLoad: typeof alwaysLoad === "boolean" ? alwaysLoad : undefined,
    dialect,
    file,
    line: lineNumber,
  };
  if (missing.size > 0) notes.push(`Not set: ${[...missing].join(", ")}. They stay as written.`);
  if (transport === "stdio") {
    if (command === undefined) return { unused, notes: [...notes, 'A stdio server needs "command".'] };
    for (const key of REMOTE_KEYS.filter((each) => fields[each] !== undefined && fields[each] !== null)) {
      unused.push(key);
      notes.push(`"${key}" is not converted: a stdio server has none.`);
    }
    const place = cwd === undefined ? {} : { cwd };
    const server = { ...shared, transport, command, args: args ?? [], env, ...place, ...confinement };
    return { server: { ...server, missing: [...missing] }, notes, unused };
  }
  if (url === undefined) return { unused, notes: [...notes, `A server with transport "${transport}" needs "url".`] };
  const remote = {
    ...shared,
    transport,
    url,
    headers,
    ...(headersHelper === undefined ? {} : { headersHelper }),
    ...(oauth === undefined ? {} : { oauth }),
  };
  return { server: { ...remote, missing: [...missing] }, notes, unused };
}

type Confinement = Pick<StdioServer, "network" | "read" | "write" | "sandbox">;

/** Returns the problem of a value that cannot be read: without it the server could do more than was meant. */
function readConfinement(field: (key: string) => unknown, expand: (text: string) => string): Confinement | string {
  const read: Confinement = {};
  const network = field("network");
  if (network === "all" || network === "none") read.network = network;
  else if (isTexts(network)) {
    const wrong = network.find((host) => parseHostPattern(host) === undefined);
    if (wrong !== undefined) return `"network" lists ${JSON.stringify(wrong)}, which is not a host name.`;
    read.network = network;
  } else if (network !== undefined) return '"network" must be "all", "none" or a list of hosts.';
  for (const key of ["read", "write"] as const) {
    const paths = field(key);
    if (isTexts(paths)) read[key] = paths.map(expand);
    else if (paths !== undefined) return `"${key}" must be a list of paths.`;
  }
  const sandbox = field("sandbox");
  if (typeof sandbox === "boolean") read.sandbox = sandbox;
  return read;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

interface Reach {
  command: string | undefined;
  url: string | undefined;
  isHttpUrl: boolean;
  dialect: McpDialect;
}

function inferTransport({ command, url, isHttpUrl, dialect }: Reach): McpServerConfig["transport"] | undefined {
  if (url === undefined) return command === undefined ? undefined : "stdio";
  if (/^wss?:/i.test(url)) return "ws";
  return dialect === "gemini" && !isHttpUrl ? "sse" : "http";
}

function milliseconds(value: unknown, factor = 1): number | undefined {
  return typeof value === "number" && value > 0 ? value * factor : undefined;
}

/** The client whose format the list of MCP servers has. */
export type McpDialect = "haft" | "claude" | "cursor" | "vscode" | "gemini" | "codex" | "openclaw" | "opencode";

interface AnyServer {
  name: string;
  enabled: boolean;
  /** The transport is not given and was inferred from other fields. */
  isInferred: boolean;
  includeTools?: readonly string[];
  excludeTools?: readonly string[];
  timeoutMs?: number;
  /** The file's own `trust` field: calls without asking. Not the trust of the folder. */
  trust?: boolean;
  alwaysLoad?: boolean;
  /** Of an entry that a person has trusted: its digest. */
  entryDigest?: string;
  dialect: McpDialect;
  file?: string;
  line?: number;
  /** Variables that are not set, and `${input:…}` that a person must give. The texts stay as written. */
  missing: readonly string[];
}

export interface StdioServer extends AnyServer, ProgramAccess {
  transport: "stdio";
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd?: string;
}

export interface RemoteServer extends AnyServer {
  transport: "http" | "sse" | "ws";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** A command that prints headers as JSON. It is executed. */
  headersHelper?: string;
  oauth?: unknown;
}

/** One server, from any file. */
export type McpServerConfig = StdioServer | RemoteServer;

import { didYouMean, nearestNames } from "../core/nearest-name.ts";
import { type ClientVariables, expandClientVariables } from "./expand-client-variables.ts";
import type { McpDialect, McpServerConfig } from "./mcp-server-config.ts";

export interface McpEntry {
  name: string;
  fields: Record<string, unknown>;
  dialect: McpDialect;
  file?: string;
  line?: number;
}

export interface ReadEntry {
  /** Absent where the entry names no server that could be reached. */
  server?: McpServerConfig;
  /** What was inferred, and what could not be carried over. */
  notes: string[];
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

/** Fields that say nothing about how the server is reached or what it may do. */
const HARMLESS = new Set(["name", "description", "$schema", "gallery", "version", "icon", "title", "displayName"]);

/** Fields of other clients that mean nothing here: no misspelling is to be looked for in them. */
const KNOWN_ELSEWHERE = new Set([
  ...[
    "auth",
    "envFile",
    "dev",
    "sandbox",
    "sandboxEnabled",
    "autoApprove",
    "alwaysAllow",
    "authProviderType",
    "scopes",
  ],
  ...["required", "tools", "approval_mode", "default_tools_approval_mode", "bearer_token", "instructions", "extension"],
]);

/** One entry of any dialect, in one shape. */
export function readMcpEntry({ name, fields, dialect, file, line }: McpEntry, variables: ClientVariables): ReadEntry {
  const notes: string[] = [];
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
  const command = text("command");
  const args = list("args");
  const httpUrl = text("httpUrl");
  const url = httpUrl ?? text("url", "serverUrl");
  const headers = record("headers", "http_headers");
  const bearer = field("bearer_token_env_var");
  if (typeof bearer === "string") headers["Authorization"] = `Bearer ${fromEnvironment(bearer)}`;
  for (const [header, variable] of Object.entries(record("env_http_headers")))
    headers[header] = fromEnvironment(variable);
  const env = record("env");
  for (const variable of list("env_vars") ?? []) {
    const value = variables.env[variable];
    if (value !== undefined) env[variable] = value;
  }
  const timeoutMs = milliseconds(field("timeout")) ?? milliseconds(field("tool_timeout_sec"), 1000);
  if (typeof field("startup_timeout_sec") === "number") notes.push('"startup_timeout_sec" is not carried over.');
  const cwd = text("cwd");
  const headersHelper = text("headersHelper");
  const oauth = field("oauth");
  const enabled = field("enabled") !== false && field("disabled") !== true;
  const includeTools = list("includeTools", "enabled_tools");
  const excludeTools = list("excludeTools", "disabled_tools");
  const trust = field("trust");
  const alwaysLoad = field("alwaysLoad");

  const declared = type === undefined ? undefined : TRANSPORTS[type.toLowerCase()];
  if (type !== undefined && declared === undefined) {
    const near = didYouMean(type, Object.keys(TRANSPORTS)) ?? "Known are stdio, http, sse and ws.";
    notes.push(`The transport "${type}" is not known. ${near}`);
  }
  for (const key of Object.keys(fields)) {
    if (used.has(key) || HARMLESS.has(key)) continue;
    const [near] = KNOWN_ELSEWHERE.has(key) ? [] : nearestNames(key, used, 1);
    notes.push(`"${key}" is not carried over.${near ? ` Did you mean "${near}"?` : ""}`);
  }
  const transport = declared ?? inferTransport({ command, url, isHttpUrl: httpUrl !== undefined, dialect });
  if (type !== undefined && declared === undefined) return { notes };
  if (!transport) return { notes: [...notes, 'It has neither "command" nor "url": say one of them.'] };
  if (declared === undefined && transport !== "stdio") {
    notes.push(`The file does not say the transport; "${transport}" was inferred. Say it as "type".`);
  }
  const shared = {
    name,
    enabled,
    isInferred: declared === undefined,
    ...(includeTools ? { includeTools } : {}),
    ...(excludeTools ? { excludeTools } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(typeof trust === "boolean" ? { trust } : {}),
    ...(typeof alwaysLoad === "boolean" ? { alwaysLoad } : {}),
    dialect,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
  };
  if (missing.size > 0) notes.push(`Not set: ${[...missing].join(", ")}. Their places stay as they are written.`);
  if (transport === "stdio") {
    if (command === undefined) return { notes: [...notes, 'A stdio server needs "command".'] };
    const server = { ...shared, transport, command, args: args ?? [], env, ...(cwd === undefined ? {} : { cwd }) };
    return { server: { ...server, missing: [...missing] }, notes };
  }
  if (url === undefined) return { notes: [...notes, `A server with transport "${transport}" needs "url".`] };
  const remote = {
    ...shared,
    transport,
    url,
    headers,
    ...(headersHelper === undefined ? {} : { headersHelper }),
    ...(oauth === undefined ? {} : { oauth }),
  };
  return { server: { ...remote, missing: [...missing] }, notes };
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

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, toolError } from "../core/error.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import { isObject } from "../schema/json-schema.ts";
import { type McpServerConfig } from "./mcp-entries.ts";

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
  const file = join(folder, ".mcp.json");
  return withFileLock(file, async () => {
    const settings = await readSettings(file);
    const servers = isObject(settings["mcpServers"]) ? settings["mcpServers"] : {};
    const replaced = Object.hasOwn(servers, name);
    const text = JSON.stringify({ ...settings, mcpServers: { ...servers, [name]: server } }, null, 2);
    const fresh = `${file}.${process.pid}.tmp`;
    await writeFile(fresh, `${text}\n`, { mode: 0o600 });
    await rename(fresh, file);
    return { file, replaced };
  });
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

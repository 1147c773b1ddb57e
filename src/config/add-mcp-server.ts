import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toolError } from "../core/error.ts";
import { withFileLock } from "./file-lock.ts";
import type { McpServerConfig } from "./mcp-server-config.ts";
import { isObject } from "./read-mcp-servers.ts";

/** A server as `.mcp.json` writes it. */
export interface McpJsonServer {
  type?: string;
  command?: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  url?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Adds a server to `.mcp.json` of a folder, or puts it in the place of the one with its name. */
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

/** A server of another client's file in these words. */
export function toMcpJson(server: McpServerConfig): McpJsonServer {
  if (server.transport !== "stdio") {
    const { transport, url, headers } = server;
    return { type: transport, url, ...(Object.keys(headers).length > 0 ? { headers } : {}) };
  }
  const { command, args, env } = server;
  return { command, ...(args.length > 0 ? { args } : {}), ...(Object.keys(env).length > 0 ? { env } : {}) };
}

async function readSettings(file: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  try {
    const settings: unknown = JSON.parse(text);
    if (isObject(settings)) return settings;
  } catch {
    // Said below: what cannot be read is not written over.
  }
  throw toolError("bad_encoding", `${file} is no JSON object, so nothing was added to it`, { next: "Mend it first." });
}

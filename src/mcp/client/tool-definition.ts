import { createHash, createHmac, randomBytes } from "node:crypto";
import { toolError } from "../../core/error.ts";
import { canonicalJson } from "../../core/json.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { MCPTool } from "./mcp-client.ts";

const MAX_SHOWN = 20_000;

/** Everything of a definition that a model or an approver goes by, as text: equal texts, equal tools. */
export function definitionText({ name, title, description, inputSchema, outputSchema, annotations }: MCPTool): string {
  return canonicalJson({ name, title, description, inputSchema, outputSchema, annotations });
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What starts, or where it leads to. The values of the environment are in the hash and not in the text. */
export function launchText(config: McpServerConfig): string {
  if (config.transport !== "stdio") return canonicalJson({ transport: config.transport, url: config.url });
  const { command, args = [], cwd, env = {} } = config;
  return canonicalJson({ command, args, cwd, env: Object.keys(env).sort() });
}

export function launchHash(config: McpServerConfig): string {
  const secrets = config.transport === "stdio" ? config.env : config.headers;
  return hashOf(`${launchText(config)}\n${canonicalJson(secrets ?? {})}`);
}

const launchKey = randomBytes(32);

/** The launch hash as it may be told: secrets go into it, so that it is of use in this process alone. */
export function shownLaunchHash(config: McpServerConfig): string {
  return createHmac("sha256", launchKey).update(launchHash(config)).digest("hex");
}

/** For a person who decides by it: the whole definition, line by line, hidden characters spelled out. */
export function shownDefinition(definition: string): string {
  return shownText(pretty(definition), MAX_SHOWN);
}

export async function shownDifference(name: string, before: string, after: string): Promise<string> {
  const texts = { before: `${pretty(before)}\n`, after: `${pretty(after)}\n` };
  return shownText((await unifiedDiff(texts, { path: name })).text, MAX_SHOWN);
}

/** Long texts by their lines: a sentence that was slipped into one must stand out. */
function pretty(definition: string): string {
  return JSON.stringify(JSON.parse(definition), null, 2).replaceAll("\\n", "\n    ");
}

/** What the protocol lets tools be called. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** Of the APIs of models. */
const MAX_LENGTH = 64;

/** `mcp__server__tool`: no server can take the name of a built-in tool, or of another server's. */
export function exposedName(server: string, tool: string): string {
  if (!TOOL_NAME.test(tool)) {
    throw toolError("name_denied", `${JSON.stringify(tool.slice(0, 100))} is no name for a tool`, {
      next: "Names have up to 64 letters, digits and _ . -",
    });
  }
  const name = `mcp__${serverKey(server)}__${tool.replaceAll(".", "_")}`;
  if (name.length <= MAX_LENGTH) return name;
  return `${name.slice(0, MAX_LENGTH - 9)}_${hashOf(`${server}\n${tool}`).slice(0, 8)}`;
}

/** Without `__`, which divides server from tool. */
export function serverKey(server: string): string {
  return server.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "") || "unnamed";
}

/** Text of a server, as data: what a reader would not see is spelled out, what is too long is cut, and both are seen. */
export function shownText(text: string, max: number): string {
  // Cut first: spelling out a megabyte of hidden characters would make ten of it.
  const shown = showHiddenCharacters(text.slice(0, max));
  return text.length > max ? `${shown}… [cut: ${text.length - max} more characters]` : shown;
}

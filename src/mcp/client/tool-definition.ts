import { createHash, createHmac, randomBytes } from "node:crypto";
import { canonicalJson } from "../../core/canonical-json.ts";
import { unifiedDiff } from "../../files/unified-diff.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { MCPTool } from "./mcp-client.ts";
import { shownText } from "./shown-text.ts";

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

import { createHash, createHmac, randomBytes } from "node:crypto";
import { toolError } from "../../core/error.ts";
import { canonicalJson } from "../../core/json.ts";
import { serverKey } from "../../core/tool-catalog.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { MCPTool } from "./mcp-client.ts";

/** The parts of a definition that a model, an approver or a user interface gets, as canonical text (RFC 8785). */
export function definitionText(tool: MCPTool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const ui: unknown = tool._meta?.["ui"];
  const _meta = ui === undefined ? undefined : { ui };
  return canonicalJson({ name, title, description, inputSchema, outputSchema, annotations, _meta });
}

/** Of a definition text: two definitions are the same if their normal forms are. */
export function definitionHash(definition: string): string {
  return hashOf(canonicalJson(normalDefinition(JSON.parse(definition))));
}

const MONTH = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]{0,6}\\.?";
const DAY = "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?";
const TIME = "\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?: ?[AP]M)?(?: ?(?:Z|GMT|UTC|[+-]\\d{2}:?\\d{2})\\b)*";
const DATE = `${DAY}(?:\\d{4}-\\d{2}-\\d{2}|\\d{1,2} ${MONTH} \\d{4}|${MONTH} \\d{1,2},? \\d{4})`;
const MOMENT = new RegExp(`\\b(?:${DATE}(?:(?:T|,? (?:at )?)${TIME})?|${TIME})(?![\\w-])`, "g");

/**
 * A definition with `<date>` for each date and time in its descriptions, which some servers write anew at each start. Everything else
 * stays, default values and numbers included.
 */
export function normalDefinition(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalDefinition);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, field]): [string, unknown] => {
    const isText = key === "description" && typeof field === "string";
    return [key, isText ? field.replace(MOMENT, "<date>") : normalDefinition(field)];
  });
  return Object.fromEntries(entries);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The command or the address of a server. The values of the environment are only part of the hash. */
export function launchText(config: McpServerConfig): string {
  if (config.transport !== "stdio") return canonicalJson({ transport: config.transport, url: config.url });
  const { command, args = [], cwd, env = {}, network, read, write, sandbox } = config;
  return canonicalJson({ command, args, cwd, env: Object.keys(env).sort(), network, read, write, sandbox });
}

export function launchHash(config: McpServerConfig): string {
  const secrets = config.transport === "stdio" ? config.env : config.headers;
  return hashOf(`${launchText(config)}\n${canonicalJson(secrets ?? {})}`);
}

/** The launch configuration for people: what starts, with which variables, and what it may do. */
export function shownLaunch(config: McpServerConfig): string {
  if (config.transport !== "stdio") return showHiddenCharacters(config.url);
  const { command, args = [], cwd, env = {}, network = "all", read = [], write = [], sandbox = true } = config;
  const lines = [[command, ...args].map(quoted).join(" ")];
  if (cwd !== undefined) lines.push(`in ${cwd}`);
  const names = Object.keys(env);
  if (names.length > 0) lines.push(`with the variables ${names.join(", ")}`);
  if (!sandbox) lines.push("runs UNCONFINED, with all rights of your user");
  else {
    lines.push(`confined; network: ${typeof network === "string" ? network : network.join(", ") || "none"}`);
    if (read.length > 0) lines.push(`also reads ${read.join(", ")}`);
    if (write.length > 0) lines.push(`writes ${write.join(", ")}`);
  }
  return showHiddenCharacters(lines.join("\n"));
}

function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : JSON.stringify(word);
}

let launchKey: Buffer | undefined;

/** The launch hash for display. The hash covers secrets, so it is keyed and valid only in this process. */
export function shownLaunchHash(config: McpServerConfig): string {
  launchKey ??= randomBytes(32);
  return createHmac("sha256", launchKey).update(launchHash(config)).digest("hex");
}

/** The complete definition for an approver, in lines, with hidden characters made visible. */
export function shownDefinition(definition: string): string {
  return showHiddenCharacters(pretty(definition));
}

export interface ShownDifference {
  text: string;
  /** What the text leaves out. */
  omitted?: string;
  /** The whole difference. */
  whole: string;
}

export async function shownDifference(name: string, before: string, after: string): Promise<ShownDifference> {
  const texts = { before: `${pretty(before)}\n`, after: `${pretty(after)}\n` };
  const { text, omitted, whole = text } = await unifiedDiff(texts, { path: name });
  return { text: showHiddenCharacters(text), omitted, whole: showHiddenCharacters(whole) };
}

/** Splits long texts into lines, so an inserted sentence is visible. */
function pretty(definition: string): string {
  return JSON.stringify(JSON.parse(definition), null, 2).replaceAll("\\n", "\n    ");
}

/** The tool names that the protocol allows. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** The maximum length in the APIs of models. */
const MAX_NAME_LENGTH = 64;

/** `mcp__server__tool`: a server cannot take the name of a built-in tool or of a tool of another server. */
export function exposedName(server: string, tool: string): string {
  if (!TOOL_NAME.test(tool)) {
    throw toolError("name_denied", `${JSON.stringify(tool.slice(0, 100))} is not a valid tool name`, {
      next: "Names have up to 64 letters, digits and _ . -",
    });
  }
  const name = `mcp__${serverKey(server)}__${tool.replaceAll(".", "_")}`;
  if (name.length <= MAX_NAME_LENGTH) return name;
  return `${name.slice(0, MAX_NAME_LENGTH - 9)}_${hashOf(`${server}\n${tool}`).slice(0, 8)}`;
}

/** Text of a server as data: hidden characters are made visible, and long text is truncated with a note. */
export function shownText(text: string, max: number): string {
  // Truncate first: a megabyte of hidden characters would become ten.
  const shown = showHiddenCharacters(text.slice(0, max));
  return text.length > max ? `${shown}… [truncated: ${text.length - max} more characters]` : shown;
}

import { readFile, realpath, stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { canonicalJson } from "../core/json.ts";
import { hideSecrets, isSecretName, maskSecret } from "../core/secrets/mask-secrets.ts";
import { isInside, realRoot } from "../io/files/path-name.ts";
import { isObject } from "../schema/json-schema.ts";
import { digestModule, digestOf, digestPlugin, type FileDigests, MAX_BYTES } from "./code-digests.ts";
import { noteLook } from "./config-watch.ts";
import { findMcpEntries } from "./mcp-entries.ts";
import { type ConfigPath, showPath } from "./problems.ts";
import type { RawSource } from "./sources.ts";

/** A part of a folder's configuration that has effect only after a person has trusted it. */
export interface TrustItem {
  kind: "code" | "hook" | "mcp_server" | "plugin" | "permission" | "setting";
  /** Of an MCP server. */
  name?: string;
  /** Of a permission: the rule that would allow. */
  rule?: string;
  file: string;
  line?: number;
  /** Its key in the file: `hooks.PreToolUse[0].hooks[0]`; empty for a module. */
  path: string;
  /** What would run or be loosened, complete except for secrets. Make hidden characters visible when showing it. */
  what: string;
  /** Covers the part and the files of the folder that it names. */
  digest: string;
  /** It was trusted before it changed. */
  isChanged?: boolean;
  /** Which settings and files of an MCP server are new or changed, if that is known. */
  changes?: string[];
  /** What was trusted, as `what` said it. */
  before?: string;
}

export interface LocatedItem extends TrustItem {
  at: ConfigPath;
  /** Of an MCP server: its settings and files, and what is stored to say later which of them changed. It gives no trust. */
  parts: readonly (readonly [shown: string, stored: string])[];
}

export function withoutPath({ at: _at, parts: _parts, ...item }: LocatedItem): TrustItem {
  return item;
}

/** Stored with the digest of a trusted part. It stays the same if files of the part change. */
export function nameDigest({ kind, name, what }: TrustItem): string {
  return `name:${digestOf(canonicalJson([kind, name ?? what]))}`;
}

/** Before what is stored of the parts of this item, also of earlier ones. */
export function partsPrefix(item: TrustItem): string {
  return `part:${nameDigest(item)}:`;
}

/** Modes that need no trust: they loosen nothing. */
export const MODES_WITHOUT_TRUST: ReadonlySet<string> = new Set(["default", "plan", "dontAsk"]);

/** The parts of a folder's source that need trust: what executes, connects, or loosens what the user set. */
export async function listTrustItems(source: RawSource, folder: string): Promise<LocatedItem[]> {
  const { file = "", code, value } = source;
  const found: LocatedItem[] = [];
  const add = (
    kind: TrustItem["kind"],
    at: ConfigPath,
    what: string,
    content: unknown,
    files: FileDigests = {},
    rule?: string,
  ) => {
    const position = source.positionOf(at);
    const digest = digestOf(canonicalJson({ kind, content, files }));
    const name = kind === "mcp_server" && isObject(content) ? String(content["name"]) : undefined;
    const item = { kind, name, rule, file, line: position?.line, path: showPath(at), what, digest, at };
    const fields = isObject(content) && isObject(content["fields"]) ? content["fields"] : undefined;
    const named = fields ? Object.entries({ ...fields, ...files }) : [];
    const parts = named.map((part) => [part[0], partsPrefix(item) + digestOf(canonicalJson(part))] as const);
    found.push({ ...item, parts });
  };
  if (code !== undefined) add("code", [], `run the module ${file}`, "module", await digestModule(file, folder, code));
  if (!isObject(value)) return found;

  if (source.kind === "instructions") {
    for (const [index, path] of listOf(value["imports"]).entries()) {
      add("setting", ["imports", index], `give ${JSON.stringify(path)}, outside the folder, to the model`, { path });
    }
    return found;
  }
  for (const { name, path, fields } of findMcpEntries(value, file)) {
    const { command } = fields;
    const line = [...(Array.isArray(command) ? listOf(command) : [command]), ...listOf(fields["args"])];
    const words = line.filter((word) => typeof word === "string");
    const helper = typeof fields["headersHelper"] === "string" ? wordsOf(fields["headersHelper"]) : [];
    const files = await digestNamedFiles([...words, ...helper], folder);
    const limits = words.length > 0 ? ` (${shownLimits(fields)})` : "";
    add("mcp_server", path, `MCP server "${name}": ${showTrustedFields(fields)}${limits}`, { name, fields }, files);
  }
  if (source.kind === "mcp") return found;

  for (const [event, groups] of entriesOf(value["hooks"])) {
    for (const [index, group] of listOf(groups).entries()) {
      if (!isObject(group)) continue;
      const matcher = group["matcher"] ?? "*";
      for (const [each, handler] of listOf(group["hooks"]).entries()) {
        if (!isObject(handler)) continue;
        const command = typeof handler["command"] === "string" ? handler["command"] : "";
        const args = listOf(handler["args"]).filter((word) => typeof word === "string");
        const files = await digestNamedFiles([...wordsOf(command), command, ...args], folder);
        const limits = command === "" ? "" : ` (${shownLimits(handler)})`;
        const what = `hook ${event}, for ${JSON.stringify(matcher)}: ${showTrustedFields(handler)}${limits}`;
        add("hook", ["hooks", event, index, "hooks", each], what, { event, matcher, handler }, files);
      }
    }
  }
  const permissions = isObject(value["permissions"]) ? value["permissions"] : {};
  for (const [index, rule] of listOf(permissions["allow"]).entries()) {
    const what = `allow without asking: ${String(rule)}`;
    add("permission", ["permissions", "allow", index], what, allowContent(rule), {}, String(rule));
  }
  const mode = permissions["defaultMode"];
  if (typeof mode === "string" && !MODES_WITHOUT_TRUST.has(mode)) {
    add("permission", ["permissions", "defaultMode"], `start in the mode ${JSON.stringify(mode)}`, { mode });
  }
  const { defaultPermission } = permissions;
  if (defaultPermission !== undefined && defaultPermission !== "confirm") {
    const what = "run tools that do not say what they do without asking";
    add("permission", ["permissions", "defaultPermission"], what, { defaultPermission });
  }
  if (source.kind === "haft") await listSettings(value, folder, add);
  return found;
}

/** What a program of the configuration may do. Paths are in the fields, which are shown whole. */
function shownLimits({ sandbox, network = "all" }: Readonly<Record<string, unknown>>): string {
  if (sandbox === false) return "runs UNCONFINED, with all rights of your user";
  if (network === "all") return "runs confined, reaches the whole network";
  return Array.isArray(network) && network.length > 0
    ? `runs confined, reaches only ${network.join(", ")}`
    : "runs confined, without network";
}

const MODEL_SETTINGS: ReadonlySet<string> = new Set(["model", "baseUrl", "apiKey", "limits", "prices"]);

type Add = (kind: TrustItem["kind"], at: ConfigPath, what: string, content: unknown, files?: FileDigests) => void;

async function listSettings(value: Record<string, unknown>, folder: string, add: Add): Promise<void> {
  for (const [index, plugin] of listOf(value["plugins"]).entries()) {
    const from = isObject(plugin) ? plugin["from"] : plugin;
    if (typeof from !== "string" || (isObject(plugin) && plugin["enabled"] === false)) continue;
    add(
      "plugin",
      ["plugins", index],
      `load the plugin ${JSON.stringify(from)}`,
      plugin,
      await digestPlugin(from, folder),
    );
  }
  for (const [name, server] of entriesOf(value["languageServers"])) {
    if (!isObject(server)) continue;
    const words = [server["command"], ...listOf(server["args"])].filter((word) => typeof word === "string");
    const what = `language server "${name}": ${showTrustedFields(server)} (runs confined, writes nothing, without network)`;
    add("setting", ["languageServers", name], what, { name, server }, await digestNamedFiles(words, folder));
  }
  const setting = (path: ConfigPath, content: unknown) =>
    add("setting", path, `set ${showPath(path)} to ${showTrustedSetting(path, content)}`, {
      path: showPath(path),
      content,
    });
  const { workspace, browser, tools, server, store, jobs, sessions, audit, network, sandbox, message, agent, agents } =
    value;
  const places: [ConfigPath, unknown][] = [
    [["tools", "allowedPaths"], isObject(tools) ? tools["allowedPaths"] : undefined],
    [["workspace", "allowedPaths"], isObject(workspace) ? workspace["allowedPaths"] : undefined],
    [["workspace", "readOnlyPaths"], isObject(workspace) ? workspace["readOnlyPaths"] : undefined],
  ];
  for (const [path, paths] of places) {
    for (const [index, each] of listOf(paths).entries()) {
      // A variable or a link in the folder can lead anywhere.
      const isOwn = typeof each === "string" && !each.includes("${") && isInside(realRoot(each, folder), folder);
      if (!isOwn) add("setting", [...path, index], `reach ${JSON.stringify(each)} outside the folder`, { path, each });
    }
  }
  if (isObject(workspace)) {
    for (const [index, glob] of listOf(workspace["permitGlobs"]).entries()) {
      add("setting", ["workspace", "permitGlobs", index], `lift protection from ${JSON.stringify(glob)}`, { glob });
    }
    for (const [key, harmless] of [
      ["unrestricted", false],
      ["requireReadBeforeEdit", true],
    ] as const) {
      if (workspace[key] !== undefined && workspace[key] !== harmless) setting(["workspace", key], workspace[key]);
    }
  }
  for (const [key, content] of entriesOf(server)) if (key !== "port") setting(["server", key], content);
  listProvenance(value["provenance"], setting);
  for (const [key, content] of entriesOf(store)) setting(["store", key], content);
  // Their denials would be lost.
  for (const [key, content] of entriesOf(value["import"])) {
    if (key !== "mcp" && content === false) setting(["import", key], content);
  }
  const { approvals } = value;
  if (isObject(approvals) && approvals["webhook"] !== undefined)
    setting(["approvals", "webhook"], approvals["webhook"]);
  if (isObject(jobs) && jobs["redisUrl"] !== undefined) setting(["jobs", "redisUrl"], jobs["redisUrl"]);
  // Each of these can give sessions more.
  for (const [key, content] of entriesOf(sessions)) setting(["sessions", key], content);
  // Only `hosts` narrows.
  // Without trust a folder can only make the sandbox stricter.
  for (const [key, content] of entriesOf(sandbox)) {
    if (key !== "tools" && !(key === "mode" && content === "required") && !(key === "autoAllow" && content === false)) {
      setting(["sandbox", key], content);
    }
  }
  for (const [key, content] of entriesOf(network)) if (key !== "hosts") setting(["network", key], content);
  if (isObject(browser)) {
    if (browser["executable"] !== undefined) setting(["browser", "executable"], browser["executable"]);
    if (browser["confined"] === false) setting(["browser", "confined"], false);
  }
  // Where messages go, and with which key.
  for (const [name, content] of entriesOf(isObject(message) ? message["channels"] : undefined)) {
    setting(["message", "channels", name], content);
  }
  // Where conversations go, with which key, and at what cost.
  const settingsOfAgent = (position: ConfigPath, one: unknown): void => {
    for (const [key, content] of entriesOf(one)) if (MODEL_SETTINGS.has(key)) setting([...position, key], content);
  };
  settingsOfAgent(["agent"], agent);
  for (const [name, one] of entriesOf(agents)) settingsOfAgent(["agents", name], one);
  const search = isObject(tools) ? tools["webSearch"] : undefined;
  for (const [key, content] of entriesOf(search)) {
    // Where queries go, with which key.
    if (key === "endpoint" || key === "fallbacks") setting(["tools", "webSearch", key], content);
  }
  if (isObject(audit) && audit["enabled"] !== undefined && audit["enabled"] !== true) {
    setting(["audit", "enabled"], audit["enabled"]);
  }
}

/** A folder may make provenance stricter: labels only add. Roles do not: an argument that is named lets others go unjudged. */
function listProvenance(provenance: unknown, setting: (path: ConfigPath, content: unknown) => void): void {
  for (const [key, content] of entriesOf(provenance)) {
    if (key !== "tools" && !(key === "mode" && content === "strict")) setting(["provenance", key], content);
    for (const [tool, one] of key === "tools" ? entriesOf(content) : []) {
      for (const [part, own] of entriesOf(one)) {
        if (part === "labels") continue;
        for (const [name, said] of entriesOf(own))
          if (part !== "results" || said !== "others") setting(["provenance", key, tool, part, name], said);
      }
    }
  }
}

/** Recognises a saved rule at any position in the file. */
export function allowDigest(rule: string): string {
  return digestOf(canonicalJson({ kind: "permission", content: allowContent(rule), files: {} }));
}

/** The digest that a server has when it is written to a file of the folder exactly like this. */
export async function mcpServerDigest(folder: string, name: string, entry: object): Promise<string | undefined> {
  // As a reader of the file gets it: without fields that are undefined.
  const value: unknown = JSON.parse(JSON.stringify({ mcpServers: { [name]: entry } }));
  const source: RawSource = { origin: "project", kind: "mcp", folder, value, positionOf: () => undefined };
  const [item] = await listTrustItems(source, await realpath(folder));
  return item?.digest;
}

function allowContent(rule: unknown): unknown {
  return { allow: rule };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function entriesOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

/** An entry before it is trusted. Commands are complete; values of variables, headers and passwords are hidden. */
export function showTrustedFields(fields: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(fields).filter(([key]) => key !== "name");
  return JSON.stringify(Object.fromEntries(shown.map(([key, value]) => [key, showField(key, value)])));
}

export function showTrustedSetting(path: ConfigPath, content: unknown): string {
  return JSON.stringify(hideIn(String(path.at(-1) ?? ""), content));
}

function showField(key: string, value: unknown): unknown {
  if (typeof value === "string") {
    if (/url$/i.test(key)) return hideSecrets(value);
    return isSecretName(key) ? hide(key, value) : value;
  }
  if (key === "env" || /headers$/i.test(key) || key === "oauth") return hideIn(key, value);
  return value;
}

function hideIn(name: string, value: unknown): unknown {
  if (typeof value === "string") return hide(name, value);
  if (Array.isArray(value)) return value.map((each) => hideIn(name, each));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, hideIn(key, each)]));
}

function hide(name: string, value: string): string {
  // A reference to a variable is not a secret.
  if (/^(?:Bearer )?\$\{[\w:.]+\}$/i.test(value)) return value;
  if (isSecretName(name)) return maskSecret(name, value).value;
  // Options and commands, as in NODE_OPTIONS, decide what runs.
  return /(?:^|\s)-|[;|$`]/.test(value) ? value : hideSecrets(value);
}

/** The files of the folder that a command line names. What these load in turn is not covered. */
async function digestNamedFiles(words: readonly string[], folder: string): Promise<FileDigests> {
  const digests: FileDigests = {};
  for (const word of words) {
    const path = resolve(
      folder,
      word.replace(/^\$\{?(?:CLAUDE_PROJECT_DIR|HAFT_PROJECT_DIR|workspaceFolder)\}?\/?/, "./"),
    );
    if (!isInside(path, folder) || path === folder) continue;
    const digest = await digestIfFile(path);
    if (digest !== undefined || word.includes("/")) digests[relative(folder, path)] = digest ?? "absent";
  }
  return digests;
}

/** The words of a command, split by quotes: enough to find the files that it names. */
function wordsOf(command: string): string[] {
  const quoted = [...command.matchAll(/"([^"]*)"|'([^']*)'/g)].map((found) => found[1] ?? found[2]!);
  // A path may be quoted in part: "$CLAUDE_PROJECT_DIR"/hooks/check.sh.
  return [...quoted, ...command.replace(/["']/g, "").split(/[\s;&|()<>]+/)].filter(Boolean);
}

async function digestIfFile(path: string): Promise<string | undefined> {
  noteLook(path);
  const info = await stat(path).catch(() => undefined);
  if (!info?.isFile()) return undefined;
  return info.size > MAX_BYTES ? `size ${info.size}, changed ${info.mtimeMs}` : digestOf(await readFile(path));
}

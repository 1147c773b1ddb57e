import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { attempt, errorCode, toolError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import { isObject } from "../schema/json-schema.ts";
import { JSON_TOKEN, parseConfigText, formatOf, readConfigText } from "./config-text.ts";
import { isHaftServer } from "./mcp-entries.ts";
import { type McpJsonServer, type NamedServer, readMcpImport } from "./mcp-json.ts";
import type { ConfigPath } from "./problems.ts";
import { onlyFile } from "./sources.ts";
import { type UserOptions, userPaths } from "./user-paths.ts";

/** The agents whose MCP servers Haft can take behind itself. */
export const AGENTS = ["claude", "codex", "gemini", "cursor", "copilot", "opencode"] as const;
export type AgentName = (typeof AGENTS)[number];

export type AgentScope = "user" | "project";

interface Slot {
  scope: AgentScope;
  file: string;
  /** Where its servers are. */
  path: ConfigPath;
}

function slotsOf(agent: AgentName, { home, folder }: { home: string; folder: string }): Slot[] {
  const user = (path: ConfigPath, ...parts: string[]): Slot => ({ scope: "user", file: join(home, ...parts), path });
  const project = (path: ConfigPath, ...parts: string[]): Slot => ({
    scope: "project",
    file: join(folder, ...parts),
    path,
  });
  const usual: ConfigPath = ["mcpServers"];
  switch (agent) {
    case "claude":
      return [
        user(usual, ".claude.json"),
        { ...user(["projects", folder, "mcpServers"], ".claude.json"), scope: "project" },
        project(usual, ".mcp.json"),
      ];
    case "codex":
      return [user(["mcp_servers"], ".codex", "config.toml"), project(["mcp_servers"], ".codex", "config.toml")];
    case "gemini":
      return [user(usual, ".gemini", "settings.json"), project(usual, ".gemini", "settings.json")];
    case "cursor":
      return [user(usual, ".cursor", "mcp.json"), project(usual, ".cursor", "mcp.json")];
    case "copilot":
      return [user(usual, ".copilot", "mcp-config.json"), project(["servers"], ".vscode", "mcp.json")];
    case "opencode":
      return ["opencode.json", "opencode.jsonc"].flatMap((name) => [
        user(["mcp"], ".config", "opencode", name),
        project(["mcp"], name),
      ]);
  }
}

/** How an agent starts Haft, in its own format. */
function haftEntry(agent: AgentName, { file }: Slot, [command = "haft", ...args]: readonly string[]): object {
  if (agent === "opencode") return { type: "local", command: [command, ...args], enabled: true };
  if (agent === "copilot")
    return file.endsWith("mcp-config.json")
      ? { type: "local", command, args, tools: ["*"] }
      : { type: "stdio", command, args };
  return { command, args };
}

/** A file as it is and as it would be written. */
export interface FileChange {
  file: string;
  before: string;
  after: string;
}

export interface AgentImport {
  /** Of Haft's configuration and of the agent, in the order in which they are written. */
  changes: FileChange[];
  servers: string[];
  notes: string[];
  records: Omit<ImportRecord, "at" | "order">[];
}

/** Kept until the servers are given back. It may have secrets, as the agent's file did. */
interface ImportRecord {
  agent: AgentName;
  file: string;
  path: ConfigPath;
  before: string;
  after: string;
  /** What was added to Haft's configuration. */
  added: { file: string; names: string[] };
  at: number;
  /** Of one import: a file may be changed twice. */
  order: number;
}

export interface AgentImportOptions {
  folder: string;
  user: UserOptions;
  agent: AgentName;
  scopes: readonly AgentScope[];
  /** The command that starts Haft for a folder, or for the folder in which the agent runs. */
  commandFor(scope: AgentScope): readonly string[];
  replaces: boolean;
  names: ReadonlyMap<string, string>;
}

/** What an import would write. Nothing is written yet. */
export async function planAgentImport(options: AgentImportOptions): Promise<AgentImport> {
  const { user, agent, scopes, commandFor, replaces, names } = options;
  const folder = await realpath(options.folder);
  const paths = userPaths(user);
  const plan: AgentImport = { changes: [], servers: [], notes: [], records: [] };
  const pending = new Map<string, FileChange>();
  const textOf = async (file: string): Promise<string | null> =>
    pending.get(file)?.after ?? (await readConfigText(file));
  for (const slot of slotsOf(agent, { home: paths.home, folder })) {
    if (!scopes.includes(slot.scope)) continue;
    const text = await textOf(slot.file);
    const value = text === null ? undefined : valueAt((await parseConfigText(text, slot.file)).value, slot.path);
    if (text === null || !isObject(value)) continue;
    const kept = Object.entries(value).filter(([, fields]) => isObject(fields) && isHaftServer(fields));
    if (Object.keys(value).length === kept.length) continue;
    const { servers, notes } = await readServers(slot, value, { ...paths, folder });
    const renamed = servers.map(({ name, entry }) => ({ name: names.get(name) ?? name, entry }));
    const target = await configFile(slot.scope === "user" ? join(paths.folder, "config") : join(folder, "haft.config"));
    const before = (await textOf(target)) ?? "";
    const added = await addServers({ file: target, text: before, servers: renamed, replaces });
    change(pending, target, before, added.text);
    const entry = haftEntry(agent, slot, commandFor(slot.scope));
    const free = Object.hasOwn(value, "haft") && !kept.some(([name]) => name === "haft") ? "haft_gate" : "haft";
    const place = kept.length > 0 ? Object.fromEntries(kept) : { [free]: entry };
    const after = await replaceServers({ ...slot, text }, place);
    change(pending, slot.file, text, after);
    plan.servers.push(...renamed.map(({ name }) => name));
    plan.notes.push(...notes, ...kept.map(([name]) => `${slot.file}: "${name}" stays, because it starts Haft.`));
    plan.records.push({
      agent,
      file: slot.file,
      path: slot.path,
      before: text,
      after,
      added: { file: target, names: added.names },
    });
  }
  // Haft has a server before the agent loses it, wherever this is stopped.
  const own = new Set(plan.records.map(({ added }) => added.file));
  plan.changes.push(...[...pending.values()].sort((a, b) => Number(own.has(b.file)) - Number(own.has(a.file))));
  return plan;
}

function change(pending: Map<string, FileChange>, file: string, before: string, after: string): void {
  pending.set(file, { file, before: pending.get(file)?.before ?? before, after });
}

/** Writes a plan that a person has seen. If a file has changed since, nothing more is written. */
export async function writeAgentImport(
  { changes, records }: AgentImport,
  user: UserOptions,
  now: number,
): Promise<void> {
  const folder = recordFolder(user);
  for (const each of changes) await requireUnchanged(each.file, each);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // First: what an agent's file was must never be lost.
  for (const [order, record] of records.entries()) {
    const place = join(folder, `${record.agent}-${digest(canonicalJson([record.file, record.path, now]))}.json`);
    // Whole or not at all, however this process ends.
    await writeFile(`${place}.new`, JSON.stringify({ ...record, at: now, order }), { mode: 0o600 });
    await rename(`${place}.new`, place);
  }
  for (const each of changes) await writeChange(each);
}

export interface RestorePlan {
  changes: FileChange[];
  /** The records that are done with. */
  records: string[];
}

/** What gives the servers of an agent back: its files as they were, or with what was added to them since. */
export async function planRestore(agent: AgentName, user: UserOptions): Promise<RestorePlan> {
  const folder = recordFolder(user);
  const names = (await readdir(folder).catch(() => [])).filter(
    (name) => name.startsWith(`${agent}-`) && name.endsWith(".json"),
  );
  const found = await Promise.all(
    names.map(async (name) => {
      const place = join(folder, name);
      return { place, record: JSON.parse(await readFile(place, "utf8")) as ImportRecord };
    }),
  );
  const pending = new Map<string, FileChange>();
  const textOf = async (file: string): Promise<string> =>
    pending.get(file)?.after ?? (await readConfigText(file)) ?? "";
  // The last one first.
  found.sort(({ record: one }, { record: other }) => other.at - one.at || other.order - one.order);
  const records = found.map(({ record }) => record);
  for (const record of records) {
    const { file, path, added, at } = record;
    const text = await textOf(file);
    // Of one import, which writes a file once. If it or a restore was stopped, the file is as it was.
    const same = records.filter((each) => each.file === file && each.at === at);
    const before = same.at(-1)?.before ?? record.before;
    const isWhole = text === same[0]?.after || text === before;
    change(pending, file, text, isWhole ? before : await mergeBack({ file, path, text }, record));
    const config = await textOf(added.file);
    if (config !== "") change(pending, added.file, config, await removeServers({ ...added, text: config }));
  }
  const own = new Set(records.map(({ added }) => added.file));
  const changes = [...pending.values()].sort((a, b) => Number(own.has(a.file)) - Number(own.has(b.file)));
  return { changes, records: found.map(({ place }) => place) };
}

export async function writeRestore({ changes, records }: RestorePlan): Promise<void> {
  for (const each of changes) await writeChange(each);
  for (const place of records) await rm(place, { force: true });
}

/** The file was changed after the import: the old servers come back beside what is there. */
async function mergeBack(slot: TextSlot, { before }: ImportRecord): Promise<string> {
  const now = valueAt((await parseConfigText(slot.text || "{}", slot.file)).value, slot.path);
  const old = valueAt((await parseConfigText(before, slot.file)).value, slot.path);
  const others = Object.entries(isObject(now) ? now : {}).filter(
    ([, fields]) => !isObject(fields) || !isHaftServer(fields),
  );
  return replaceServers(slot, { ...Object.fromEntries(others), ...(isObject(old) ? old : {}) });
}

function recordFolder(user: UserOptions): string {
  return join(userPaths(user).folder, "agent-files");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

async function writeChange({ file, before, after }: FileChange): Promise<void> {
  if (before === after) return;
  // Through a link, as people have them for their dotfiles.
  const real = await realpath(file).catch(() => file);
  await mkdir(dirname(real), { recursive: true });
  await withFileLock(real, async () => {
    await requireUnchanged(real, { file, before });
    const mode = await stat(real).then(
      (info) => info.mode & 0o777,
      (error: unknown) => {
        if (errorCode(error) === "ENOENT") return 0o600;
        throw error;
      },
    );
    const fresh = `${real}.${process.pid}.tmp`;
    await writeFile(fresh, after, { mode, flag: "wx" });
    await rename(fresh, real);
  });
}

async function requireUnchanged(place: string, { file, before }: Omit<FileChange, "after">): Promise<void> {
  if (((await readConfigText(place)) ?? "") === before) return;
  throw toolError("conflict", `${file} has changed since it was shown`, { next: "Run the command again." });
}

async function readServers(
  { file, path }: Slot,
  value: Record<string, unknown>,
  place: { env: Readonly<Record<string, string | undefined>>; home: string; folder: string },
): Promise<{ servers: NamedServer[]; notes: string[] }> {
  const isPart = path.length > 1;
  const source = isPart ? { text: JSON.stringify({ mcpServers: value }) } : { file };
  const { servers, notes } = await readMcpImport(source, place);
  const read = servers.map(({ server: { name }, entry }) => ({ name, entry: plain(entry) }));
  const lost = Object.keys(value).filter((name) => {
    const fields = value[name];
    return !(isObject(fields) && isHaftServer(fields)) && !read.some((each) => each.name === name);
  });
  if (lost.length > 0) {
    const message = `${file}: Haft cannot start ${lost.map((name) => JSON.stringify(name)).join(", ")}, so nothing was changed`;
    throw toolError("failed", message, { next: notes.join(" ") || "Remove it from the file first." });
  }
  return { servers: read, notes };
}

function plain(entry: McpJsonServer): McpJsonServer {
  return JSON.parse(JSON.stringify(entry)) as McpJsonServer;
}

/** The configuration file that is there, or the one to create. */
async function configFile(base: string): Promise<string> {
  const file = (await onlyFile(base)) ?? `${base}.yml`;
  if (!/\.m?[jt]s$/.test(file)) return file;
  throw toolError("failed", `${file} is a program, which Haft does not change`, {
    next: "Import the servers with `haft mcp import FILE`, which writes .mcp.json, and change the agent's file yourself.",
  });
}

interface TargetText {
  file: string;
  text: string;
}

/** Adds servers to a configuration of Haft. Its comments stay. */
async function addServers({
  file,
  text,
  servers,
  replaces,
}: TargetText & { servers: NamedServer[]; replaces: boolean }) {
  const { value } = await parseConfigText(text, file);
  const known = isObject(value) && isObject(value["mcpServers"]) ? value["mcpServers"] : {};
  const isSame = ({ name, entry }: NamedServer): boolean => canonicalJson(known[name]) === canonicalJson(entry);
  const taken = servers
    .filter((server) => Object.hasOwn(known, server.name) && !isSame(server))
    .map(({ name }) => name);
  if (taken.length > 0 && !replaces) {
    const listed = taken.map((name) => JSON.stringify(name)).join(", ");
    const next = `Use --replace, or --rename ${taken[0]}=NEW.`;
    throw toolError("conflict", `${file} has other settings for ${listed}, so nothing was written`, { next });
  }
  const fresh = servers.filter((server) => !isSame(server));
  const names = fresh.filter(({ name }) => !taken.includes(name)).map(({ name }) => name);
  const changed = await changeConfig(
    { file, text },
    { ...known, ...Object.fromEntries(fresh.map((each) => [each.name, each.entry])) },
  );
  return { text: changed, names };
}

async function removeServers({ file, text, names }: TargetText & { names: readonly string[] }): Promise<string> {
  const { value } = await parseConfigText(text, file);
  const known = isObject(value) && isObject(value["mcpServers"]) ? value["mcpServers"] : {};
  return changeConfig(
    { file, text },
    Object.fromEntries(Object.entries(known).filter(([name]) => !names.includes(name))),
  );
}

async function changeConfig({ file, text }: TargetText, servers: Record<string, unknown>): Promise<string> {
  if (formatOf(file) !== "yaml") return replaceServers({ file, path: ["mcpServers"], text }, servers);
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { stringKeys: true });
  const before = document.toJS() as { mcpServers?: Record<string, unknown> } | null;
  for (const name of Object.keys(before?.mcpServers ?? {})) {
    if (!Object.hasOwn(servers, name)) document.deleteIn(["mcpServers", name]);
  }
  for (const [name, entry] of Object.entries(servers)) {
    if (!isDeepStrictEqual(before?.mcpServers?.[name], entry))
      document.setIn(["mcpServers", name], document.createNode(entry));
  }
  if (Object.keys(servers).length === 0) document.deleteIn(["mcpServers"]);
  // A document without content is written as `null`.
  const isEmpty = Object.keys((document.toJS() as object | null) ?? {}).length === 0 && document.commentBefore === null;
  return isEmpty ? "" : document.toString({ lineWidth: 0 });
}

interface TextSlot extends TargetText {
  path: ConfigPath;
}

/** Replaces the servers in a text, and nothing else: comments and other keys stay. Throws if the result would read differently. */
async function replaceServers({ file, text, path }: TextSlot, servers: Record<string, unknown>): Promise<string> {
  const format = formatOf(file);
  const changed = format === "toml" ? await replaceInToml(text, servers) : replaceInJson(text, path, servers);
  const before = await parseConfigText(text || "{}", file);
  // Text that cannot be parsed is as wrong as one that has other values.
  const after = await parseConfigText(changed, file).catch(() => undefined);
  const isRight =
    isDeepStrictEqual(valueAt(after?.value, path) ?? {}, servers) &&
    isDeepStrictEqual(without(after?.value, path), without(before.value, path));
  if (after && isRight) return changed;
  throw toolError("failed", `The servers in ${file} are written in a way that Haft cannot change safely`, {
    next: "Nothing was written. Change the file by hand; `haft mcp import FILE` takes its servers.",
  });
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

/** Also without parents that are empty then: they may have been added. */
function without(value: unknown, [key = "", ...rest]: ConfigPath): unknown {
  if (!isObject(value)) return {};
  const { [key]: field, ...others } = value;
  const inner = rest.length === 0 ? {} : without(field, rest);
  return isObject(inner) && Object.keys(inner).length === 0 ? others : { ...others, [key]: inner };
}

function replaceInJson(text: string, path: ConfigPath, servers: Record<string, unknown>): string {
  const { range, insertAt } = locate(text, path);
  const written = (indent: string): string => JSON.stringify(servers, null, 2).replaceAll("\n", `\n${indent}`);
  if (range) {
    const line = text.slice(text.lastIndexOf("\n", range.start) + 1, range.start);
    return text.slice(0, range.start) + written(/^\s*/.exec(line)?.[0] ?? "") + text.slice(range.end);
  }
  if (path.length > 1) return text;
  if (insertAt === undefined) return `${JSON.stringify({ [String(path[0])]: servers }, null, 2)}\n`;
  const hasMore = /^\s*[^\s}]/.test(text.slice(insertAt).replace(/\/\/.*|\/\*[^]*?\*\//g, ""));
  const entry = `\n  ${JSON.stringify(path[0])}: ${written("  ")}${hasMore ? "," : "\n"}`;
  return text.slice(0, insertAt) + entry + text.slice(insertAt);
}

/** Where the value at a path is, or where the text's object begins. */
function locate(text: string, path: ConfigPath): { range?: { start: number; end: number }; insertAt?: number } {
  const stack: { key?: string; isList: boolean }[] = [];
  let insertAt: number | undefined;
  let start: number | undefined;
  let depthOfValue = 0;
  for (const { 0: token, index } of text.matchAll(JSON_TOKEN)) {
    if (token.startsWith("//") || token.startsWith("/*")) continue;
    const frame = stack.at(-1);
    const isKey = frame !== undefined && !frame.isList && frame.key === undefined && !/^[{}[\],:]$/.test(token);
    if (isKey) frame.key = token.replace(/^(["'])(.*)\1$/s, (_all, _quote, inner: string) => unescaped(inner));
    else if (token === "," && frame) frame.key = undefined;
    else if (token === "}" || token === "]") {
      stack.pop();
      if (start !== undefined && stack.length === depthOfValue) return { range: { start, end: index + 1 }, insertAt };
    } else if (token === "{" || token === "[") {
      const at = stack.map(({ key }) => key);
      if (start === undefined && token === "{" && isDeepStrictEqual(at, [...path])) {
        start = index;
        depthOfValue = stack.length;
      }
      insertAt ??= index + 1;
      stack.push({ isList: token === "[" });
    }
  }
  return { insertAt };
}

function unescaped(inner: string): string {
  return attempt(() => JSON.parse(`"${inner.replaceAll(/(?<!\\)"/g, '\\"')}"`) as string, inner);
}

const SERVER_TABLE = /^\s*\[\s*(?:mcp_servers|"mcp_servers")\s*(?:\.|\])/;

/** Takes out the tables of servers, and adds those that should be there at the place of the first. */
async function replaceInToml(text: string, servers: Record<string, unknown>): Promise<string> {
  const { stringify } = await import("smol-toml");
  const kept: string[] = [];
  let at: number | undefined;
  let taken: string[] | undefined;
  // Comments above the next table belong to it.
  const giveBack = (): void => {
    const last = taken?.findLastIndex((line) => !/^\s*(?:#.*)?$/.test(line)) ?? -1;
    kept.push(...(taken?.slice(last + 1) ?? []));
  };
  let isInText = false;
  for (const line of text.split("\n")) {
    const isHeader = !isInText && /^\s*\[/.test(line);
    if ((line.match(/"""|'''/g) ?? []).length % 2 === 1) isInText = !isInText;
    if (isHeader) {
      if (SERVER_TABLE.test(line)) {
        if (taken === undefined) at ??= kept.length;
        taken = [...(taken ?? []), line];
        continue;
      }
      giveBack();
      taken = undefined;
    }
    (taken ?? kept).push(line);
  }
  giveBack();
  if (Object.keys(servers).length === 0) return kept.join("\n");
  const written = stringify({ mcp_servers: servers })
    .replace(/^\[mcp_servers\]\n/, "")
    .trimEnd();
  kept.splice(
    at ?? kept.length,
    0,
    ...(at === undefined && kept.at(-1) !== "" ? [""] : []),
    ...written.split("\n"),
    "",
  );
  return kept.join("\n");
}

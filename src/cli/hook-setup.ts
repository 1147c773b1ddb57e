/** Puts `haft hook` into the configuration of an agent, and finds out whether it is there, as it was written, and denies. */
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import type { FileChange } from "../config/agent-servers.ts";
import { parseConfigText, readConfigText } from "../config/config-text.ts";
import { errorCode, errorMessage } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import { stateFolderOf, stateRootOf } from "../io/files/state-folder.ts";
import { findNative } from "../io/sandbox/engines.ts";
import { type AgentName, denyAnswer, PROJECT_VARIABLES } from "../models/hook-protocols.ts";
import { isObject } from "../schema/json-schema.ts";
import { CommandError, EXIT } from "./exit-codes.ts";

export type HookScope = "user" | "project";
type Environment = Readonly<Record<string, string | undefined>>;
type Fields = Record<string, unknown>;

/** What was written, so that a change by others is noticed. */
export interface InstalledHook {
  agent: AgentName;
  scope: HookScope;
  file: string;
  /** The folder of a project; for a user, the one in which it was installed. */
  folder: string;
  /** SHA-256 of what Haft wrote into the file. */
  hash: string;
  at: string;
  /** What starts the native client, before the command that it becomes without a server. */
  native?: readonly string[];
}

/** The seconds that an agent gives its hook. Haft answers a little earlier. */
const SECONDS: Readonly<Record<AgentName, number>> = {
  ...{ claude: 300, codex: 300, gemini: 60, cursor: 60, copilot: 30, opencode: 300, pi: 300 },
};
const REPORT_SECONDS = 30;

/** What the protocol of an agent leaves open, also with a hook that works. */
export const GAPS: Readonly<Partial<Record<AgentName, string>>> = {
  claude: "Claude Code before 2.1.295 runs a call if its hook takes longer than the time limit.",
  cursor: "Versions of Cursor that do not know preToolUse do not call the hook, and do not say so.",
  codex: "Codex runs a call if its hook takes longer than the time limit, and only hooks that you trusted in Codex.",
  gemini: "Gemini CLI runs a call if its hook takes longer than the time limit.",
  copilot:
    "Copilot runs a call if its hook takes longer than the time limit. With -p it may not read hooks of a project: use --user.",
  opencode: "opencode loads plugins when it starts: a session that is open now has no hook.",
  pi: "pi loads extensions of a project only after you trusted the project.",
};

/** Of administrators. Haft prints them, and never writes there. */
export const MANAGED: Readonly<Partial<Record<AgentName, string>>> = {
  claude: "/etc/claude-code/managed-settings.json",
  codex: "/etc/codex/requirements.toml",
  gemini: "/etc/gemini-cli/settings.json",
  cursor: "/etc/cursor/hooks.json",
  copilot: "/etc/github-copilot/policy.d/haft.json",
};

interface Place {
  agent: AgentName;
  scope: HookScope;
  folder: string;
  env: Environment;
}

export function hookFileOf({ agent, scope, folder, env }: Place): string {
  const home = env["HOME"] ?? homedir();
  const own = (name: string, usual: string): string => {
    const given = env[name];
    return given !== undefined && isAbsolute(given) ? given : join(home, usual);
  };
  const isUser = scope === "user";
  switch (agent) {
    case "claude":
      // Not the shared file: the command line is the one of this machine.
      return isUser
        ? join(own("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
        : join(folder, ".claude", "settings.local.json");
    case "codex":
      return join(isUser ? own("CODEX_HOME", ".codex") : join(folder, ".codex"), "hooks.json");
    case "gemini":
      return join(isUser ? home : folder, ".gemini", "settings.json");
    case "cursor":
      return join(isUser ? home : folder, ".cursor", "hooks.json");
    case "copilot":
      return join(isUser ? own("COPILOT_HOME", ".copilot") : join(folder, ".github"), "hooks", "haft.json");
    case "opencode":
      return isUser
        ? join(own("XDG_CONFIG_HOME", ".config"), "opencode", "plugins", "haft.js")
        : join(folder, ".opencode", "plugins", "haft.js");
    case "pi":
      return join(isUser ? join(home, ".pi", "agent") : join(folder, ".pi"), "extensions", "haft.ts");
  }
}

function wordsOf(place: Place, haft: readonly string[], seconds: number): string[] {
  const { agent, scope, folder } = place;
  const named = scope === "project" ? ["--folder", folder] : [];
  const words = [...haft, "hook", agent, "--limit", `${seconds - 5}s`, ...named];
  return isAbsolute(words[0]!) ? [...(nativeWords(place, seconds) ?? []), ...words] : words;
}

/** Starts `native/hook.c`, which asks a running server without a start of Node. Undefined: there is none for this machine. */
export function nativeWords({ agent, scope, folder, env }: Place, seconds = SECONDS[agent]): string[] | undefined {
  const [program] = findNative("hook").command ?? [];
  if (process.platform !== "linux" || program === undefined) return undefined;
  // A file system may not let it start, or be of another machine.
  if (!String(spawnSync(program, [], { encoding: "utf8" }).stderr).startsWith("Haft: ")) return undefined;
  const place = scope === "project" ? basename(stateFolderOf(folder, { env })) : `:${PROJECT_VARIABLES[agent] ?? ""}`;
  return [program, agent, String((seconds - 5) * 1000), stateRootOf({ env }), place];
}

/** For sh, bash, zsh and fish. */
function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The environment of the installation, in which Haft finds its state and the user's configuration: agents take variables from the
 * settings of a folder, and programs without a terminal have others.
 */
function environmentOf({ env }: Place): Record<string, string> {
  const { HOME = homedir(), XDG_CONFIG_HOME = "" } = env;
  return { HAFT_STATE_DIR: stateRootOf({ env }), HOME, XDG_CONFIG_HOME, NODE_OPTIONS: "" };
}

/** A program that is gone or crashes denies too. A report that fails stops nothing. */
function commandOf(place: Place, haft: readonly string[], isCall: boolean): string {
  const words = wordsOf(place, haft, isCall ? SECONDS[place.agent] : REPORT_SECONDS).map(quoted);
  const variables = Object.entries(environmentOf(place)).map(([name, value]) => `${name}=${value && quoted(value)}`);
  return `${[...variables, ...words].join(" ")} || ${isCall ? "exit 2" : "true"}`;
}

/** The entry of each event, the one that decides first. */
function entriesOf(place: Place, haft: readonly string[]): Record<string, Fields> {
  const { agent } = place;
  const call = commandOf(place, haft, true);
  const report = commandOf(place, haft, false);
  const seconds = SECONDS[agent];
  const each = (names: readonly string[], entry: Fields) => Object.fromEntries(names.map((name) => [name, entry]));
  const group = (hook: Fields, matcher?: string): Fields => ({
    ...(matcher === undefined ? {} : { matcher }),
    hooks: [{ type: "command", ...hook }],
  });
  const reported = group({ command: report, timeout: REPORT_SECONDS });
  switch (agent) {
    case "claude":
      return {
        PreToolUse: group({ command: call, timeout: seconds, onFailure: "block" }, "*"),
        ...each(["PostToolUse", "PostToolUseFailure"], { matcher: "*", ...reported }),
        ...each(["UserPromptSubmit", "Stop", "SessionEnd"], reported),
      };
    case "codex":
      return {
        PreToolUse: group({ command: call, timeout: seconds }),
        ...each(["PostToolUse", "UserPromptSubmit", "Stop"], reported),
      };
    case "gemini": {
      const later = { name: "haft", command: report, timeout: REPORT_SECONDS * 1000 };
      return {
        BeforeTool: group({ name: "haft", command: call, timeout: seconds * 1000 }, ".*"),
        AfterTool: group(later, ".*"),
        ...each(["BeforeAgent", "AfterAgent", "SessionEnd"], group(later)),
      };
    }
    case "cursor":
      return {
        preToolUse: { command: call, timeout: seconds, failClosed: true },
        ...each(["postToolUse", "postToolUseFailure", "beforeSubmitPrompt", "stop", "sessionEnd"], {
          command: report,
          timeout: REPORT_SECONDS,
        }),
      };
    case "copilot":
      return {
        preToolUse: { type: "command", bash: call, timeoutSec: seconds },
        ...each(["postToolUse", "postToolUseFailure", "userPromptSubmitted", "sessionEnd"], {
          type: "command",
          bash: report,
          timeoutSec: REPORT_SECONDS,
        }),
      };
    case "opencode":
    case "pi":
      return {};
  }
}

function isPlugin(agent: AgentName): boolean {
  return agent === "opencode" || agent === "pi";
}

const MARK = "// Written by Haft";

/** JavaScript, which both agents load. Whatever is not a clear pass denies. */
function pluginText(place: Place, haft: readonly string[]): string {
  const { agent } = place;
  const command = JSON.stringify(wordsOf(place, haft, SECONDS[agent]));
  return `${MARK}: \`haft hook install ${agent}\`. To remove it: \`haft hook remove ${agent}\`.
import { spawn, spawnSync } from "node:child_process";

const [program, ...words] = ${command};
const env = { ...process.env, ...${JSON.stringify(environmentOf(place))} };

function ask(event) {
  return new Promise((resolve) => {
    const deny = (reason) => resolve({ decision: "deny", reason });
    const child = spawn(program, words, { cwd: event.cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    child.on("error", (error) => deny("Haft did not start: " + error.message));
    child.stdin.on("error", () => undefined);
    child.stdout.on("data", (part) => (text += part));
    child.on("close", () => {
      try {
        resolve(JSON.parse(text));
      } catch {
        deny("Haft did not answer.");
      }
    });
    child.stdin.end(JSON.stringify(event));
  });
}

const isPass = (answer) => answer !== null && typeof answer === "object" && answer.decision === "pass";
const why = (answer) => (answer && answer.reason) || "Haft denies this call.";
const textOf = (parts) => (parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\\n");

${agent === "opencode" ? OPENCODE : PI}`;
}

const OPENCODE = `export const Haft = async ({ directory: cwd, client }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
    const call = { event: "tool.execute.before", session: sessionID, id: callID, tool, input: args, cwd };
    const answer = await ask(call);
    if (!isPass(answer)) throw new Error(why(answer));
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, { output }) => {
    await ask({ event: "tool.execute.after", session: sessionID, id: callID, tool, input: args ?? {}, output, cwd });
  },
  "chat.message": async ({ sessionID }, { parts }) => {
    // The task of a subagent is the text of a model, and so are the contents of files that opencode adds to a prompt.
    const { data } = await client.session.get({ path: { id: sessionID } }).catch(() => ({}));
    if (!data || data.parentID) return;
    const prompt = textOf(parts.filter(({ synthetic, ignored }) => !synthetic && !ignored));
    await ask({ event: "chat.message", session: sessionID, prompt, cwd });
  },
  event: async ({ event }) => {
    if (event.type === "session.idle") await ask({ event: "idle", session: event.properties.sessionID, cwd });
  },
});
`;

const PI = `export default function (pi) {
  const at = (event, context) => ({
    event,
    session: context?.sessionManager?.getSessionId?.() ?? "pi-" + process.pid,
    cwd: context?.cwd ?? process.cwd(),
  });
  const callOf = ({ toolName, toolCallId, input }) => ({ tool: toolName, id: toolCallId, input });
  pi.on("tool_call", async (event, context) => {
    const answer = await ask({ ...at("tool_call", context), ...callOf(event) });
    if (!isPass(answer)) return { block: true, reason: why(answer) };
  });
  pi.on("tool_result", async (event, context) => {
    const output = textOf(event.content);
    await ask({ ...at("tool_result", context), ...callOf(event), output, failed: event.isError === true });
  });
  pi.on("input", async (event, context) => {
    if (event.source !== "extension") await ask({ ...at("input", context), prompt: event.text });
  });
  pi.on("agent_end", async (_event, context) => {
    await ask(at("idle", context));
  });
}
`;

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Comments would be lost, so such a file is not written. */
function parseFile(file: string, text: string): Fields {
  let parsed: unknown;
  try {
    parsed = text.trim() === "" ? {} : JSON.parse(text);
  } catch (error) {
    const message = `${file} is not plain JSON, so Haft does not use it: ${errorMessage(error)}.`;
    throw new CommandError(message, {
      exitCode: EXIT.failed,
      code: "bad_request",
      next: "Remove its comments, or correct it.",
    });
  }
  const hooks = isObject(parsed) ? (parsed["hooks"] ?? {}) : undefined;
  if (isObject(parsed) && isObject(hooks)) return parsed;
  throw new CommandError(`${file} has no object "hooks" that Haft understands.`, {
    exitCode: EXIT.failed,
    code: "conflict",
  });
}

function isOurs(agent: AgentName, entry: unknown): boolean {
  return new RegExp(`(?:haft|\\.[cm]?[jt]s)'? hook ${agent} --limit `).test(JSON.stringify(entry) ?? "");
}

/** Haft's part of an entry, and the rest of it. In some agents an entry is a group of hooks. */
function divide(agent: AgentName, entry: unknown): { ours?: unknown; others?: unknown } {
  const group = isObject(entry) && Array.isArray(entry["hooks"]) ? (entry as Fields & { hooks: unknown[] }) : undefined;
  if (!group) return isOurs(agent, entry) ? { ours: entry } : { others: entry };
  const ours = group.hooks.filter((hook) => isOurs(agent, hook));
  if (ours.length === 0) return { others: entry };
  const others = group.hooks.filter((hook) => !isOurs(agent, hook));
  return { ours: { ...group, hooks: ours }, ...(others.length > 0 && { others: { ...group, hooks: others } }) };
}

/** Haft's entries, by event. */
function oursIn(agent: AgentName, document: Fields): Record<string, unknown[]> {
  const hooks = Object.entries((document["hooks"] ?? {}) as Fields).map(([event, list]): [string, unknown[]] => [
    event,
    Array.isArray(list) ? list.flatMap((entry) => divide(agent, entry).ours ?? []) : [],
  ]);
  return Object.fromEntries(hooks.filter(([, list]) => list.length > 0));
}

function withoutOurs(agent: AgentName, document: Fields): Fields {
  const hooks = Object.entries((document["hooks"] ?? {}) as Fields).flatMap(([event, list]): [string, unknown][] => {
    if (!Array.isArray(list)) return [[event, list]];
    const kept = list.flatMap((entry) => divide(agent, entry).others ?? []);
    return kept.length === 0 && list.length > 0 ? [] : [[event, kept]];
  });
  const { hooks: _hooks, ...rest } = document;
  return hooks.length === 0 ? rest : { ...document, hooks: Object.fromEntries(hooks) };
}

function written(document: Fields, before: string): string {
  if (/\d{16}/.test(before.replaceAll(/"(?:[^"\\]|\\.)*"/g, "")))
    throw new CommandError("The file has a number with so many digits that writing the file would change it.", {
      exitCode: EXIT.failed,
      code: "conflict",
      next: "Put the number in quotes, or add the hook by hand.",
    });
  const indent = /^\{\r?\n([ \t]+)/.exec(before)?.[1] ?? "  ";
  return `${JSON.stringify(document, undefined, indent)}\n`;
}

function hashOf(agent: AgentName, text: string): string | undefined {
  const part = isPlugin(agent) ? text : canonicalJson(oursIn(agent, parseFile("It", text)));
  return part === "{}" ? undefined : createHash("sha256").update(part).digest("hex");
}

/** What installing would change. */
export function planInstall(place: Place, haft: readonly string[]): FileChange {
  const { agent } = place;
  const file = hookFileOf(place);
  const before = readText(file) ?? "";
  if (isPlugin(agent)) {
    if (before !== "" && !before.startsWith(MARK))
      throw new CommandError(`${file} is not from Haft, so it is not replaced.`, {
        exitCode: EXIT.failed,
        code: "conflict",
      });
    return { file, before, after: pluginText(place, haft) };
  }
  const document = withoutOurs(agent, parseFile(file, before));
  const hooks = { ...((document["hooks"] ?? {}) as Fields) };
  for (const [event, entry] of Object.entries(entriesOf(place, haft)))
    hooks[event] = [...((hooks[event] as unknown[] | undefined) ?? []), entry];
  const version = agent === "cursor" || agent === "copilot" ? { version: document["version"] ?? 1 } : {};
  return { file, before, after: written({ ...version, ...document, hooks }, before) };
}

/** What removing would change. An empty `after`: the file goes. */
export function planRemove({ agent, file }: Pick<InstalledHook, "agent" | "file">): FileChange | undefined {
  const before = readText(file);
  if (before === undefined) return undefined;
  if (isPlugin(agent)) return before.startsWith(MARK) ? { file, before, after: "" } : undefined;
  const document = parseFile(file, before);
  if (Object.keys(oursIn(agent, document)).length === 0) return undefined;
  const rest = withoutOurs(agent, document);
  const isEmpty = Object.keys(rest).every((key) => key === "version");
  return { file, before, after: isEmpty ? "" : written(rest, before) };
}

/** Through a new file that is moved into place. Nothing is written if the file has changed since it was shown. */
export function writeChange({ file, before, after }: FileChange): void {
  if ((readText(file) ?? "") !== before)
    throw new CommandError(`${file} has changed meanwhile. Nothing was written.`, {
      exitCode: EXIT.failed,
      code: "conflict",
    });
  // A link stays one, and the mode of the file stays.
  const exists = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  const target = exists ? realpathSync(file) : file;
  if (after === "") return [target, file].forEach((each) => rmSync(each, { force: true }));
  mkdirSync(dirname(target), { recursive: true });
  const fresh = `${target}.${randomBytes(4).toString("hex")}.new`;
  const mode = exists ? statSync(target).mode & 0o777 : undefined;
  writeFileSync(fresh, after, { flag: "wx", mode });
  if (mode !== undefined) chmodSync(fresh, mode);
  renameSync(fresh, target);
}

function recordFile(env: Environment): string {
  return join(stateRootOf({ env }), "installed-hooks.json");
}

export function installedHooks(env: Environment): InstalledHook[] {
  const text = readText(recordFile(env));
  return text === undefined ? [] : (JSON.parse(text) as InstalledHook[]);
}

/** `hook` undefined: forgets what was recorded of the file. */
export function recordHook(env: Environment, file: string, hook?: Omit<InstalledHook, "hash" | "at" | "file">): void {
  const others = installedHooks(env).filter((each) => each.file !== file);
  const hash = hook && hashOf(hook.agent, readText(file) ?? "");
  if (hook && hash !== undefined) others.push({ ...hook, file, hash, at: new Date().toISOString() });
  const record = recordFile(env);
  mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
  writeFileSync(`${record}.new`, `${JSON.stringify(others, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${record}.new`, record);
}

export type HookState = "installed" | "changed" | "missing" | "disabled" | "unreadable";

/** Files of the user, and of a folder, in which an agent's hooks can be turned off. */
const SWITCHES: Readonly<Partial<Record<AgentName, readonly string[]>>> = {
  claude: [".claude/settings.json", ".claude/settings.local.json"],
  codex: [".codex/config.toml", ".codex/hooks.json"],
  cursor: [".cursor/hooks.json"],
  gemini: [".gemini/settings.json"],
  copilot: [".copilot", ".github/copilot", ".claude"].flatMap((name) => [
    `${name}/settings.json`,
    `${name}/settings.local.json`,
  ]),
};

/** The file of the hook, and the others that the agent reads. */
async function settingsOf({ agent, file, folder }: InstalledHook, place: Checking): Promise<[string, Fields][]> {
  if (isPlugin(agent)) return [];
  const { env } = place;
  const own = dirname(hookFileOf({ agent, scope: "user", folder, env }));
  const files = (SWITCHES[agent] ?? []).flatMap((name) => [
    ...[folder, place.folder, env["HOME"] ?? homedir()].map((each) => join(each, name)),
    join(own, basename(name)),
  ]);
  // Copilot reads all files beside it.
  const beside = agent === "copilot" && existsSync(dirname(file)) ? readdirSync(dirname(file)) : [];
  const found: [string, Fields][] = [];
  for (const each of new Set([file, ...files, ...beside.map((name) => join(dirname(file), name))])) {
    try {
      const { value } = await parseConfigText((await readConfigText(each)) ?? "{}", each);
      found.push([each, Object(value) as Fields]);
    } catch {
      // The agent cannot read it either.
    }
  }
  return found;
}

/** The file that says that the agent calls no hooks, or not this one. */
async function disabledBy(hook: InstalledHook, place: Checking): Promise<string | undefined> {
  return (await settingsOf(hook, place)).find(([, fields]) => saysOff(hook.agent, fields))?.[0];
}

const BEFORE_CALLS: Readonly<Partial<Record<AgentName, string>>> = {
  ...{ claude: "PreToolUse", codex: "PreToolUse", gemini: "BeforeTool", cursor: "preToolUse", copilot: "preToolUse" },
};

/** Hooks of others that the agent asks about each call, too: before Haft or after it. */
export async function otherHooks(hook: InstalledHook, place: Checking): Promise<string[]> {
  const event = BEFORE_CALLS[hook.agent] ?? "";
  return (await settingsOf(hook, place)).flatMap(([file, { hooks }]) => {
    const groups = [isObject(hooks) ? (hooks[event] ?? []) : []].flat();
    const entries = groups.flatMap((group) => (isObject(group) ? (group["hooks"] ?? group) : []));
    const others = entries.filter((entry): entry is Fields => isObject(entry) && !isOurs(hook.agent, entry));
    return others.map(({ command, bash, type }) => `${String(command ?? bash ?? type)} (${event} in ${file})`);
  });
}

function saysOff(agent: AgentName, { disableAllHooks, hooksConfig, features }: Fields): boolean {
  if (disableAllHooks === true) return true;
  if (isObject(features) && (features["hooks"] === false || features["codex_hooks"] === false)) return true;
  if (!isObject(hooksConfig)) return false;
  const { enabled, disabled } = hooksConfig;
  return enabled === false || [disabled].flat().some((name) => name === "haft" || isOurs(agent, name));
}

/** Where hooks are looked at: a folder can turn off also those of the user. */
export interface Checking {
  folder: string;
  env: Environment;
}

export async function stateOf(hook: InstalledHook, place: Checking): Promise<HookState> {
  const { agent, file, hash } = hook;
  try {
    const text = readText(file);
    if ((await disabledBy(hook, place)) !== undefined) return "disabled";
    const now = text === undefined ? undefined : hashOf(agent, text);
    return now === undefined ? "missing" : now === hash ? "installed" : "changed";
  } catch {
    return "unreadable";
  }
}

/** Long enough for a server that has to start on a busy machine. */
const CANARY_MS = 180_000;

/**
 * Sends a call that Haft always denies, by the command line or plugin that the file has, as the agent starts it. Undefined if it
 * was denied; otherwise why the hook does not hold. What others wrote into the file is never started.
 */
export async function proveHook(hook: InstalledHook, place: Checking): Promise<string | undefined> {
  try {
    const off = await disabledBy(hook, place);
    const problem = await startCanary(hook, place.env);
    return problem ?? (off && `${off} turns hooks off, so the agent does not call it.`);
  } catch (error) {
    return `${hook.file} cannot be read or started, so the hook does not hold: ${errorMessage(error)}`;
  }
}

async function startCanary(
  { agent, file, folder, hash }: InstalledHook,
  env: Environment,
): Promise<string | undefined> {
  const nonce = randomBytes(16).toString("hex");
  const command = `: haft canary ${nonce}`;
  const reason = `Haft: Canary ${nonce}: the hook is called, and denies.`;
  const text = readText(file);
  if (text === undefined) return `${file} is not there.`;
  if (hashOf(agent, text) !== hash) return "It is not what Haft wrote, so it was not started.";
  const cwd = existsSync(folder) ? folder : process.cwd();
  if (isPlugin(agent)) {
    const source = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
    const driver = agent === "opencode" ? OPENCODE_DRIVER : PI_DRIVER;
    const words = ["--input-type=module", "-e", driver, source, command];
    const { stdout, stderr } = await runOnce(process.execPath, words, { cwd, env, input: "" });
    return stdout === reason ? undefined : `It was not denied: ${(stdout || stderr).slice(0, 300)}`;
  }
  const fields = canaryEvent(agent, { command, cwd });
  const line = commandIn(oursIn(agent, parseFile(file, text))[String(fields["hook_event_name"] ?? "preToolUse")]?.[0]);
  if (line === undefined) return `${file} has no command of Haft.`;
  const event = JSON.stringify(fields);
  const expected = denyAnswer(agent, reason, event);
  const { code, stdout, stderr } = await runOnce("/bin/sh", ["-c", line], { cwd, env, input: event });
  if (code === expected.exitCode && stdout === expected.stdout) return undefined;
  return `It was not denied (exit code ${code}): ${(stdout || stderr).slice(0, 300)}`;
}

/** Undefined if the native client of an installed hook answers by itself, otherwise why it does not. */
export async function proveNative(
  { agent, folder, native }: InstalledHook,
  env: Environment,
): Promise<string | undefined> {
  const [program, ...words] = native ?? [];
  if (program === undefined) return "Each call starts Node: the hook was installed without the native client.";
  const nonce = randomBytes(16).toString("hex");
  const cwd = existsSync(folder) ? folder : process.cwd();
  const event = JSON.stringify(canaryEvent(agent, { command: `: haft canary ${nonce}`, cwd }));
  // Instead of Node, so it has to answer.
  const { stdout, stderr } = await runOnce(program, [...words, "/bin/false"], { cwd, env, input: event });
  return stdout.includes(`Canary ${nonce}:`)
    ? undefined
    : `Each call starts Node: the native client got no answer. ${stderr.slice(0, 200)}`.trim();
}

function commandIn(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined;
  const hooks = entry["hooks"];
  const hook = Array.isArray(hooks) && isObject(hooks[0]) ? hooks[0] : entry;
  const line = hook["command"] ?? hook["bash"];
  return typeof line === "string" ? line : undefined;
}

/** The event before a command, in the form of each agent. */
function canaryEvent(agent: AgentName, { command, cwd }: { command: string; cwd: string }): Fields {
  const session = "haft-canary";
  if (agent === "cursor") {
    const common = { conversation_id: session, generation_id: session, workspace_roots: [cwd], cwd };
    return { ...common, hook_event_name: "preToolUse", tool_name: "Shell", tool_input: { command } };
  }
  if (isPlugin(agent))
    return {
      event: agent === "pi" ? "tool_call" : "tool.execute.before",
      session,
      cwd,
      tool: "bash",
      input: { command },
    };
  if (agent === "copilot") return { sessionId: session, cwd, toolName: "bash", toolArgs: JSON.stringify({ command }) };
  const [name, tool] = agent === "gemini" ? ["BeforeTool", "run_shell_command"] : ["PreToolUse", "Bash"];
  return { session_id: session, cwd, hook_event_name: name, tool_name: tool, tool_input: { command } };
}

const OPENCODE_DRIVER = `const [source, command] = process.argv.slice(1);
const { Haft } = await import(source);
const hooks = await Haft({ directory: process.cwd() });
const call = { tool: "bash", sessionID: "haft-canary", callID: "1" };
await hooks["tool.execute.before"](call, { args: { command } }).catch((error) => process.stdout.write(error.message));`;

const PI_DRIVER = `const [source, command] = process.argv.slice(1);
const { default: extend } = await import(source);
const handlers = {};
extend({ on: (name, handler) => (handlers[name] = handler) });
const call = { toolName: "bash", toolCallId: "1", input: { command } };
const answer = await handlers.tool_call(call, { cwd: process.cwd() });
if (answer?.block === true) process.stdout.write(answer.reason);`;

function runOnce(
  program: string,
  words: readonly string[],
  { cwd, env, input }: { cwd: string; env: Environment; input: string },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd, env: { ...env }, timeout: CANARY_MS });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (part) => (stdout += String(part)));
    child.stderr.on("data", (part) => (stderr += String(part)));
    child.stdin.on("error", () => undefined);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
    child.stdin.end(input);
  });
}

import { lstatSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { isInside, isSecretName } from "../files/path-policy.ts";
import type { ProgramAccess } from "./program-sandbox.ts";

/** What a confined program may do, to tell a refusal of the sandbox from another error. All paths are real. */
export interface RefusalContext {
  access: ProgramAccess;
  program: string;
  /** As its entry names it, with the arguments. */
  command: readonly string[];
  workspace: string;
  home: string;
  readable: readonly string[];
  writable: readonly string[];
  /** Hosts that the proxy refused. */
  refusedHosts: readonly string[];
  /** The environment of the program, and the one of this process. */
  given: Readonly<Record<string, string>>;
  host: Readonly<Record<string, string | undefined>>;
}

/** Programs say more than they must. The reason is at the end. */
const MAX_TEXT = 20_000;

/**
 * What the sandbox refused, and the line of configuration that allows it. Undefined if the output does not show it: an
 * error about a path that the program may use is not a refusal.
 */
export function explainRefusal(output: string, context: RefusalContext): string | undefined {
  const text = output.slice(-MAX_TEXT);
  return (
    refusedStart(text, context) ??
    missingFile(text, context) ??
    refusedSocket(text) ??
    refusedBrowser(text) ??
    refusedPath(text, context) ??
    refusedHost(text, context) ??
    withheldVariable(text, context)
  );
}

function allow(what: string, line: string): string {
  return `The sandbox refused ${what}. To allow it, add to its entry: ${line}`;
}

/** The launcher's own message if the program cannot be executed. */
function refusedStart(text: string, { program, access, home }: RefusalContext): string | undefined {
  if (!/haft-launch: cannot confine the command/.test(text)) return undefined;
  if (!/entry 900002, errno 013/.test(text)) return "The sandbox could not be set up, so the program did not start.";
  const folder = shown(dirname(program), { home });
  return allow(`to execute ${shown(program, { home })}`, listLine("read", access.read, folder));
}

/** A program that does not exist was not refused. Node names the whole path of its own script. */
function missingFile(text: string, { home, workspace }: RefusalContext): string | undefined {
  for (const [, given = ""] of text.matchAll(/Cannot find module '(\/[^'\n]+)'/g)) {
    if (lstatSync(given, { throwIfNoEntry: false })) continue;
    return `The file ${shown(given, { home, workspace })} does not exist. Correct its path in the entry.`;
  }
  return undefined;
}

/** A browser has a sandbox of its own, which does not start inside this one. */
function refusedBrowser(text: string): string | undefined {
  const isBrowser =
    /browserType\.launch|Failed to launch the browser|(?:chrome|chromium|firefox|webkit)\b[^\n]{0,200}(?:not found|executable|sandbox|denied|EACCES|EPERM)|(?:EACCES|EPERM|EROFS|denied)[^\n]{0,200}(?:ms-playwright|puppeteer|chromium|google-chrome)/i;
  return isBrowser.test(text) ? unconfinedBrowser() : undefined;
}

/** Servers that start a browser, by their packages. The first thing that a browser is refused has nothing of a browser in it. */
const BROWSER_SERVER = /playwright|puppeteer|selenium|chrome-devtools|browser-?(?:mcp|use|base)/i;

function unconfinedBrowser(): string {
  return allow("the browser that it starts", '"sandbox": false');
}

/** Connections through a file, such as the one of Docker, lead to programs outside the sandbox. */
function refusedSocket(text: string): string | undefined {
  const [, socket] =
    /(?:connect (?:EACCES|EPERM) |dial unix |unix:\/\/)(\/[^\s'":]+)/.exec(text) ??
    /(?:EACCES|EPERM|denied)[^\n]{0,200}?(\/[^\s'":]{1,200}\.sock)\b/i.exec(text) ??
    [];
  return socket === undefined ? undefined : allow(`to connect to ${socket}`, '"sandbox": false');
}

/** Each finds the path, and if known the operation. */
const PATH_ERRORS: readonly RegExp[] = [
  /\bE(?:ACCES|PERM|ROFS): [^,\n]+, (?<call>\w+) '(?<path>[^'\n]+)'/g,
  // Node reports this if a folder cannot be created together with its parents.
  /\bENOENT: [^,\n]+, (?<call>mkdir) '(?<path>[^'\n]+)'/g,
  /\[Errno (?:13|1|30)\] [^:\n]+: '(?<path>[^'\n]+)'/g,
  /['"`‘](?<path>[/~.][^'"`’\n]*)['"`’]:? (?:\[Errno \d+\] )?(?:Permission denied|Operation not permitted|Read-only file system)/gi,
  /(?:^|[\s(])(?<path>[/~][^\s'":]+): (?:Permission denied|Operation not permitted|Read-only file system)/gim,
  /code E(?:ACCES|PERM|ROFS)[\s\S]{0,400}?\b(?:error|ERR!) path (?<path>\/\S+)/g,
  // It exists, or `missingFile` would have said so.
  /Cannot find (?:module|package) '(?<path>\/[^'\n]+)'/g,
];

const WRITING_CALLS = new Set(
  "mkdir mkdtemp rmdir unlink rename symlink link copyfile chmod chown utime ftruncate truncate".split(" "),
);

function refusedPath(text: string, context: RefusalContext): string | undefined {
  for (const pattern of PATH_ERRORS) {
    for (const { groups } of text.matchAll(pattern)) {
      const given = (groups?.["path"] ?? "").replace(/^~(?=\/|$)/, context.home);
      const path = resolve(context.workspace, given);
      const explained = explainPath(path, groups?.["call"], context);
      if (explained !== undefined) return explained;
    }
  }
  return undefined;
}

function explainPath(path: string, call: string | undefined, context: RefusalContext): string | undefined {
  const { access, workspace, home, readable, writable } = context;
  const isIn = (roots: readonly string[]): boolean => roots.some((root) => isInside(path, root));
  if (isIn(writable)) return undefined;
  const info = lstatSync(path, { throwIfNoEntry: false });
  const isSecret = isSecretName(isInside(path, workspace) ? path.slice(workspace.length) : path);
  const isReadable = isIn(readable) && !isSecret;
  const isWrite = info === undefined || isReadable || (call !== undefined && WRITING_CALLS.has(call));
  if (isWrite && !isInside(path, workspace) && BROWSER_SERVER.test(context.command.join(" ")))
    return unconfinedBrowser();
  if (isWrite && isCode(path)) return adviseOtherPlace(path, context);
  const isShallow = (folder: string): boolean => isInside(home, folder) || folder.split("/").length < 3;
  const target = ((): string => {
    if (isSecret || info?.isDirectory()) return path;
    if (isWrite && isInside(path, workspace)) return workspace;
    const folder = call === "mkdir" ? path : dirname(path);
    return isShallow(folder) ? path : folder;
  })();
  const name = isWrite ? "write" : "read";
  const line = listLine(name, access[name], shown(target, { home, workspace }));
  const warning = isSecret ? " (a place for keys or passwords)" : "";
  return allow(`to ${name} ${shown(path, { home, workspace })}${warning}`, line);
}

/** Installed packages: a program that may change its own code is not confined. */
function isCode(path: string): boolean {
  return /\/(?:node_modules|site-packages|dist-packages|_npx|\.cache\/uv)\//.test(path);
}

/** The variables of servers that write beside their own code unless they are told another place. */
const PLACES: readonly { server: RegExp; variable: string; file: string }[] = [
  { server: /\/server-memory\//, variable: "MEMORY_FILE_PATH", file: "memory.jsonl" },
];

function adviseOtherPlace(path: string, { home, workspace, access }: RefusalContext): string {
  const refused = `The sandbox refused to write ${shown(path, { home, workspace })}, which is in the server's own code.`;
  const known = PLACES.find(({ server }) => server.test(path));
  const line = listLine("write", access.write, ".");
  if (!known) return `${refused} Give it another place in its settings, and allow that, for example: ${line}`;
  const { variable, file } = known;
  const env = `"env": {"${variable}": ${JSON.stringify(`${workspace}/${file}`)}}`;
  return `${refused} Give it another place. Add to its entry: ${env}, ${line}`;
}

const NETWORK_ERRORS: readonly RegExp[] = [
  /\b(?:ENOTFOUND|EAI_AGAIN) (?<host>[\w.-]+)/,
  /Could not resolve (?:host|proxy)(?: name)?:? '?(?<host>[\w.-]+)/i,
  /Failed to resolve '(?<host>[\w.-]+)'/,
  /\b(?:connect|socket) (?:EACCES|EPERM|ECONNREFUSED|ENETUNREACH)\b/,
  /Temporary failure in name resolution|Name or service not known|Network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND/i,
  /dns error|failed to lookup address/i,
];

function refusedHost(text: string, { access, refusedHosts }: RefusalContext): string | undefined {
  const { network = "all" } = access;
  if (network === "all") return undefined;
  const listed = network === "none" ? [] : network;
  if (refusedHosts.length > 0) {
    const line = `"network": ${JSON.stringify([...listed, ...refusedHosts])}`;
    return allow(`to connect to ${refusedHosts.join(", ")}`, line);
  }
  for (const pattern of NETWORK_ERRORS) {
    const found = pattern.exec(text);
    const host = found?.groups?.["host"];
    // Names without a dot are errors of other programs, or this machine.
    if (host?.includes(".")) return allow(`to connect to ${host}`, `"network": ${JSON.stringify([...listed, host])}`);
    if (found) return allow("a connection", '"network": "all"');
  }
  return undefined;
}

const MISSING = /environment|\benv\b|variable|required|missing|not (?:set|defined|found|provided)|must|provide/i;

/** A variable that this process has, that the program was not given, and that it says is missing. */
function withheldVariable(text: string, { given, host }: RefusalContext): string | undefined {
  for (const line of text.split("\n")) {
    if (!MISSING.test(line)) continue;
    for (const [name] of line.matchAll(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g)) {
      if (host[name] === undefined || given[name] !== undefined) continue;
      return `It was not given the variable ${name}. To pass it on, add to its entry: "env": {"${name}": "\${${name}}"}`;
    }
  }
  return undefined;
}

function listLine(key: "read" | "write", listed: readonly string[] = [], path: string): string {
  return `"${key}": ${JSON.stringify([...listed, path])}`;
}

/** As people write it in the configuration. */
function shown(path: string, { home, workspace }: { home: string; workspace?: string }): string {
  if (workspace !== undefined && isInside(path, workspace)) return relative(workspace, path) || ".";
  return isInside(path, home) && home !== "/" ? `~${path.slice(home.length)}` : path;
}

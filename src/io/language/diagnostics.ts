import { createHash } from "node:crypto";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BoundedMap } from "../../core/bounded-map.ts";
import { keysOf, checkKeys } from "../../core/options.ts";
import { toolError } from "../../core/error.ts";
import type { Files } from "../files/files.ts";
import { expandHome, isInside } from "../files/path-name.ts";
import { decodeText } from "../files/text-encoding.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { findProgram } from "../shell/find-program.ts";
import { shellEnvironment } from "../shell/shell-environment.ts";
import { type FileProblem, LanguageServer, type ServerLaunch, type ServerProtocol } from "./language-server.ts";

/** A program that speaks the Language Server Protocol on its standard input and output. */
export interface LanguageServerSettings {
  /** The program. It runs confined: it writes nothing, has no network and sees no secrets. */
  command: string;
  /** Its arguments. */
  args?: readonly string[];
  /** The files that it is for, such as `.py`. */
  extensions: readonly string[];
}

/** How files are checked after an edit. */
export interface DiagnosticOptions {
  /** Language servers by name, besides TypeScript, which is found in `node_modules`. */
  servers?: Readonly<Record<string, LanguageServerSettings>>;
  /** How long an edit waits for the errors of its files, in milliseconds. Default: 3000. */
  waitMs?: number;
  /** When a server that is not used is ended. Default: 10 minutes. */
  idleMs?: number;
}

const OPTION_KEYS = keysOf<DiagnosticOptions>({ servers: true, waitMs: true, idleMs: true });
const SERVER_KEYS = keysOf<LanguageServerSettings>({ command: true, args: true, extensions: true });

/** A file that was changed, with its content before; undefined if it is new. */
export interface ChangedFile {
  /** A real path. */
  file: string;
  before: Buffer | undefined;
  after: Buffer;
}

export interface CheckedFile {
  file: string;
  /** New ones first. */
  problems: (FileProblem & { isNew: boolean })[];
  /** How many errors the file had before. */
  before: number;
}

const TYPESCRIPT = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];
const WAIT_MS = 3_000;
const IDLE_MS = 10 * 60_000;
/** Each loads a project. */
const MAX_SERVERS = 3;
/** After so many failures a program is not started again. */
const MAX_FAILURES = 3;
const MAX_FILES = 5;
const MAX_BYTES = 1024 * 1024;
const MAX_KNOWN = 200;
/** How long a search for TypeScript is remembered. */
const FOUND_MS = 10_000;
const MAX_HEAP_MB = 2_048;
/** How often the memory of a server is summed up. */
const LOOK_MS = 1_000;

interface ServerProgram {
  /** Servers with the same key are one. */
  key: string;
  command: readonly string[];
  protocol: ServerProtocol;
}

interface RunningServer {
  /** How it is confined. */
  command: readonly string[];
  server: Promise<LanguageServer>;
  /** How many checks use it. */
  uses: number;
  /** Ends it when it was not used for long. */
  timer?: NodeJS.Timeout;
}

export interface DiagnosticDependencies extends DiagnosticOptions {
  /** If it confines nothing, no server is started: the programs are files of the workspace. */
  sandbox: Sandbox | undefined;
  files: Files;
}

/** Asks language servers for the errors of changed files. They are started when first needed, and run confined. */
export class Diagnostics {
  readonly #options: DiagnosticDependencies;
  readonly #workspace: string;
  readonly #running = new Map<string, RunningServer>();
  readonly #failures = new Map<string, number>();
  readonly #found = new BoundedMap<string, { at: number; program: Promise<ServerProgram | undefined> }>(MAX_KNOWN);
  /** By file: the errors that its last checked text had. */
  readonly #known = new BoundedMap<string, { digest: string; problems: FileProblem[] }>(MAX_KNOWN);
  #isClosed = false;

  constructor(options: DiagnosticDependencies) {
    const { sandbox: _sandbox, files, ...given } = options;
    checkKeys("`diagnostics` of openWorkspace", given, OPTION_KEYS);
    for (const [name, server] of Object.entries(given.servers ?? {})) {
      checkKeys(`The language server ${JSON.stringify(name)}`, server, SERVER_KEYS);
    }
    this.#options = options;
    this.#workspace = files.policy.workspace;
  }

  /** What is known in time. A file without a server, or whose server is not ready yet, is left out. Never rejects. */
  async check(changes: readonly ChangedFile[], signal: AbortSignal): Promise<CheckedFile[]> {
    const found: CheckedFile[] = [];
    const work = changes.slice(0, MAX_FILES).map(async (change) => {
      const checked = await this.#checkFile(change).catch(() => undefined);
      if (checked) found.push(checked);
    });
    await inTime(Promise.all(work), this.#options.waitMs ?? WAIT_MS, signal);
    return [...found].sort((one, other) => (one.file < other.file ? -1 : 1));
  }

  /** The ids of the running servers' processes. */
  async pids(): Promise<number[]> {
    const servers = await Promise.allSettled([...this.#running.values()].map(({ server }) => server));
    return servers.flatMap((each) => (each.status === "fulfilled" ? [each.value.pid] : []));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running.keys()].map((key) => this.#end(key)));
  }

  async #checkFile({ file, ...bytes }: ChangedFile): Promise<CheckedFile | undefined> {
    if (Math.max(bytes.after.length, bytes.before?.length ?? 0) > MAX_BYTES) return undefined;
    if (!isInside(file, this.#workspace)) return undefined;
    const program = await this.#programFor(file);
    if (!program || this.#isClosed || this.#options.sandbox?.engines.work === undefined) return undefined;
    const after = decodeText(bytes.after).text;
    const before = bytes.before && decodeText(bytes.before).text;
    const known = this.#known.get(file);
    const knows = before === undefined || known?.digest === digestOf(before);
    const [first, second] = await this.#use(program, (server) => server.check(file, knows ? [after] : [before, after]));
    const old = knows ? (before === undefined ? [] : (known?.problems ?? [])) : (first ?? []);
    const now = (knows ? first : second) ?? [];
    this.#remember(file, after, now);
    return { file, problems: markNew(old, now), before: old.length };
  }

  #remember(file: string, text: string, problems: FileProblem[]): void {
    this.#known.set(file, { digest: digestOf(text), problems });
  }

  #programFor(file: string): Promise<ServerProgram | undefined> | ServerProgram | undefined {
    const extension = extname(file).toLowerCase();
    for (const [name, { command, args = [], extensions }] of Object.entries(this.#options.servers ?? {})) {
      if (!extensions.some((each) => `.${each.replace(/^\./, "").toLowerCase()}` === extension)) continue;
      return { key: `custom:${name}`, command: [command, ...args], protocol: "lsp" };
    }
    return TYPESCRIPT.includes(extension) ? this.#findTypeScript(dirname(file)) : undefined;
  }

  #findTypeScript(folder: string): Promise<ServerProgram | undefined> {
    const now = performance.now();
    const known = this.#found.get(folder);
    if (known && now - known.at < FOUND_MS) return known.program;
    const program = this.#searchTypeScript(folder);
    this.#found.set(folder, { at: now, program });
    return program;
  }

  /** The nearest installation above the file, inside the workspace. */
  async #searchTypeScript(folder: string): Promise<ServerProgram | undefined> {
    const { files } = this.#options;
    const names = relative(this.#workspace, folder)
      .split(sep)
      .filter((name) => name !== "");
    for (let depth = names.length; depth >= 0; depth--) {
      const home = join(this.#workspace, ...names.slice(0, depth), "node_modules", "typescript");
      const version = await readVersion(files, join(home, "package.json"));
      if (version === undefined) continue;
      const isNative = Number(version.split(".")[0]) >= 7;
      const script = join(home, isNative ? "bin/tsc" : "lib/tsserver.js");
      const info = await files.info(script).catch(() => undefined);
      if (info?.type !== "file") return undefined;
      const command = isNative
        ? [process.execPath, info.real, "--lsp", "--stdio"]
        : [process.execPath, `--max-old-space-size=${MAX_HEAP_MB}`, info.real, "--disableAutomaticTypingAcquisition"];
      return { key: `typescript:${info.real}`, command, protocol: isNative ? "lsp" : "tsserver" };
    }
    return undefined;
  }

  /** Starts the server if it does not run. One that fails is forgotten, so the next use starts it again. */
  async #use<T>(program: ServerProgram, work: (server: LanguageServer) => Promise<T>): Promise<T> {
    const { key } = program;
    const launch = await this.#prepare(program);
    // It may have read what is denied or secret since.
    if (!isDeepStrictEqual(this.#running.get(key)?.command, launch.command)) void this.#end(key);
    if (this.#isClosed) throw notStarted();
    const { command } = launch;
    const running = this.#running.get(key) ?? { command, server: LanguageServer.start(launch), uses: 0 };
    clearTimeout(running.timer);
    running.uses++;
    this.#running.delete(key);
    this.#running.set(key, running);
    const [oldest] = this.#running.keys();
    if (this.#running.size > MAX_SERVERS && oldest !== undefined) void this.#end(oldest);
    try {
      return await work(await running.server);
    } catch (error) {
      const server = await running.server.catch(() => undefined);
      if (!server?.isRunning && this.#running.get(key) === running) {
        this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
        this.#running.delete(key);
      }
      throw error;
    } finally {
      running.uses--;
      if (running.uses === 0 && this.#running.get(key) === running) {
        running.timer = setTimeout(() => void this.#end(key), this.#options.idleMs ?? IDLE_MS).unref();
      }
    }
  }

  /** As the rules are now. */
  async #prepare({ key, command, protocol }: ServerProgram): Promise<ServerLaunch> {
    const { sandbox } = this.#options;
    if ((this.#failures.get(key) ?? 0) >= MAX_FAILURES || !sandbox) throw notStarted();
    const env = shellEnvironment({ host: process.env });
    const [file = "", ...args] = command;
    const path = file.includes("/") ? resolve(this.#workspace, expandHome(file)) : findProgram(file, env);
    if (path === undefined) throw toolError("path_not_found", `The program "${file}" was not found`);
    const cwd = this.#workspace;
    const confined = await sandbox.confineUnasked([path, ...args], { cwd });
    return {
      command: confined.command,
      cwd,
      env: { ...env, ...confined.env },
      limits: confined.limits && { ...confined.limits, pauseMs: LOOK_MS },
      finish: () => confined.finish(),
      protocol,
      workspace: cwd,
    };
  }

  async #end(key: string): Promise<void> {
    const running = this.#running.get(key);
    if (!running) return;
    clearTimeout(running.timer);
    this.#running.delete(key);
    const server = await running.server.catch(() => undefined);
    await server?.close();
  }
}

function notStarted(): Error {
  return toolError("unavailable", "The language server is not started");
}

async function readVersion(files: Files, path: string): Promise<string | undefined> {
  try {
    const { bytes } = await files.readWhole(path, { maxBytes: 1024 * 1024 });
    const { version }: { version?: unknown } = JSON.parse(bytes.toString());
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

/** An error is new if there are more with its code and message than before: lines move. */
function markNew(old: readonly FileProblem[], now: readonly FileProblem[]): CheckedFile["problems"] {
  const keyOf = ({ code, message }: FileProblem): string => `${code}\0${message}`;
  const counts = new Map<string, number>();
  for (const problem of old) counts.set(keyOf(problem), (counts.get(keyOf(problem)) ?? 0) + 1);
  const marked = now.map((problem) => {
    const left = counts.get(keyOf(problem)) ?? 0;
    counts.set(keyOf(problem), left - 1);
    return { ...problem, isNew: left <= 0 };
  });
  return marked.toSorted((one, other) => Number(other.isNew) - Number(one.isNew));
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

/** Resolves with the work, after the time, or when the call is aborted. */
function inTime(work: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    void work.then(end, end);
  });
}

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, extname, isAbsolute, join, resolve } from "node:path";
import { toolError } from "../../core/error.ts";
import { expandHome } from "../files/path-name.ts";
import { createFiles } from "../files/files.ts";
import { createPathPolicy, isInside, isSecretName } from "../files/path-policy.ts";
import { STATE_FILES, stateFolderOf, stateRootOf } from "../files/state-folder.ts";
import { findProgram } from "../shell/find-program.ts";
import { explainSpawnFailure } from "../shell/spawn-process.ts";
import { explainRefusal } from "./explain-refusal.ts";
import { programCaches, readableSystem, toolFolders, worktreeRepository } from "./profiles.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import type { SandboxProxy } from "./shared-network.ts";

/** What an MCP server or a hook may do beyond the default, as its entry in the configuration says. */
export interface ProgramAccess {
  /** `all`, `none`, or the only hosts that it may reach. Default: `all`. */
  network?: "all" | "none" | readonly string[];
  /** Further files and folders that it may read. Relative to the workspace; `~` is the home folder. */
  read?: readonly string[];
  /** Files and folders that it may write, in the same form. */
  write?: readonly string[];
  /** False: it runs unconfined. Default: true. */
  sandbox?: boolean;
}

export interface ProgramLaunch {
  /** In messages. */
  name: string;
  /** The name of its own folder. Programs with the same name share it. */
  folder: string;
  command: readonly string[];
  /** Absolute. */
  cwd: string;
  /** The complete environment. */
  env: Readonly<Record<string, string>>;
  /** The environment of which the program gets a part. */
  host: Readonly<Record<string, string | undefined>>;
  access: ProgramAccess;
}

/** A program that is ready to start. */
export interface PreparedProgram {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly isConfined: boolean;
  /** If the output shows that the sandbox refused something: what, and the line of configuration that allows it. */
  explain(output: string): string | undefined;
  /** For a program that ran to its end; see `ConfinedCommand`. */
  finish(): Promise<void>;
}

export interface ProgramSandboxOptions {
  /** Undefined: switched off by the user. */
  sandbox: Sandbox | undefined;
  /** A real path. */
  workspace: string;
  stateFolder: () => string;
  /** Private addresses that listed hosts may have, as in `network.exceptions`. */
  exceptions?: readonly string[];
  /** Default: the user's. */
  home?: string;
}

/** Confines programs that run beside the commands of models: MCP servers and hooks. */
export class ProgramSandbox {
  readonly #options: ProgramSandboxOptions;
  readonly #home: string;
  readonly #proxies = new Map<string, HostProxy>();
  #listener: ((notice: string) => void) | undefined;
  #hasNoticed = false;

  constructor(options: ProgramSandboxOptions) {
    this.#options = options;
    this.#home = options.home ?? homedir();
  }

  /** The listener learns once that programs start unconfined because this machine cannot confine them. */
  onNotice(listener: (notice: string) => void): void {
    this.#listener = listener;
  }

  /** Throws if it cannot be started as its entry demands. */
  async prepare(launch: ProgramLaunch): Promise<PreparedProgram> {
    const { sandbox } = this.#options;
    const { access, name } = launch;
    if (access.sandbox === false) return unconfined(launch);
    const isLimited = access.network !== undefined && access.network !== "all";
    if (!sandbox || sandbox.engines.work === undefined) {
      const why = sandbox ? reasonOf(sandbox) : "the sandbox is switched off";
      if (isLimited) throw cannotLimit(name, why);
      if (sandbox) this.#notice(`MCP servers and hooks start unconfined, with all rights of your user: ${why}.`);
      return unconfined(launch);
    }
    return this.#confine(launch, sandbox);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#proxies.values(), (proxy) => proxy.close()));
    this.#proxies.clear();
  }

  async #confine(launch: ProgramLaunch, sandbox: Sandbox): Promise<PreparedProgram> {
    const { access, cwd, name } = launch;
    const { workspace } = this.#options;
    const program = findExecutable(launch);
    const read = [workspace, ...worktreeRepository(workspace), ...this.#namedByCommand(launch, program)];
    read.push(...(access.read ?? []).flatMap((path) => this.#realPath(path, name)));
    const write = (access.write ?? []).map((path) => this.#writablePath(path, name));
    const own = this.#ownFolder(launch.folder);
    const temporary = join(own, "tmp");
    mkdirSync(temporary, { recursive: true, mode: 0o700 });
    const hosts = typeof access.network === "object" ? access.network : undefined;
    if (hosts && sandbox.engines.work !== "namespaces") {
      throw cannotLimit(name, "limiting it to hosts needs a network namespace, which this machine does not allow");
    }
    const proxy = hosts && (await this.#proxyTo(name, hosts));
    const confined = await sandbox.confineProgram([program, ...launch.command.slice(1)], {
      cwd,
      terminal: false,
      read,
      write,
      ownFolders: [own, ...programCaches(this.#home, program)],
      temporary,
      network: proxy ? "hosts" : access.network === "none" ? "none" : "open",
      proxy,
    });
    const ownTemporary = confined.env["TMPDIR"] ?? temporary;
    const writable = [...write, own, ownTemporary, "/dev", ...programCaches(this.#home, "")];
    const system = (): string[] => readableSystem({ home: this.#home, path: process.env["PATH"] ?? "" });
    return {
      command: confined.command,
      env: { ...launch.env, ...confined.env, HAFT_OWN_FOLDER: own },
      isConfined: true,
      explain: (output) =>
        explainRefusal(output, {
          access,
          program,
          command: launch.command,
          workspace,
          home: this.#home,
          readable: [...system(), ...read, ...writable],
          writable,
          refusedHosts: proxy?.refused ?? [],
          given: launch.env,
          host: launch.host,
        }),
      finish: async () => void (await confined.finish()),
    };
  }

  #notice(text: string): void {
    if (this.#hasNoticed) return;
    this.#hasNoticed = true;
    this.#listener?.(text);
  }

  /** One folder for each program, below the state folder of the workspace. */
  #ownFolder(name: string): string {
    const readable = name.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, 40);
    const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
    const folder = join(this.#options.stateFolder(), STATE_FILES.programs, `${readable}-${hash}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return realpathSync(folder);
  }

  /**
   * The program runs its own code, so it may read it: the installation of the program, and the files that its command
   * line names, with the package that a file belongs to. Folders and secrets are not opened because they are named.
   */
  #namedByCommand({ command, cwd }: ProgramLaunch, program: string): string[] {
    const home = this.#home;
    const programs = [...new Set([program, realpathSync(program)])];
    const found = programs
      .flatMap((path) => [path, ...toolFolders({ home, path: dirname(path) })])
      .flatMap(realIfExists);
    if (cwd !== home && !isInside(home, cwd)) found.push(...realIfExists(cwd));
    // A text for a shell names files too.
    for (const word of command.flatMap((each) => [each, ...each.split(/[\s;&|()<>"']+/)])) {
      const text = word.replace(/^\$\{?HOME\}?(?=\/)/, home);
      if (!/^[~./]/.test(text) || text.includes("\0")) continue;
      const [file] = realIfExists(resolve(cwd, expandHome(text)));
      if (file === undefined || !isFile(file) || isSecretName(file) || this.#isOwnState(file)) continue;
      found.push(...codeOf(file, home));
    }
    return found;
  }

  #realPath(text: string, name: string): string[] {
    const path = resolve(this.#options.workspace, expandHome(text));
    const [real] = realIfExists(path);
    if (this.#isOwnState(real ?? path)) throw ownState(name, text);
    return real === undefined ? [] : [real];
  }

  /** A missing folder is created: a rule of the kernel needs something to apply to. */
  #writablePath(text: string, name: string): string {
    const [existing] = this.#realPath(text, name);
    if (existing !== undefined) return existing;
    const path = resolve(this.#options.workspace, expandHome(text));
    if (extname(path) !== "") {
      throw toolError("path_not_found", `${name} was not started: ${text}, which it may write, does not exist.`, {
        next: "Create the file, or name its folder.",
      });
    }
    mkdirSync(path, { recursive: true });
    return realpathSync(path);
  }

  #isOwnState(path: string): boolean {
    const own = [stateRootOf(), this.#options.stateFolder(), join(this.#home, ".config", "haft")];
    return own.some((folder) => isInside(path, realIfExists(folder)[0] ?? folder));
  }

  async #proxyTo(name: string, hosts: readonly string[]): Promise<HostProxy> {
    const key = JSON.stringify([name, hosts]);
    const known = this.#proxies.get(key);
    if (known) return known;
    const proxy = await openHostProxy(hosts, this.#options.exceptions ?? []);
    this.#proxies.set(key, proxy);
    return proxy;
  }
}

interface HostProxy extends SandboxProxy {
  /** Hosts that were refused. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

const MAX_REFUSED = 20;

/** Loaded with the first program that is limited to hosts. */
async function openHostProxy(hosts: readonly string[], exceptions: readonly string[]): Promise<HostProxy> {
  const [{ startForwardProxy }, { createOpenSocket }] = await Promise.all([
    import("../net/forward-proxy.ts"),
    import("../net/connections.ts"),
  ]);
  const refused: string[] = [];
  const proxy = await startForwardProxy({
    openSocket: createOpenSocket({ hosts, exceptions }),
    listens: false,
    onRefused(address) {
      const host = address.replace(/^\w+:\/\//, "").replace(/:\d+$/, "");
      if (refused.length < MAX_REFUSED && !refused.includes(host)) refused.push(host);
    },
  });
  return { hosts, refused, accept: (socket) => proxy.accept(socket), close: () => proxy.close() };
}

const shared = new Map<string, { programs: ProgramSandbox; sandbox: Sandbox }>();

/** For programs that are started without a workspace of their own. One for each folder and process. */
export function programSandboxOf(folder: string): ProgramSandbox {
  const known = shared.get(folder);
  if (known) return known.programs;
  const policy = createPathPolicy({ workspace: folder, privatePaths: [stateRootOf()] });
  const sandbox = openSandbox({ files: createFiles(policy) });
  const { workspace } = policy;
  const programs = new ProgramSandbox({ sandbox, workspace, stateFolder: () => stateFolderOf(workspace) });
  if (shared.size === 0) process.once("exit", () => shared.forEach((each) => each.sandbox.close()));
  shared.set(folder, { programs, sandbox });
  return programs;
}

/** Starts programs unconfined, but none that must be limited. */
export function withoutSandbox(workspace: string): ProgramSandbox {
  return new ProgramSandbox({ sandbox: undefined, workspace, stateFolder: () => stateFolderOf(workspace) });
}

function unconfined({ command, env }: ProgramLaunch): PreparedProgram {
  return { command, env, isConfined: false, explain: () => undefined, finish: async () => undefined };
}

function findExecutable({ command: [file = ""], cwd, env }: ProgramLaunch): string {
  const found = file.includes("/") ? resolve(cwd, file) : findProgram(file, env);
  if (found !== undefined && existsSync(found)) return found;
  throw explainSpawnFailure(Object.assign(new Error(`${file} was not found`), { code: "ENOENT" }), { file, cwd });
}

const PACKAGE_FILES = ["package.json", "pyproject.toml", "setup.py", "pyvenv.cfg", "go.mod", "Cargo.toml"];

/**
 * A file, the folder of the package that it belongs to, and the installed packages that it can import. Never the home
 * folder or one that contains it.
 */
function codeOf(file: string, home: string): string[] {
  const found = [file];
  let hasPackage = false;
  for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder)) {
    if (basename(folder) === "node_modules") found.push(folder);
    else found.push(...realIfExists(join(folder, "node_modules")));
    if (hasPackage || isInside(home, folder)) continue;
    hasPackage = PACKAGE_FILES.some((name) => existsSync(join(folder, name)));
    if (hasPackage) found.push(folder);
  }
  return found;
}

function realIfExists(path: string): string[] {
  try {
    return isAbsolute(path) ? [realpathSync(path)] : [];
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function reasonOf({ tests }: Sandbox): string {
  return tests.find(({ problem }) => problem !== undefined)?.problem ?? "this machine has no sandbox";
}

function cannotLimit(name: string, why: string): Error {
  return toolError("denied", `${name} was not started: its network cannot be limited (${why}).`, {
    next: 'To start it with every host, set "network": "all" in its entry.',
  });
}

function ownState(name: string, path: string): Error {
  return toolError("path_denied", `${name} was not started: ${path} belongs to Haft itself and is never opened.`, {
    next: "Remove it from the entry.",
  });
}

import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { toolError } from "../../core/error.ts";
import { type LocalizedText, localizedText } from "../../core/localized-text.ts";
import type { Files } from "../files/files.ts";
import { isInside, isSecretName, type PathPolicy } from "../files/path-policy.ts";
import { outputFolder } from "../shell/output-folder.ts";
import { type Bind, buildTable, type NamespaceRules, outputRule, type TableRules } from "./build-table.ts";
import { bubblewrapCommand, type EngineName, seatbeltCommand, type TableFolder } from "./engines.ts";
import { ExecutedFiles } from "./executed-files.ts";
import { Guard, type GuardReport, guardedInRepositories } from "./guard.ts";
import type { ClosedPaths } from "./landlock.ts";
import {
  type ConfinementProfile,
  packageCaches,
  pathRules,
  readableSystem,
  systemSecrets,
  worktreeRepository,
} from "./profiles.ts";
import { type Engine, type FoundEngines, machineEngines, tableFolderPath, usableFolder } from "./self-test.ts";
import { SharedNetwork, type SandboxProxy } from "./shared-network.ts";
import { MAX_VIEW_FILE_BYTES, mountsInside, type ViewEffects, ViewFolder } from "./view.ts";
import { WorkspaceScan } from "./workspace-scan.ts";

export type { ConfinementProfile } from "./profiles.ts";
export type { EngineName } from "./engines.ts";
export type { GuardReport } from "./guard.ts";

/**
 * `none`: no connection to this machine or others. `loopback`: `none`, and a loopback of its own. `hosts`: the allowed
 * hosts, through a proxy that checks them. `open`: everything.
 */
export type ConfinedNetwork = "none" | "loopback" | "hosts" | "open";

export interface ConfineOptions {
  /** A real path. */
  cwd: string;
  /** Whether it runs on a pseudo-terminal. */
  terminal: boolean;
  /** The paths of this call. Default: the whole workspace. */
  allowedPaths?: readonly string[];
  /** Default: `none`. */
  network?: ConfinedNetwork;
  /** Further real paths that it may write. */
  writable?: readonly string[];
}

/** What a program other than a command of `exec` may do, such as an MCP server or a hook. */
export interface ProgramRules extends Pick<ConfineOptions, "cwd" | "terminal" | "network"> {
  /** Real paths that it may read, besides the system and installed tools. Secrets in them stay closed, except named ones. */
  read: readonly string[];
  /** Real paths that it may write. Secrets in them stay closed, except named ones. */
  write: readonly string[];
  /** Real paths of folders that it may write and that hold no secrets, such as its own and caches. */
  ownFolders?: readonly string[];
  /** Its own folder for temporary files. Default: the one that commands share. */
  temporary?: string;
  /** Whether it is killed when this process ends, also by SIGKILL. Linux only. */
  endsWithParent?: boolean;
  /** For the network `hosts`: who serves its connections. The same object for the same hosts. */
  proxy?: SandboxProxy;
}

export interface ConfinedCommand {
  /** The command line that runs the command confined. */
  readonly command: readonly string[];
  /** Variables that it needs in addition. */
  readonly env: Readonly<Record<string, string>>;
  /** After the command and everything it started has ended: restores guarded files that changed, and reports them. */
  finish(): Promise<GuardReport>;
}

/** A run in a copy of everything that a command in `work` may write, without network. */
export interface CommandView extends Pick<ConfinedCommand, "command" | "env"> {
  /** Whether it fills the disk. Kill it then. */
  readonly isTooLarge: boolean;
  /** After the command and everything it started has ended. Throws `UnrecordableEffect`. */
  collect(): ViewEffects;
  /** Removes the copy. */
  close(): Promise<void>;
}

/** Confines commands with the means of the operating system. */
export interface Sandbox {
  /** The engine of each profile that passed its self-test. Undefined: commands cannot run in this profile. */
  readonly engines: { readonly look?: EngineName; readonly work?: EngineName };
  /** How the engines were chosen. */
  readonly tests: FoundEngines["tests"];
  /** Why there is no engine, or what is weaker. One sentence for people. */
  readonly notice: string;
  /** Whether commands in `work` run without approval. Set by the owner. */
  readonly autoAllow: boolean;
  /** One line for approvals. */
  describe(profile: ConfinementProfile): LocalizedText;
  /** Throws if the profile has no engine. Call it for each command: it closes secrets that are new. */
  confine(profile: ConfinementProfile, command: readonly string[], options: ConfineOptions): Promise<ConfinedCommand>;
  /** Shows what a command would do in `work`. `why` says why that cannot be shown, as "this machine has no overlays". */
  openView(command: readonly string[], options: ConfineOptions): Promise<CommandView | { why: string }>;
  /** The folder that commands in `work` are shown as /tmp. */
  readonly temporaryFolder: string;
  /** The same for a program with rules of its own. It runs in the engine of `work`. */
  confineProgram(command: readonly string[], rules: ProgramRules): Promise<ConfinedCommand>;
  /** Removes the scratch folder. */
  close(): void;
}

export interface SandboxOptions {
  files: Pick<Files, "policy" | "narrow">;
  /** Commands that stay in the sandbox run without approval. */
  autoAllow?: boolean;
  /** Max memory of each process. Default: 4 GiB. */
  memoryBytes?: number;
  /** Max processes of a command; not for root, and only with namespaces. Default: 512. */
  processes?: number;
  /** The hosts that commands may reach. If omitted, or without namespaces, there is no network. */
  proxy?: SandboxProxy;
  /**
   * How many milliseconds a command that needs approval may run before it, in a copy of the workspace, to show its
   * effects. 0: never. Default: 10,000.
   */
  previewMs?: number;
  /** Private addresses that the hosts of MCP servers and hooks may have. */
  networkExceptions?: readonly string[];
  /** Default: those of this machine, tried at the first use. */
  engines?: () => FoundEngines;
  /** Default: the user's. */
  home?: string;
}

const DEFAULT_MEMORY = 4 * 1024 * 1024 * 1024;
const DEFAULT_PROCESSES = 512;
const TEMPORARY = "/tmp";

export function openSandbox(options: SandboxOptions): Sandbox {
  return new WorkspaceSandbox(options);
}

/** Everything that decides what a program may do, before it is translated for an engine. */
interface Plan {
  read: readonly string[];
  write: readonly string[];
  closed: ClosedPaths;
  /** Closed paths inside writable ones. */
  hidden: readonly string[];
  /** Paths inside writable ones that are only read. */
  readOnly: readonly string[];
  metadata: boolean;
  network: ConfinedNetwork;
  cwd: string;
  terminal: boolean;
  temporary?: string;
  endsWithParent?: boolean;
  proxy?: SandboxProxy;
  /** Everything that it may write is an overlay of this view. */
  view?: ViewFolder;
}

/** What the table of a program is made from. */
interface TableInput {
  plan: Plan;
  temporary?: string;
  closed: ClosedPaths;
  namespaces?: NamespaceRules;
}

class WorkspaceSandbox implements Sandbox {
  readonly autoAllow: boolean;
  readonly #options: SandboxOptions;
  readonly #home: string;
  readonly #scan: WorkspaceScan;
  /** Of named folders outside the workspace, by path. */
  readonly #scans = new Map<string, WorkspaceScan>();
  readonly #tablePaths = new Map<string, { path: string; times: string }>();
  readonly #networks = new Map<SandboxProxy, SharedNetwork>();
  #found: FoundEngines | undefined;
  #tables: TableFolder | undefined;
  #scratch: string | undefined;
  #system: readonly string[] | undefined;
  #systemSecrets: readonly string[] | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.autoAllow = options.autoAllow ?? false;
    this.#home = options.home ?? homedir();
    this.#scan = new WorkspaceScan(options.files.policy);
  }

  get engines(): Sandbox["engines"] {
    const { look, work } = this.#engines();
    return { look: look?.name, work: work?.name };
  }

  get tests(): FoundEngines["tests"] {
    return this.#engines().tests;
  }

  get notice(): string {
    const { look, work, tests } = this.#engines();
    if (!look || !work) {
      const reason = tests.find(({ problem }) => problem !== undefined)?.problem ?? "no engine is available";
      return `This machine cannot confine commands: ${reason}. Every command needs approval.`;
    }
    const limits = `Commands are confined by ${look.name === "perl" ? "Landlock (set up by perl)" : "Landlock"}: those that run without approval can write nothing, read no secrets and open no connection.`;
    if (hasMounts(work)) return limits;
    return `${limits} A command that you allow can change every file of the workspace, and modes and times of your other files; changes to hooks and settings are undone and reported.`;
  }

  describe(profile: ConfinementProfile): LocalizedText {
    const engine = this.engines[profile];
    if (engine === undefined) return localizedText("preview.unconfined");
    if (profile === "look") return localizedText("preview.look");
    const hosts = this.#reachesHosts() ? this.#options.proxy?.hosts.join(", ") : undefined;
    return hosts === undefined ? localizedText("preview.confined") : localizedText("preview.confinedHosts", { hosts });
  }

  async confine(
    profile: ConfinementProfile,
    command: readonly string[],
    options: ConfineOptions,
  ): Promise<ConfinedCommand> {
    const engine = this.#engineOf(profile);
    const { policy } = this.#options.files.narrow(options.allowedPaths);
    if (profile === "work") {
      this.#scan.refresh();
      return this.#start(engine, command, this.#workPlan(policy, options));
    }
    const { cwd, terminal } = options;
    const read = this.#readable(policy);
    const closed = this.#closedFor(roots(policy));
    const rules = { write: [], hidden: [], readOnly: [], metadata: false, network: "none" } as const;
    return this.#start(engine, command, { ...rules, cwd, terminal, read, closed });
  }

  async openView(command: readonly string[], options: ConfineOptions): Promise<CommandView | { why: string }> {
    const engine = this.#engines().work;
    if (engine?.name !== "namespaces") return { why: "this machine has no overlays" };
    const { policy } = this.#options.files.narrow(options.allowedPaths);
    const folders = roots(policy, "writable");
    if (folders.some((folder) => mountsInside(folder).length > 0)) return { why: "the workspace contains mounts" };
    this.#scan.refresh();
    const view = new ViewFolder(join(this.#tableFolder().path, "views"));
    try {
      for (const folder of folders) view.add(folder, "workspace");
      for (const folder of packageCaches(this.#home)) view.add(folder, "cache");
      view.add(this.#scratchFolder(), "temporary");
      const plan = this.#workPlan(policy, { ...options, network: "none", writable: [] });
      const { command: launch, env } = await this.#start(engine, command, { ...plan, view });
      return {
        command: launch,
        env,
        get isTooLarge() {
          return view.isTooLarge;
        },
        collect: () => view.collect(engine, { scan: this.#scan, policy }),
        close: () => view.remove(),
      };
    } catch (error) {
      await view.remove();
      throw error;
    }
  }

  get temporaryFolder(): string {
    return this.#scratchFolder();
  }

  #workPlan(policy: PathPolicy, options: ConfineOptions): Plan {
    const { cwd, terminal, network = this.#reachesHosts() ? "hosts" : "none", writable = [] } = options;
    const write = [...roots(policy, "writable"), ...packageCaches(this.#home), ...writable];
    const hidden = [...this.#hiddenInWork()].filter((path) => write.some((root) => isInside(path, root)));
    const closed = this.#closed(hidden);
    const readOnly = readOnlyInside(write, policy);
    return { cwd, terminal, read: this.#readable(policy), write, closed, hidden, readOnly, metadata: true, network };
  }

  #readable(policy: PathPolicy): string[] {
    return [...this.#readableSystem(), ...roots(policy), ...worktreeRepository(policy.workspace)];
  }

  async confineProgram(command: readonly string[], rules: ProgramRules): Promise<ConfinedCommand> {
    const engine = this.#engineOf("work");
    const { network = "none", ownFolders = [], cwd, terminal, temporary, endsWithParent, proxy } = rules;
    const named = [...rules.read, ...rules.write];
    const closed = this.#closedFor(named);
    const hidden = [...closed.paths].filter((path) => rules.write.some((root) => isInside(path, root)));
    const read = [...this.#readableSystem(), ...rules.read];
    const write = [...rules.write, ...ownFolders];
    const where = { cwd, terminal, temporary, endsWithParent };
    const readOnly = readOnlyInside(rules.write, this.#options.files.policy);
    const plan = { read, write, closed, hidden, readOnly, metadata: true, network, proxy, ...where };
    return this.#start(engine, command, plan);
  }

  close(): void {
    for (const network of this.#networks.values()) network.close();
    this.#networks.clear();
    if (this.#scratch !== undefined) rmSync(this.#scratch, { recursive: true, force: true });
    this.#scratch = undefined;
  }

  #engines(): FoundEngines {
    this.#found ??= this.#options.engines?.() ?? machineEngines();
    return this.#found;
  }

  #engineOf(profile: ConfinementProfile): Engine {
    const engine = this.#engines()[profile];
    if (engine) return engine;
    throw toolError("failed", `The command was not started: it cannot be confined. ${this.notice}`, {
      next: "Ask the user how to continue.",
    });
  }

  #reachesHosts(proxy: SandboxProxy | undefined = this.#options.proxy): boolean {
    return proxy !== undefined && this.#engines().work?.name === "namespaces";
  }

  /** Undefined if this machine cannot limit a program to hosts. */
  #networkOf(plan: Plan, engine: Engine): SharedNetwork | undefined {
    const { network, proxy = this.#options.proxy } = plan;
    if (network !== "hosts" || proxy === undefined || !this.#reachesHosts(proxy)) return undefined;
    const shared = this.#networks.get(proxy) ?? new SharedNetwork(engine, { tables: this.#tableFolder(), proxy });
    this.#networks.set(proxy, shared);
    return shared;
  }

  #tableFolder(): TableFolder {
    this.#tables ??= usableFolder(tableFolderPath());
    return this.#tables;
  }

  #readableSystem(): readonly string[] {
    this.#system ??= readableSystem({ home: this.#home, path: process.env["PATH"] ?? "" });
    return this.#system;
  }

  #closed(secrets: Iterable<string>): ClosedPaths {
    this.#systemSecrets ??= process.geteuid?.() === 0 ? systemSecrets() : [];
    const { privatePaths } = this.#options.files.policy;
    return {
      paths: new Set([...secrets, ...this.#systemSecrets, ...privatePaths.filter(exists)]),
      inodes: this.#scan.inodes,
    };
  }

  /** The secrets of the workspace and of named folders. A secret that is named itself is open, except the own state. */
  #closedFor(named: readonly string[]): ClosedPaths {
    const { policy } = this.#options.files;
    this.#scan.refresh();
    const secrets = new Set(this.#scan.secrets);
    const inodes = new Set(this.#scan.inodes);
    const known = [policy.workspace, ...this.#readableSystem()];
    for (const root of named) {
      const isInstalled = root.includes("/node_modules") || known.some((path) => isInside(root, path));
      if (isInstalled || !isFolder(root) || isSecretName(root)) continue;
      const scan = this.#scans.get(root) ?? new WorkspaceScan(policy, root);
      this.#scans.set(root, scan);
      scan.refresh();
      for (const path of scan.secrets) secrets.add(path);
      for (const inode of scan.inodes) inodes.add(inode);
    }
    for (const path of secrets) if (named.some((root) => isInside(root, path))) secrets.delete(path);
    return { paths: this.#closed(secrets).paths, inodes };
  }

  /** Commands under an approval may read the project's own secrets, such as `.env`, because its tests need them. */
  #hiddenInWork(): Iterable<string> {
    const { policy } = this.#options.files;
    const isHomeInside = isInside(this.#home, policy.workspace);
    return this.autoAllow || isHomeInside ? this.#scan.secrets : policy.privatePaths.filter(exists);
  }

  async #start(engine: Engine, command: readonly string[], plan: Plan): Promise<ConfinedCommand> {
    const [program = ""] = command;
    if (!isAbsolute(program)) throw new Error(`The program to confine needs an absolute path: ${program}`);
    const writes = plan.write.length > 0;
    const guarded = writes ? this.#guarded(plan) : [];
    const scanned = [this.#scan, ...this.#scans.values()].flatMap(({ repositories: found }) => found);
    const repositories = writes ? scanned.filter((path) => isWritable(path, plan)) : [];
    const mounts = hasMounts(engine);
    const scratch = writes ? (plan.temporary ?? this.#scratchFolder()) : undefined;
    // The rule that makes /tmp writable would open secrets that a program must not read below it.
    const isBelow = [...plan.read, ...plan.write, ...command].some((path) => isInside(path, TEMPORARY));
    const coversTemporary = mounts && scratch !== undefined && !(plan.temporary !== undefined && isBelow);
    const temporary = coversTemporary ? TEMPORARY : scratch;
    const hiddenFiles = mounts ? plan.hidden.filter((path) => !isFolder(path)) : [];
    const hiddenFolders = mounts ? plan.hidden.filter(isFolder) : [];
    // With mounts nothing needs to be split: what is hidden inside writable folders is covered.
    const closed = mounts ? { ...plan.closed, paths: without(plan.closed.paths, plan.hidden) } : plan.closed;
    const shared = this.#networkOf(plan, engine);
    const joinedNetwork = await shared?.open();
    const ownNetwork = mounts && plan.metadata && plan.network !== "open";
    checkNetwork(plan.network, { ownNetwork, isShared: shared !== undefined });
    const mounted = {
      pinned: repositories,
      readOnly: [...guarded, ...plan.readOnly],
      hiddenFiles,
      hiddenFolders,
      ownNetwork,
    };
    const namespaces: NamespaceRules | undefined =
      engine.name === "namespaces"
        ? {
            ...mounted,
            overlays: plan.view?.overlays,
            writable: outermost(plan.write),
            joinedNetwork,
            binds: coversTemporary ? this.#temporaryBinds(plan, scratch) : [],
            processes: this.#options.processes ?? DEFAULT_PROCESSES,
          }
        : undefined;
    const launch = this.#launch(engine, { plan, temporary, closed, namespaces, mounted });
    const keepIn = (): string => join(this.#tableFolder().path, "replaced");
    const mayWrite = (path: string): boolean => isWritable(path, plan);
    const guard =
      writes && !plan.view
        ? new Guard({ scan: this.#scan, guarded, repositories, isProtected: mounts, mayWrite, keepIn })
        : undefined;
    const executed = guard && new ExecutedFiles(this.#scan.root);
    const env: Record<string, string> = temporary === undefined ? { GIT_OPTIONAL_LOCKS: "0" } : { TMPDIR: temporary };
    Object.assign(env, shared?.env);
    return {
      command: [...launch, ...command],
      env,
      finish: async () => ({ ...(guard?.finish() ?? { restored: [], removed: [] }), executed: executed?.changes() }),
    };
  }

  #guarded(plan: Plan): string[] {
    const all = [this.#scan, ...this.#scans.values()].flatMap(({ guarded, repositories }) => [
      ...guarded,
      ...guardedInRepositories(repositories),
    ]);
    return all.filter((path) => isWritable(path, plan) && !plan.hidden.some((hidden) => isInside(path, hidden)));
  }

  /** The beginning of the command line. */
  #launch(
    engine: Engine,
    rest: TableInput & { mounted: Omit<NamespaceRules, "binds" | "processes" | "writable"> },
  ): string[] {
    const { plan, mounted, closed, temporary } = rest;
    if (engine.name === "seatbelt") {
      const { read, network } = plan;
      const write = temporary === undefined ? plan.write : [...plan.write, temporary];
      const [denied, { readOnly }] = [[...closed.paths], mounted];
      return seatbeltCommand({ read, write, closed: denied, readOnly, network: network === "open" });
    }
    const table = this.#tableFor(engine, rest);
    if (engine.bubblewrap === undefined) return [...engine.runner, table];
    const { read, write, terminal, cwd } = plan;
    const [launcher = ""] = engine.runner;
    return bubblewrapCommand({ ...mounted, program: engine.bubblewrap, read, write, terminal, cwd, table, launcher });
  }

  /** A table is used again while nothing that it depends on has changed. */
  #tableFor(engine: Engine, rest: TableInput): string {
    const { plan, closed, namespaces } = rest;
    const { read, write, metadata, network, endsWithParent } = plan;
    const readOnly = hasMounts(engine) ? [] : plan.readOnly;
    const temporary = rest.temporary === undefined ? [] : [rest.temporary, "/dev/shm"];
    const limits = [metadata, network, endsWithParent, namespaces];
    const key = JSON.stringify([engine.name, read, write, temporary, readOnly, [...closed.paths], limits]);
    const known = this.#tablePaths.get(key);
    if (known && known.times === timesOf(known.times) && exists(known.path)) return known.path;
    const output = outputFolder();
    const { rules: paths, splitFolders } = pathRules({ read, write, temporary, closed, readOnly });
    const rules: TableRules = {
      paths: output === undefined ? paths : [...paths, outputRule(output)],
      metadata,
      // bubblewrap has already given it a network of its own.
      network: network === "open" || engine.name === "bubblewrap" ? "open" : "none",
      memoryBytes: this.#options.memoryBytes ?? DEFAULT_MEMORY,
      fileBytes: plan.view && MAX_VIEW_FILE_BYTES,
      endsWithParent,
      namespaces,
    };
    const supervise = engine.name !== "perl" && engine.name !== "bubblewrap";
    const path = this.#tableFolder().write(buildTable(engine.machine, rules, undefined, { supervise }));
    if (this.#tablePaths.size >= MAX_TABLES) this.#tablePaths.clear();
    this.#tablePaths.set(key, { path, times: timesOf(JSON.stringify(splitFolders.map((folder) => [folder, 0]))) });
    return path;
  }

  /** Where a command may write what nobody keeps. One folder for all commands, so they can continue each other's work. */
  #scratchFolder(): string {
    this.#scratch ??= realpathSync(mkdtempSync(join(tmpdir(), "haft-scratch-")));
    mkdirSync(this.#scratch, { recursive: true });
    return this.#scratch;
  }

  /**
   * Shows the scratch folder as /tmp. What the command may use below the real /tmp is shown in it at the same place,
   * read-only if needed: the rule that makes /tmp writable covers everything below it.
   */
  #temporaryBinds(plan: Plan, scratch: string | undefined): Bind[] {
    if (scratch === undefined) return [];
    const needed = [...new Set([...plan.read, ...plan.write, outputFolder() ?? TEMPORARY])]
      .filter((path) => isInside(path, TEMPORARY) && path !== TEMPORARY && exists(path))
      .sort();
    for (const path of needed) createPlace(join(scratch, path.slice(TEMPORARY.length)), isFolder(path));
    const binds = needed.map((path) => ({
      from: path,
      to: join(scratch, path.slice(TEMPORARY.length)),
      isReadOnly: !isWritable(path, plan),
    }));
    return [...binds, { from: scratch, to: TEMPORARY, isReadOnly: false }];
  }
}

const MAX_TABLES = 100;

/** The change times of folders, as text. Takes its own result, so both can be compared. */
function timesOf(times: string): string {
  const folders = JSON.parse(times) as [string, number][];
  return JSON.stringify(
    folders.map(([folder]) => [folder, lstatSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0]),
  );
}

function hasMounts(engine: Engine): boolean {
  return engine.name === "namespaces" || engine.name === "bubblewrap";
}

/** What every layer of the policy allows. If that is the whole system, it is the workspace. */
function roots({ layers, workspace }: PathPolicy, kind: "readable" | "writable" = "readable"): string[] {
  const admitting = layers.map((layer) =>
    layer.filter(({ writable }) => kind === "readable" || writable).map(({ path }) => path),
  );
  const admitted = admitting
    .flat()
    .filter((path) => admitting.every((layer) => layer.some((root) => isInside(path, root))));
  const readOnly = layers.flat().filter(({ writable }) => !writable);
  const kept = kind === "readable" ? admitted : admitted.filter((path) => !readOnly.some((root) => root.path === path));
  return [...new Set(kept.map((path) => (path === "/" ? workspace : path)))];
}

/** Existing read-only roots below one of these paths. */
function readOnlyInside(write: readonly string[], { layers }: PathPolicy): string[] {
  const found = layers.flat().filter(({ path, writable }) => !writable && write.some((root) => isInside(path, root)));
  return [...new Set(found.map(({ path }) => path))].filter(exists);
}

function checkNetwork(
  network: ConfinedNetwork,
  { ownNetwork, isShared }: { ownNetwork: boolean; isShared: boolean },
): void {
  if ((network === "hosts" && !isShared) || (network === "loopback" && !ownNetwork)) {
    throw toolError("failed", "The command was not started: this machine cannot limit its network.", {
      next: "Run it without network, or ask a person to allow all of it.",
    });
  }
}

function isWritable(path: string, { write }: Pick<Plan, "write">): boolean {
  return write.some((root) => isInside(path, root));
}

/** Existing paths, without those inside another one. */
function outermost(paths: readonly string[]): string[] {
  const existing = [...new Set(paths)].filter(exists);
  return existing.filter((path) => !existing.some((other) => other !== path && isInside(path, other)));
}

function without(paths: ReadonlySet<string>, removed: readonly string[]): Set<string> {
  return new Set([...paths].filter((path) => !removed.includes(path)));
}

function createPlace(path: string, folder: boolean): void {
  mkdirSync(folder ? path : dirname(path), { recursive: true });
  if (!folder && !exists(path)) writeFileSync(path, "");
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

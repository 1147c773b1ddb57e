import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { toolError } from "../../core/error.ts";
import { type LocalizedText, localizedText } from "../../core/localized-text.ts";
import type { Files } from "../files/files.ts";
import { deniedOutside, isDeniedByOwner, isInside, isSecretName, type PathPolicy } from "../files/path-policy.ts";
import { outputFolder } from "../shell/output-folder.ts";
import { machineTasks, type TreeLimits } from "../shell/process-tree.ts";
import {
  type Bind,
  buildTable,
  type CoveredFolder,
  type NamespaceRules,
  outputRule,
  outsideRule,
  type TableRules,
} from "./build-table.ts";
import { findDeniedFiles } from "./denied-programs.ts";
import { bubblewrapCommand, type EngineName, seatbeltCommand, type TableFolder } from "./engines.ts";
import { ExecutedFiles } from "./executed-files.ts";
import { Guard, type GuardReport, guardedInRepositories } from "./guard.ts";
import type { ClosedPaths } from "./landlock.ts";
import {
  type ConfinementProfile,
  exists,
  isFolder,
  isWithin,
  outermost,
  packageCaches,
  pathRules,
  readableSystem,
  readOnlyInside,
  roots,
  systemSecrets,
  worktreeRepository,
} from "./profiles.ts";
import { type Engine, type FoundEngines, machineEngines, tableFolderPath, usableFolder } from "./self-test.ts";
import { coveredHome } from "./outside.ts";
import type { RefusalReport, RefusalReporting } from "./refusals.ts";
import { SharedNetwork, type SandboxProxy } from "./shared-network.ts";
import {
  type HiddenUse,
  MAX_VIEW_FILE_BYTES,
  mountsInside,
  removeAbandonedViews,
  type ViewEffects,
  ViewFolder,
} from "./view.ts";
import { WorkspaceScan } from "./workspace-scan.ts";

export type { ConfinementProfile } from "./profiles.ts";
export type { EngineName } from "./engines.ts";
export type { GuardReport } from "./guard.ts";

/** `none`: no connection. `loopback`: only its own. `hosts`: through a proxy that checks them. `open`: everything. */
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

export interface ViewOptions extends ConfineOptions {
  /** Real paths that it is shown as empty, besides secrets. */
  hide?: readonly string[];
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
  /** For the network `hosts`: who serves its connections. The same object for the same hosts. */
  proxy?: SandboxProxy;
}

export interface ConfinedCommand {
  /** The command line that runs the command confined. */
  readonly command: readonly string[];
  /** Variables that it needs in addition. */
  readonly env: Readonly<Record<string, string>>;
  /** What it and everything it starts may use together. The process that starts it sees to that. */
  readonly limits?: TreeLimits;
  /** Real paths that are shown as empty, and the home folder if most of it is not shown. */
  readonly hidden: { readonly paths: readonly string[]; readonly home?: string };
  /** After the command and everything it started has ended: restores guarded files that changed, and reports them. */
  finish(): Promise<GuardReport>;
}

/** A run in a copy of everything that a command in `work` may write, without network. */
export interface CommandView extends Pick<ConfinedCommand, "command" | "env" | "limits"> {
  /** Whether it fills the disk. Kill it then. */
  readonly isTooLarge: boolean;
  /** After the command and everything it started has ended. Throws `UnrecordableEffect`. */
  collect(): ViewEffects;
  /** What was hidden from it and it opened or tried to change. Undefined if that is not known. */
  used(output: string): HiddenUse | undefined;
  /** What it was refused. Undefined if that is not known, also because `Sandbox.refusalReporting` says so. */
  refusals(output: string): RefusalReport | undefined;
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
  /** Whether views report what a command was refused, and if not, why. */
  readonly refusalReporting: RefusalReporting;
  /** Whether commands in `work` run without approval. Set by the owner. */
  readonly autoAllow: boolean;
  /** One line for approvals. */
  describe(profile: ConfinementProfile): LocalizedText;
  /** Throws if the profile has no engine. Call it for each command: it closes secrets that are new. */
  confine(profile: ConfinementProfile, command: readonly string[], options: ConfineOptions): Promise<ConfinedCommand>;
  /** Shows what a command would do in `work`. `why` says why that cannot be shown, as "this machine has no overlays". */
  openView(command: readonly string[], options: ViewOptions): Promise<CommandView | { why: string }>;
  /** The `.git` folders that a command can read, as they are now. */
  repositories(): readonly string[];
  /** From now on no command can execute, read or copy these programs. `names` is asked at each start. */
  denyPrograms(names: () => readonly string[]): void;
  /** The folder that commands in `work` are shown as /tmp. */
  readonly temporaryFolder: string;
  /** The same for a program with rules of its own. It runs in the engine of `work`. */
  confineProgram(command: readonly string[], rules: ProgramRules): Promise<ConfinedCommand>;
  /** The same, as in `look`, for a program that nobody has approved. Other rules give another command line. */
  confineUnasked(command: readonly string[], options: { cwd: string }): Promise<ConfinedCommand>;
  /** Removes the scratch folder. */
  close(): void;
}

export interface SandboxOptions {
  files: Pick<Files, "policy" | "narrow">;
  /** Commands that stay in the sandbox run without approval. */
  autoAllow?: boolean;
  /** Max memory of each process, and of a command that runs without approval in all. Default: 4 GiB. */
  memoryBytes?: number;
  /** Max processes of a command that runs without approval; with namespaces, of every command. Default: 512. */
  processes?: number;
  /** The hosts that commands may reach. If omitted, or without namespaces, there is no network. */
  proxy?: SandboxProxy;
  /** How many milliseconds a command may run in a copy before its approval. 0: never. Default: 10,000. */
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
  /** Closed paths that are shown as empty, if the engine has mounts. */
  hidden: readonly string[];
  /** Folders that may not be renamed: what is denied in them would get another name. */
  pinned?: readonly string[];
  /** Whether the home folder is shown without everything that it may not read. */
  coversHome?: boolean;
  /** Paths inside writable ones that are only read. */
  readOnly: readonly string[];
  metadata: boolean;
  network: ConfinedNetwork;
  cwd: string;
  terminal: boolean;
  temporary?: string;
  proxy?: SandboxProxy;
  /** A program that nobody has approved; see `isUnasked`. */
  isUnaskedProgram?: boolean;
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
  /** Read when they are used: a host may change them. */
  readonly #options: SandboxOptions;
  readonly #home: string;
  readonly #scan: WorkspaceScan;
  /** Of named folders outside the workspace, by path. */
  readonly #scans = new Map<string, WorkspaceScan>();
  readonly #tablePaths = new Map<string, { path: string; times: string }>();
  readonly #ownTables = new Set<string>();
  readonly #views = new Set<ViewFolder>();
  readonly #networks = new Map<SandboxProxy, SharedNetwork>();
  readonly #deniedPrograms: (() => readonly string[])[] = [];
  #found: FoundEngines | undefined;
  #tables: TableFolder | undefined;
  #scratch: string | undefined;
  #system: readonly string[] | undefined;
  #systemSecrets: readonly string[] | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#home = options.home ?? homedir();
    this.#scan = new WorkspaceScan(options.files);
    // What a process left that was killed. Nobody has to wait for it.
    setImmediate(() => attempt(() => removeAbandonedViews(viewsIn(tableFolderPath())))).unref();
  }

  get autoAllow(): boolean {
    return this.#options.autoAllow ?? false;
  }

  get engines(): Sandbox["engines"] {
    const { look, work } = this.#engines();
    return { look: look?.name, work: work?.name };
  }

  get tests(): FoundEngines["tests"] {
    return this.#engines().tests;
  }

  get refusalReporting(): RefusalReporting {
    return this.#engines().refusalReporting ?? NOT_REPORTED;
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
    if (profile === "work")
      return this.#start(engine, command, this.#withoutDenied(this.#workPlan(policy, options), command[0]));
    const { cwd, terminal } = options;
    const read = this.#readable(policy);
    const { closed, hidden } = this.#closedFor(roots(policy));
    const rules = { write: [], readOnly: [], metadata: false, network: "none", coversHome: true } as const;
    const plan = { ...rules, cwd, terminal, read, closed, hidden };
    return this.#start(fewMounts(engine, hidden), command, this.#withoutDenied(plan, command[0]));
  }

  denyPrograms(names: () => readonly string[]): void {
    this.#deniedPrograms.push(names);
  }

  /** The shell that runs every command stays open: the text of the command is judged by rules. */
  #withoutDenied(plan: Plan, shell?: string): Plan {
    const open = shell === undefined ? undefined : realpathSync(shell);
    const names = this.#deniedPrograms.flatMap((list) => list());
    if (names.length === 0) return plan;
    const { paths } = findDeniedFiles(names, process.env["PATH"] ?? "");
    // A rule around a writable folder cannot leave out one of its files.
    const denied = paths.filter((path) => path !== open && !isWritable(path, plan));
    return { ...plan, closed: { ...plan.closed, paths: new Set([...plan.closed.paths, ...denied]) } };
  }

  repositories(): readonly string[] {
    this.#scan.refresh();
    const { workspace } = this.#options.files.policy;
    return [...new Set([...this.#scan.repositories, ...worktreeRepository(workspace)])];
  }

  async openView(command: readonly string[], options: ViewOptions): Promise<CommandView | { why: string }> {
    const engine = this.#engines().work;
    if (engine?.name !== "namespaces") return { why: "this machine has no overlays" };
    const { policy } = this.#options.files.narrow(options.allowedPaths);
    const folders = roots(policy, "writable");
    if (folders.some((folder) => mountsInside(folder).length > 0)) return { why: "the workspace contains mounts" };
    const { closed, hidden, denied } = this.#closedFor(roots(policy));
    if (hidden.length > MAX_PLACEHOLDERS) return { why: "the workspace has too many secrets to hide" };
    const view = new ViewFolder(viewsIn(this.#tableFolder().path), this.refusalReporting);
    this.#views.add(view);
    const remove = (): Promise<void> => view.remove().finally(() => this.#views.delete(view));
    try {
      for (const folder of folders) view.add(folder, "workspace");
      for (const folder of packageCaches(this.#home)) view.add(folder, "cache");
      view.add(this.#scratchFolder(), "temporary");
      const { privatePaths } = this.#options.files.policy;
      const deniedPaths = new Set(denied);
      const isDenied = (path: string): boolean => isWithin(path, deniedPaths);
      // If git finds no object, it looks into packs.
      for (const path of options.hide ?? []) view.hide(path, { isReadOnly: false, folders: ["pack"] });
      for (const path of hidden) if (!privatePaths.includes(path)) view.hide(path, { isReadOnly: isDenied(path) });
      const plan = this.#workPlan(policy, { ...options, network: "none", writable: [] });
      const seen = { ...plan, closed, hidden, view, coversHome: true };
      const covered = this.#covered(seen);
      view.addOutside(covered);
      const {
        command: launch,
        env,
        limits,
      } = await this.#start(engine, command, this.#withoutDenied(seen, command[0]));
      return {
        command: launch,
        env: { ...env, ...view.env },
        limits,
        get isTooLarge() {
          return view.isTooLarge;
        },
        collect: () => view.collect(engine, { scan: this.#scan, policy }),
        used: (output) => view.used(output),
        refusals: (output) =>
          view.refusals(engine, {
            command,
            output,
            readable: [...seen.read, ...seen.write, TEMPORARY],
            home: this.#home,
            covered,
          }),
        close: remove,
      };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  get temporaryFolder(): string {
    return this.#scratchFolder();
  }

  #workPlan(policy: PathPolicy, options: ConfineOptions): Plan {
    const { cwd, terminal, network = this.#reachesHosts() ? "hosts" : "none", writable = [] } = options;
    const write = [...roots(policy, "writable"), ...packageCaches(this.#home), ...writable];
    const all = this.#closedFor(roots(policy));
    // Under an approval it may read the project's own secrets, such as `.env`, because tests need them.
    const isApproved = !this.autoAllow && !isInside(this.#home, policy.workspace);
    const hidden = isApproved ? this.#hidable([...all.denied, ...policy.privatePaths]) : all.hidden;
    const closed = isApproved ? { paths: this.#withOwn(hidden), inodes: new Set<string>() } : all.closed;
    const pinned = foldersAround(all.denied, write);
    const readOnly = readOnlyInside(write, policy);
    const files = { read: this.#readable(policy), write, closed, hidden, pinned, readOnly };
    return { cwd, terminal, ...files, coversHome: this.autoAllow, metadata: true, network };
  }

  #readable(policy: PathPolicy): string[] {
    return [...this.#readableSystem(), ...roots(policy), ...worktreeRepository(policy.workspace)];
  }

  async confineProgram(command: readonly string[], rules: ProgramRules): Promise<ConfinedCommand> {
    const engine = this.#engineOf("work");
    const { network = "none", ownFolders = [], cwd, terminal, temporary, proxy } = rules;
    const named = [...rules.read, ...rules.write];
    const { closed, denied } = this.#closedFor(named);
    const isInWritten = (path: string): boolean => rules.write.some((root) => isInside(path, root));
    const hidden = this.#hidable([...closed.paths].filter((path) => isInWritten(path)));
    const pinned = foldersAround(denied, rules.write);
    const read = [...this.#readableSystem(), ...rules.read];
    const write = [...rules.write, ...ownFolders];
    const where = { cwd, terminal, temporary };
    const readOnly = readOnlyInside(rules.write, this.#options.files.policy);
    const plan = { read, write, closed, hidden, pinned, readOnly, metadata: true, network, proxy, ...where };
    return this.#start(engine, command, plan);
  }

  async confineUnasked(command: readonly string[], { cwd }: { cwd: string }): Promise<ConfinedCommand> {
    const { policy } = this.#options.files;
    const { closed, hidden } = this.#closedFor(roots(policy));
    const engine = fewMounts(this.#engineOf("work"), hidden);
    const files = { cwd, read: this.#readable(policy), write: [], readOnly: [], closed, hidden, coversHome: true };
    const rights = { terminal: false, network: "none", isUnaskedProgram: true } as const;
    // Mounts are read-only. Without them, times and modes could be changed.
    return this.#start(engine, command, this.#withoutDenied({ ...files, ...rights, metadata: hasMounts(engine) }));
  }

  close(): void {
    for (const network of this.#networks.values()) network.close();
    this.#networks.clear();
    for (const view of this.#views) attempt(() => view.removeNow());
    if (this.#scratch !== undefined) rmSync(this.#scratch, { recursive: true, force: true });
    this.#scratch = undefined;
    for (const path of this.#ownTables) rmSync(path, { force: true });
    this.#ownTables.clear();
  }

  #engines(): FoundEngines {
    this.#found ??= this.#options.engines?.() ?? machineEngines();
    return this.#found;
  }

  #engineOf(profile: ConfinementProfile): Engine {
    const engine = this.#engines()[profile];
    if (engine) return engine;
    throw toolError("failed", `The command was not started: it cannot be confined. ${this.notice}`, {
      next: "Only the user can decide how to continue.",
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

  /** With what is never opened, whoever asks: secrets of the system and the own state. */
  #withOwn(paths: Iterable<string>): Set<string> {
    this.#systemSecrets ??= process.geteuid?.() === 0 ? systemSecrets() : [];
    const { privatePaths } = this.#options.files.policy;
    return new Set([...paths, ...this.#systemSecrets, ...privatePaths.filter(exists)]);
  }

  /** The secrets as they are now. One that is named itself is open, except the own state and what the owner denies. */
  #closedFor(named: readonly string[]): { closed: ClosedPaths; hidden: string[]; denied: string[] } {
    const scans = this.#scansOf(named);
    const denied = this.#deniedIn(scans);
    const secrets = new Set(scans.flatMap((scan) => [...scan.secrets]));
    for (const path of secrets) if (named.some((root) => isInside(root, path))) secrets.delete(path);
    for (const path of denied) secrets.add(path);
    const hidden = this.#hidable([...secrets, ...this.#options.files.policy.privatePaths]);
    const inodes = new Set(scans.flatMap((scan) => [...scan.inodes]));
    return { closed: { paths: this.#withOwn(secrets), inodes }, hidden, denied };
  }

  #scansOf(named: readonly string[]): WorkspaceScan[] {
    const known = [this.#options.files.policy.workspace, ...this.#readableSystem()];
    const isFurther = (root: string): boolean =>
      !root.includes("/node_modules") && !known.some((path) => isInside(root, path)) && !isSecretName(root);
    this.#scan.refresh();
    return [this.#scan, ...named.filter((root) => isFurther(root) && isFolder(root)).map((root) => this.#scanOf(root))];
  }

  #scanOf(root: string): WorkspaceScan {
    const scan = this.#scans.get(root) ?? new WorkspaceScan(this.#options.files, root);
    this.#scans.set(root, scan);
    scan.refresh();
    return scan;
  }

  /** What the owner denies, also among the files of the system that every command may read. */
  #deniedIn(scans: readonly WorkspaceScan[]): string[] {
    const { policy } = this.#options.files;
    const outside = deniedOutside(policy).filter((base) => this.#readableSystem().some((root) => isInside(base, root)));
    const found = outside.flatMap((base) => {
      if (isDeniedByOwner(policy, base)) return [base];
      return isFolder(base) ? [...this.#scanOf(base).denied] : [];
    });
    return [...scans.flatMap((scan) => [...scan.denied]), ...found];
  }

  /** Existing paths, without those inside another one, and without folders that hold the workspace. */
  #hidable(paths: readonly string[]): string[] {
    const { workspace } = this.#options.files.policy;
    return outermost(paths.filter((path) => !isInside(workspace, path)));
  }

  async #start(engine: Engine, command: readonly string[], plan: Plan): Promise<ConfinedCommand> {
    const [program = ""] = command;
    if (!isAbsolute(program)) throw new Error(`The program to confine needs an absolute path: ${program}`);
    const { privatePaths } = this.#options.files.policy;
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
    const watched = plan.view?.watched;
    const isWatched = new Set(watched?.binds.map(({ to }) => to));
    const covered = engine.name === "namespaces" && plan.coversHome ? this.#covered(plan) : undefined;
    const hidden = mounts ? plan.hidden.filter((path) => !isWatched.has(path)) : [];
    // With mounts nothing needs to be split: what is hidden inside writable folders is covered.
    const closed = mounts ? { ...plan.closed, paths: without(plan.closed.paths, plan.hidden) } : plan.closed;
    const shared = this.#networkOf(plan, engine);
    const joinedNetwork = await shared?.open();
    const ownNetwork = mounts && plan.metadata && plan.network !== "open";
    checkNetwork(plan.network, { ownNetwork, isShared: shared !== undefined });
    const mounted = {
      pinned: [...repositories, ...(plan.pinned ?? [])],
      readOnly: [...guarded, ...plan.readOnly],
      hiddenFiles: hidden.filter((path) => !isFolder(path)),
      hiddenFolders: hidden.filter(isFolder),
      placeholder: this.#placeholder(),
      ownNetwork,
    };
    const namespaces: NamespaceRules | undefined =
      engine.name === "namespaces"
        ? {
            ...mounted,
            overlays: plan.view?.overlays,
            outside: plan.view?.outside,
            watched,
            covered,
            seesProcesses: !plan.metadata,
            writable: outermost(plan.write),
            joinedNetwork,
            binds: coversTemporary ? this.#temporaryBinds(plan, scratch) : [],
            processes: this.#treeLimits().processes,
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
      limits: isUnasked(plan) ? this.#treeLimits() : undefined,
      hidden: { paths: mounts ? plan.hidden.filter((path) => !privatePaths.includes(path)) : [], home: covered?.path },
      finish: async () => ({ ...(guard?.finish() ?? { restored: [], removed: [] }), executed: executed?.changes() }),
    };
  }

  #treeLimits(): TreeLimits {
    const { processes = DEFAULT_PROCESSES, memoryBytes = DEFAULT_MEMORY } = this.#options;
    return { processes, memoryBytes };
  }

  /** An empty file. In a folder of its own: old files beside it are removed. */
  #placeholder(): string {
    const path = join(this.#tableFolder().path, "placeholder", "empty");
    if (!exists(path)) createPlace(path, false);
    return path;
  }

  #covered(plan: Plan): CoveredFolder | undefined {
    const covered = coveredHome(this.#home, { ...plan, temporary: TEMPORARY });
    if (covered && plan.view?.isReported) covered.writtenTo = plan.view.coverFolder;
    return covered;
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
    // What nobody has approved does not outlive the process that bounds it.
    const { read, write, metadata, network } = plan;
    const endsWithParent = isUnasked(plan);
    const readOnly = hasMounts(engine) ? [] : plan.readOnly;
    const temporary = rest.temporary === undefined ? [] : [rest.temporary, "/dev/shm"];
    // With namespaces it has a limit of its own.
    const { processes } = this.#treeLimits();
    const userProcesses = isUnasked(plan) && !namespaces ? roundedTasks() + processes : undefined;
    const limits = [metadata, network, endsWithParent, namespaces, userProcesses, isUnasked(plan)];
    const key = JSON.stringify([engine.name, read, write, temporary, readOnly, [...closed.paths], limits]);
    const known = this.#tablePaths.get(key);
    if (known && known.times === timesOf(known.times) && exists(known.path)) return known.path;
    const output = outputFolder();
    const { rules: paths, splitFolders } = pathRules({ read, write, temporary, closed, readOnly });
    const { outside = [], covered } = namespaces ?? {};
    if (covered?.writtenTo !== undefined) paths.push(outsideRule(covered.path));
    paths.push(...outside.map(({ lower }) => outsideRule(lower)));
    const rules: TableRules = {
      paths: output === undefined ? paths : [...paths, outputRule(output)],
      metadata,
      // bubblewrap has already given it a network of its own.
      network: network === "open" || engine.name === "bubblewrap" ? "open" : "none",
      memoryBytes: this.#treeLimits().memoryBytes,
      fileBytes: plan.view && MAX_VIEW_FILE_BYTES,
      isUnasked: isUnasked(plan),
      userProcesses,
      endsWithParent,
      namespaces,
    };
    const supervise = engine.name !== "perl" && engine.name !== "bubblewrap";
    const table = buildTable(engine.machine, rules, undefined, { supervise });
    const path = this.#tableFolder().write(table);
    // No other process can use it.
    if (this.#scratch !== undefined && table.includes(this.#scratch)) this.#ownTables.add(path);
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

  /** Shows the scratch folder as /tmp, and in it what the command may use below the real one, read-only if needed. */
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

const NOT_REPORTED: RefusalReporting = { isReported: false, why: "no engine was tried" };
const MAX_TABLES = 100;
/** Hidden paths of one command. */
const MAX_PLACEHOLDERS = 2000;

/** Too many mounts take longer than the command. Landlock closes the paths too, but their sizes can be seen. */
function fewMounts(engine: Engine, hidden: readonly string[]): Engine {
  return engine.name === "namespaces" && hidden.length > MAX_PLACEHOLDERS ? { ...engine, name: "landlock" } : engine;
}

/** The folders between a root and what is in it. */
function foldersAround(paths: readonly string[], within: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths) {
    const root = within.find((each) => isInside(path, each));
    if (root === undefined || path === root) continue;
    for (let folder = dirname(path); folder !== root && isInside(folder, root); folder = dirname(folder))
      found.add(folder);
  }
  return [...found].filter(exists).toSorted();
}

/** What fails here is done by the next process. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The folder may belong to another user.
  }
}

function viewsIn(tables: string): string {
  return join(tables, "views");
}

/** Whether it runs without approval: in `look`, in a view, or as a program that nobody has approved. */
function isUnasked({ metadata, view, isUnaskedProgram = false }: Plan): boolean {
  return !metadata || view !== undefined || isUnaskedProgram;
}

const TASK_STEP = 1024;

/** How many tasks the machine has, rounded up, so the same table is used again. Its user has no more. */
function roundedTasks(): number {
  return Math.ceil(machineTasks() / TASK_STEP) * TASK_STEP;
}

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

/** Without those that are or are inside a removed one. */
function without(paths: ReadonlySet<string>, removed: readonly string[]): Set<string> {
  const gone = new Set(removed);
  return new Set([...paths].filter((path) => !isWithin(path, gone)));
}

function createPlace(path: string, folder: boolean): void {
  mkdirSync(folder ? path : dirname(path), { recursive: true });
  if (!folder && !exists(path)) writeFileSync(path, "");
}

/**
 * A folder with the tools that work in it, each of which is also a factory of its own.
 *
 * @example
 * import { createHaft } from "haft";
 * import { openWorkspace } from "haft/workspace";
 *
 * const haft = createHaft({ workspace: openWorkspace(".") });
 * const result = await haft.execute("list_files", { path: "." });
 * await haft.shutdown();
 *
 * @module
 */
import { resolve } from "node:path";
import type { Caller } from "./core/call.ts";
import type { AnyTool } from "./core/tool.ts";
import { checkKeys, keysOf } from "./core/options.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import type { Spill } from "./gate/bound.ts";
import { createFiles, type Files, replacePolicy } from "./io/files/files.ts";
import { createLineIndexes } from "./io/files/line-index.ts";
import { type DiagnosticOptions, Diagnostics } from "./io/language/diagnostics.ts";
import { createPathPolicy, type PathPolicyOptions } from "./io/files/path-policy.ts";
import { createSpillFolder, type SpillFolder } from "./io/files/spill-folder.ts";
import { stateFolderOf, stateRootOf } from "./io/files/state-folder.ts";
import type { UndoJournal } from "./io/files/undo-store.ts";
import { type PausedRun, PausedRuns } from "./io/sandbox/paused-runs.ts";
import { PreviewStore } from "./io/sandbox/preview-store.ts";
import { ProgramSandbox } from "./io/sandbox/program-sandbox.ts";
import { openSandbox, type Sandbox, type SandboxOptions } from "./io/sandbox/sandbox.ts";
import { ProcessTable } from "./io/shell/process-table.ts";
import { createSessionEnvironments, type SessionEnvironments } from "./io/shell/shell-environment.ts";
import {
  createConversationTools,
  createDataTools,
  createFileTools,
  createRuntimeTools,
  createSearchTools,
  createSystemTools,
} from "./tools/tool-families.ts";
import type { TodoStore } from "./tools/conversation/todo.ts";
import { FOLDER_INSTRUCTION_KEYS, type FolderInstructionOptions } from "./tools/files/folder-instructions.ts";
import { createReadLedger, type SeenFiles } from "./tools/files/read-before-edit.ts";
import { createFileFinder, createTreeLister } from "./tools/search/glob.ts";
import { createRipgrep } from "./tools/search/ripgrep.ts";

export { createUndo } from "./io/files/undo.ts";
export type { Undo, UndoOutcome } from "./io/files/undo.ts";
export { createMemoryUndo } from "./io/files/undo-store.ts";
export type { UndoStore } from "./io/files/undo-store.ts";

export { createGuardedNet } from "./io/net/guarded-fetch.ts";
export type { GuardedNet, GuardedNetOptions } from "./io/net/guarded-fetch.ts";
export { createHttpTools } from "./tools/web/http-tools.ts";
export { createWebTools } from "./tools/web/web-tools.ts";
export { createConversationTools } from "./tools/tool-families.ts";

export { createArtifactManager } from "./tools/artifacts/artifact-manager.ts";
export type { ArtifactManager } from "./tools/artifacts/artifact-manager.ts";
export type { ArtifactStore } from "./tools/artifacts/artifact-store.ts";
export { createArtifactTools } from "./tools/artifacts/artifact-tools.ts";

/** What tools may do in the folder. */
export interface WorkspaceOptions extends Omit<PathPolicyOptions, "workspace" | "privatePaths"> {
  /** Absolute path of the folder that keeps outputs which are too long to show. Default: what `stateFolderOf` gives. */
  stateFolder?: string;
  /** Whether a file must have been read before it is changed. Default: true. */
  requireReadBeforeEdit?: boolean;
  /** A larger file is read in ranges, and no range may be larger. Default: no limit. */
  maxReadBytes?: number;
  /**
   * Whether the instructions of folders (`src/AGENTS.md`) are delivered with the first read of a file below them.
   * Default: true, marked as untrusted text.
   */
  folderInstructions?: boolean | FolderInstructionOptions;
  /**
   * How changed files are checked by language servers, such as that of the TypeScript in `node_modules`. They run confined, so
   * without a sandbox there are none. False: not at all.
   */
  diagnostics?: false | DiagnosticOptions;
  /** Remembers, beyond this process, which session has read which file. */
  seenFiles?: SeenFiles;
  /** Gets every change of a file before it happens. */
  journal?: UndoJournal;
  /**
   * How commands are confined. False: not at all; then every command needs approval, except those that a rule allows.
   * Default: confined if this machine can do it.
   */
  sandbox?: false | Omit<SandboxOptions, "files">;
  /** Where to-do lists are kept. Default: in memory. */
  todos?: TodoStore;
  /** Nobody can answer questions of `ask_user`: the model decides itself. Default: false. */
  isUnattended?: boolean;
  /** Default: the system's. */
  clock?: Clock;
}

const OPTION_KEYS = keysOf<WorkspaceOptions>({
  allowedPaths: true,
  readOnlyPaths: true,
  denyGlobs: true,
  permitGlobs: true,
  unrestricted: true,
  stateFolder: true,
  requireReadBeforeEdit: true,
  maxReadBytes: true,
  folderInstructions: true,
  diagnostics: true,
  seenFiles: true,
  journal: true,
  sandbox: true,
  todos: true,
  isUnattended: true,
  clock: true,
});

type PathRules = Omit<PathPolicyOptions, "workspace" | "privatePaths">;

/** The options that may change while the workspace is open. */
type LiveWorkspaceOptions = PathRules & Pick<WorkspaceOptions, "requireReadBeforeEdit" | "maxReadBytes" | "sandbox">;

/** A limit that is not given any more has its default again. */
const NO_LIMITS: Partial<SandboxOptions> = {
  autoAllow: undefined,
  memoryBytes: undefined,
  processes: undefined,
  proxy: undefined,
  previewMs: undefined,
  networkExceptions: undefined,
};

/** A folder to work in, with the tools that work in it. */
export interface Workspace {
  /** Its real path. */
  readonly folder: string;
  /** Guarded access to its files. */
  readonly files: Files;
  /** The tools that work in it. */
  readonly tools: readonly AnyTool[];
  /** Keeps long outputs in the state folder. `read` and `grep` reach those of their own session by address. */
  readonly spill: Spill & Pick<SpillFolder, "open">;
  /** What the commands of each session are given. */
  readonly environments: SessionEnvironments;
  /** What confines commands; undefined if that is disabled. */
  readonly sandbox?: Sandbox;
  /** Removes what a command did in a copy of the workspace, after a person has refused it. */
  discardPreview(callId: string, caller: Partial<Caller>): Promise<void>;
  /** The command of a call that was paused at the time limit of its preview. */
  pausedRun(callId: string, caller: Partial<Caller>): PausedRun | undefined;
  /** Confines the MCP servers and hooks of this folder. */
  readonly programs: ProgramSandbox;
  /** Replaces the rules for paths and commands, from the next call on. What is left out has its default again. */
  reconfigure(options: LiveWorkspaceOptions): void;
  /** Denies these globs in addition to `denyGlobs`, instead of those of the last call: what `Read` rules of a runtime deny. */
  denyReads(globs: readonly string[]): void;
  /** Ends the processes that were started in it. */
  close(): Promise<void>;
}

/**
 * Opens a folder with the tools that work in it: files, search, patches, shell, processes, system, data, questions to the
 * user and to-do lists.
 */
export function openWorkspace(folder: string = process.cwd(), options: WorkspaceOptions = {}): Workspace {
  checkKeys("openWorkspace", options, OPTION_KEYS);
  const {
    requireReadBeforeEdit = true,
    maxReadBytes,
    folderInstructions = true,
    diagnostics: checks = {},
    seenFiles,
    journal,
    sandbox: confinement = {},
    clock = systemClock,
    stateFolder,
    todos,
    isUnattended,
    ...paths
  } = options;
  if (typeof folderInstructions === "object") {
    checkKeys("`folderInstructions` of openWorkspace", folderInstructions, FOLDER_INSTRUCTION_KEYS);
  }
  const privatePaths = stateFolder === undefined ? [stateRootOf()] : [stateRootOf(), stateFolder];
  let rules: PathRules = paths;
  let denied: readonly string[] = [];
  const policyNow = () => {
    const denyGlobs = [...(rules.denyGlobs ?? []), ...denied];
    return createPathPolicy({ ...rules, denyGlobs, workspace: resolve(folder), privatePaths });
  };
  const policy = policyNow();
  const files = createFiles(policy, { clock: () => clock.now(), journal });
  const state = (): string => stateFolder ?? stateFolderOf(policy.workspace);
  const spills = createSpillFolder(state, { now: () => clock.now() });
  const ripgrep = createRipgrep();
  const reads = createReadLedger(seenFiles);
  const environments = createSessionEnvironments({ host: process.env });
  const processes = new ProcessTable({ clock: () => clock.now() });
  const paused = new PausedRuns();
  const sandboxOptions: SandboxOptions = { ...(confinement || undefined), files };
  const sandbox = openSandbox(sandboxOptions);
  const live = { requireReadBeforeEdit, maxReadBytes, isConfined: confinement !== false };
  const confined = {
    get sandbox() {
      return live.isConfined ? sandbox : undefined;
    },
  };
  const programs = new ProgramSandbox({
    get sandbox() {
      return confined.sandbox;
    },
    workspace: policy.workspace,
    stateFolder: () => stateFolder ?? stateFolderOf(policy.workspace),
    exceptions: confinement === false ? undefined : confinement.networkExceptions,
  });
  const diagnostics =
    checks === false
      ? undefined
      : new Diagnostics({
          ...checks,
          files,
          get sandbox() {
            return confined.sandbox;
          },
        });
  return {
    folder: policy.workspace,
    files,
    environments,
    get sandbox() {
      return confined.sandbox;
    },
    programs,
    reconfigure({ requireReadBeforeEdit: isRequired = true, maxReadBytes: maxBytes, sandbox: next = {}, ...given }) {
      rules = given;
      replacePolicy(files, policyNow());
      live.requireReadBeforeEdit = isRequired;
      live.maxReadBytes = maxBytes;
      live.isConfined = next !== false;
      if (next !== false) Object.assign(sandboxOptions, NO_LIMITS, next);
    },
    denyReads(globs) {
      if (globs.join("\0") === denied.join("\0")) return;
      denied = globs;
      replacePolicy(files, policyNow());
    },
    tools: [
      ...createFileTools({
        files,
        reads,
        lineIndexes: createLineIndexes(),
        get requireRead() {
          return live.requireReadBeforeEdit;
        },
        get maxReadBytes() {
          return live.maxReadBytes;
        },
        spills,
        diagnostics,
        instructions: folderInstructions === true ? {} : folderInstructions || undefined,
        findFiles: createFileFinder({ files, ripgrep }),
        listTree: createTreeLister({ files, ripgrep }),
      }),
      ...createSearchTools({
        files,
        spills,
        ripgrep,
        saw: (context, info, lines) =>
          reads.saw(context, info, { seen: { ...lines, total: null, column: 1, cut: [] } }),
      }),
      ...createRuntimeTools({
        files,
        processes,
        environments,
        openSpill: spills.open,
        saw: (context, { info, bytes, ...lines }) =>
          reads.saw(context, info, { bytes, seen: { ...lines, column: 1, cut: [] } }),
        clock,
        get sandbox() {
          return confined.sandbox;
        },
        get previews() {
          const { previewMs: maxMs } = sandboxOptions;
          return maxMs === 0 ? undefined : { stateFolder: state, maxMs, paused };
        },
      }),
      ...createSystemTools({ environments, clock }),
      ...createDataTools({ files, spills }),
      ...createConversationTools({ todos, isUnattended }),
    ],
    spill: {
      async save({ callId, caller, text }) {
        return spills.save({ callId, caller }, text);
      },
      read: spills.read,
      open: spills.open,
    },
    discardPreview: (callId, caller) => new PreviewStore(state).remove(PreviewStore.keyOf(callId, caller)),
    pausedRun: (callId, caller) => paused.get(PreviewStore.keyOf(callId, caller)),
    async close() {
      await paused.close();
      await diagnostics?.close();
      await processes.shutdown();
      await programs.close();
      sandbox.close();
    },
  };
}

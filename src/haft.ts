import type { ForeignTool, Registrable } from "./core/adopt/adopt.ts";
import type { BatchCall, Caller, CallOptions, Execute } from "./core/call.ts";
import type { Clock } from "./core/clock.ts";
import type { TokenCounter } from "./core/content.ts";
import type { FunctionDeclaration } from "./core/definition.ts";
import type { EventOf, Listener, ToolEvent, ToolEventType } from "./core/events.ts";
import type { Plugin } from "./core/plugin.ts";
import type { ToolRegistry, ToolStats } from "./core/registry.ts";
import type { ToolResult } from "./core/result.ts";
import type { Middleware } from "./core/stage.ts";
import type { AnyTool, DialectName, ToolPermission } from "./core/tool.ts";
import type { AgentToolkit } from "./core/toolkit.ts";
import type { Approvals } from "./calls/approvals.ts";
import type { CallStore } from "./calls/call-store.ts";
import type { CallsOptions } from "./calls/calls.ts";
import type { GrantCaps } from "./calls/grants.ts";
import type { JobQueue } from "./calls/job-queue.ts";
import type { CodeRunnerOptions } from "./code/code-runner.ts";
import type { CallLog } from "./gate/audit-log.ts";
import type { Spill } from "./gate/bound.ts";
import type { ConcurrencyLimits } from "./gate/concurrency.ts";
import type { ContextFor } from "./gate/host-context.ts";
import type { Decide } from "./gate/permit/host-decision.ts";
import type { Approver } from "./gate/permit/approver.ts";
import type { HookSource } from "./gate/permit/hooks/hook-settings.ts";
import type { HttpPost } from "./gate/permit/hooks/run-hook.ts";
import type { PolicyLayer } from "./gate/permit/policy-layers.ts";
import type { PolicyView } from "./gate/permit/policy-view.ts";
import type { RuleSet } from "./gate/permit/rules/rule-set.ts";
import type { RuleList, RuleSource } from "./gate/permit/rules/rule.ts";
import type { Provenance, ProvenanceOptions } from "./gate/permit/provenance/provenance.ts";
import type { ToolPolicy } from "./gate/permit/tool-policy.ts";
import type { ResponseLength } from "./gate/response-length.ts";
import type { Timeouts } from "./gate/timeouts.ts";
import type { Jobs, WorkerOptions } from "./jobs/jobs.ts";
import type { ShownSet } from "./tools/discovery/shown-tools.ts";
import type { Shown, ToolSearchOptions } from "./tools/discovery/tool-search.ts";
import type { Workspace } from "./workspace.ts";

/** The options of a runtime. Each has a default. */
export interface HaftOptions {
  /** From `openWorkspace` of "haft/workspace": its tools are registered, and its processes end with the runtime. */
  workspace?: Workspace;
  /** `context.workspace` of your tools, if no workspace is opened. Default: the working directory. */
  folder?: string;
  /** Default: a new one. */
  registry?: ToolRegistry;
  /** Registered at once. Tools of other systems are converted as `adopt` does. */
  tools?: Iterable<Registrable | ForeignTool>;
  /** Policy layers: a tool exists if all of them allow it. A function if they differ by caller. */
  policy?: ToolPolicy | readonly ToolPolicy[] | ((caller: Partial<Caller>) => readonly PolicyLayer[]);
  /** Permission rules: `{ allow, ask, deny }`, sources with the files they come from, or a shared rule set. */
  rules?: Omit<RuleSource, "origin"> | readonly RuleSource[] | RuleSet;
  /**
   * The permission of tools that state neither `kind: "readonly"` nor whether they need approval. `auto`: they run unasked,
   * whatever they do. Default: `confirm`.
   */
  defaultPermission?: ToolPermission;
  /**
   * Makes the data of the host (`context.host`) for calls that bring none: those that come over MCP or HTTP, and those that this
   * process continues for another one, such as jobs and approved calls. May return a promise.
   */
  contextFor?: ContextFor;
  /**
   * Judges each call in this process, by its input: deny, ask, allow or nothing. It cannot allow what a rule, a hook or the
   * tool denies or asks about.
   */
  decide?: Decide;
  /** Programs and services that see calls and may deny them, ask, or change them. */
  hooks?: readonly HookSource[];
  /** Who chose the values of a call: what asks, and labels in addition to the tools' own. */
  provenance?: ProvenanceOptions;
  /** Asks a person and waits. Without one a call that must ask is answered `pending`. */
  approver?: Approver;
  /** How long a call that asks waits for an answer. Without one it returns `pending`, and the question stays open. */
  approvalWaitMs?: number;
  /** How long questions can be answered, how many may be pending, and how long results are kept for repeated call ids. */
  approvals?: Omit<CallsOptions, "clock" | "store" | "limitsOf"> & { maxShownBytes?: number };
  /** The most that a grant may have: minutes, uses, and the sum of a unit. More is an error. */
  grants?: GrantCaps;
  /** Where calls are kept that wait for a person or have an idempotency key. Default: in memory. */
  calls?: CallStore;
  /** Registers `run_code`: where programs that wait are kept, and what they may use. */
  code?: Pick<CodeRunnerOptions, "store" | "limits">;
  /**
   * Registers `tool_search`: if there are too many tools for its context, a model gets some definitions and finds the others.
   * Default: false, no search.
   */
  toolSearch?: boolean | ToolSearchOptions;
  /** Counts tokens. Default: o200k_base if "gpt-tokenizer" is installed, else an estimate. */
  tokens?: TokenCounter;
  /** How many calls may run and wait at the same time. */
  concurrency?: Partial<ConcurrencyLimits>;
  /** Default and largest time limit of a call. */
  timeouts?: Partial<Timeouts>;
  /** Max bytes of one result's content; the rest goes to `spill`. Default: 50 KiB; more lifts the default of tokens. */
  maxResultBytes?: number;
  /** Max tokens of one result's content, in addition to the bytes. Default: 12,000, estimated. */
  maxResultTokens?: number;
  /** Further stages of the gate. */
  middleware?: readonly Middleware[];
  /** Default: the system's. */
  clock?: Clock;
  /** The record of calls. Default: in memory. */
  log?: CallLog;
  /** The whole of results that were too long. Default: the workspace's, else memory. */
  spill?: Spill;
  /** Where background calls wait for a worker. Default: in memory. `false`: callers wait for the result. */
  jobs?: JobQueue | false;
  /** The worker of this process, which starts with the first background call; `false`: workers run elsewhere. */
  worker?: WorkerOptions | false;
  /** Called with the error of a listener; nothing else is affected by it. */
  onListenerError?: (error: unknown, event: ToolEvent) => void;
  /** Called with probable mistakes, such as a group that does not exist. Default: a process warning. */
  onWarning?: (warning: string) => void;
}

/** The options of a runtime that a host makes: those of `createHaft`, and what only a host with a configuration sets. */
export interface RuntimeOptions extends HaftOptions {
  /** Sends the requests of hooks of type http. */
  post?: HttpPost;
  /** Why calls of a tool must ask even if a rule allows them: its definition changed since a person reviewed it. */
  requiresApproval?: (tool: AnyTool) => string | undefined;
  /** Saves a rule that a person granted for always or wrote. Returns the name of the file, which becomes its origin. */
  saveRule?: (rule: string, list: RuleList, by?: string) => Promise<string | void> | string | void;
  /** Whom a rule binds that `saveRule` saved. People read it before they grant one. Default: `workspace`. */
  savedRulesBind?: "workspace" | "store";
  /** Removes a rule from the file that `saveRule` writes. False if the rule is not in it. */
  removeRule?: (rule: string, list: RuleList, origin: string, by?: string) => Promise<boolean> | boolean;
  /** The process ends after one command: approved calls that it runs for others are waited for. Default: false. */
  isShortLived?: boolean;
  /** How much tools return that have a parameter for it, if a call does not choose. */
  response?: ResponseLength;
}

/** A running Haft: every call passes its gate. */
export interface Haft {
  /**
   * Runs a call. With a tool object, input and `details` are typed; with a name, neither is.
   *
   * @example
   * const result = await haft.execute(add, { a: 1, b: 2 });
   * if (result.status === "completed") console.log(result.details);
   */
  readonly execute: Execute;
  /** Runs several calls at once, each after those that its tool depends on; results in the order of the calls. */
  executeMany(calls: readonly BatchCall[], options?: CallOptions): Promise<ToolResult[]>;
  /** Adds a tool, or creates one from its configuration and adds it. */
  register(tool: Registrable): AnyTool;
  /** Adds a tool of another system, as `adopt` converts it. */
  register(tool: ForeignTool): AnyTool;
  /** The tools: which exist, which a model gets, and their definitions. */
  readonly tools: HaftTools;
  /** Calls that were made: their record, and what is known of one. */
  readonly calls: HaftCalls;
  /** Questions to people about calls, and their answers. */
  readonly approvals: Approvals;
  /** What may run and why: the rules, explanations and findings. */
  readonly policy: PolicyView & { readonly provenance: Provenance };
  /** Background calls and the delivery of their results. */
  readonly jobs: Jobs;
  /** What the runtime was created with. */
  readonly settings: HaftSettings;
  /** Calls `listener` with every event of a type, or of all with `"*"`; returns the function that stops it. */
  on<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  on(type: "*", listener: Listener<ToolEvent>): () => void;
  /**
   * Takes no more calls, waits `graceMs` for running calls and jobs (default: 0), stops and answers the others, then ends
   * the processes of the workspace. Jobs that were stopped go back to the queue if running them again does no harm.
   */
  shutdown(options?: { graceMs?: number }): Promise<void>;
}

/** The tools of a runtime. */
export interface HaftTools {
  /** Every tool that this runtime knows, whatever its policy. */
  readonly registry: ToolRegistry;
  /** The tools that exist under this runtime's policy; if that differs by caller, for this one. */
  list(options?: { mode?: string | undefined; caller?: Partial<Caller> | undefined }): AnyTool[];
  /** Ranked, best first; only tools that the caller may see. */
  search(query: string, options?: { limit?: number; caller?: Partial<Caller> }): AnyTool[];
  /** The tools that a model gets now, and those that it can find with `tool_search`. */
  shown(options?: Shown): ShownSet;
  /** The definitions of the shown tools. `style: "compact"`: one line and the bare input shape of each tool. */
  definitions(options?: Shown & { dialect?: DialectName; style?: "full" | "compact" }): FunctionDeclaration[];
  /** The tools of one agent; without names it has none, until `add`. Throws for an unknown name. */
  toolkit(agentName: string, toolNames?: readonly string[]): AgentToolkit;
  /** Installs a plugin that the host names. */
  install(plugin: Plugin): Promise<AnyTool[]>;
  /** Counts of tools and statistics of their calls. */
  stats(): ToolStats;
  /** Reads what tool search has learned from this caller's user: before the first `shown`. Agents and MCP do it themselves. */
  readUse(caller?: Partial<Caller>): Promise<void>;
  /** Removes what tool search has learned from this user's calls, about one tool or all. Returns the number of tools. */
  forgetUse(options?: { user?: string; tool?: string }): Promise<number>;
}

/** The calls of a runtime. */
export interface HaftCalls {
  /** The record of every call. */
  readonly log: CallLog;
  /** The whole of results that were too long for a model. */
  readonly spill: Spill;
  /** What is known of an earlier call of this caller: its result if it has ended, `pending` if not. */
  find(callId: string, caller?: Partial<Caller>): Promise<ToolResult | undefined>;
  /** How many calls are running, and how many wait. */
  load(): { running: number; waiting: number };
  /** Runs approved calls and programs that no process takes care of. Call it regularly in a process that stays. */
  recover(): Promise<void>;
}

/** What a runtime was created with, for parts that work beside it. */
export interface HaftSettings {
  /** Counts tokens. */
  readonly tokens: TokenCounter;
  /** The clock of everything that waits. */
  readonly clock: Clock;
  /** The folder that tools work in. */
  readonly folder: string;
}

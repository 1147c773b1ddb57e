import type { CallOptions } from "./core/call.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import type { FunctionDeclaration } from "./core/definition.ts";
import { EventEmitter, type Listener } from "./core/emitter.ts";
import { toolError, type ToolError } from "./core/error.ts";
import type { EventOf, ToolEvent, ToolEventType } from "./core/event.ts";
import { installPlugin, type Plugin } from "./core/plugin.ts";
import { type Registrable, ToolRegistry, type ToolStats } from "./core/registry.ts";
import type { ToolResult } from "./core/result.ts";
import type { Middleware, Stage } from "./core/stage.ts";
import type { AnyTool, DialectName } from "./core/tool.ts";
import { provideDefaultGate } from "./core/tool-gate.ts";
import type { AgentToolkit } from "./core/toolkit.ts";
import { admit } from "./executor/admit.ts";
import { begin } from "./executor/begin.ts";
import { type ConcurrencyLimits, DEFAULT_CONCURRENCY } from "./executor/admission.ts";
import { bound, MemorySpill, type Spill } from "./executor/bound.ts";
import { type CallJournal, MemoryJournal } from "./executor/call-journal.ts";
import { type CallLog, MemoryCallLog } from "./executor/call-log.ts";
import { Deadlines } from "./executor/deadlines.ts";
import { ToolExecutor } from "./executor/executor.ts";
import { knownAndClaim } from "./executor/known.ts";
import type { BatchCall } from "./executor/order-batch.ts";
import { record } from "./executor/record.ts";
import { resolve } from "./executor/resolve.ts";
import { ResultCache } from "./executor/result-cache.ts";
import { Statistics } from "./executor/statistics.ts";
import { telemetry } from "./executor/telemetry.ts";
import type { Timeouts } from "./executor/timeouts.ts";
import { validate } from "./executor/validate.ts";
import { Approvals } from "./policy/approvals.ts";
import { type Approver, permit } from "./policy/permit.ts";
import { lintToolPolicy } from "./policy/lint-tool-policy.ts";
import type { ToolPolicy } from "./policy/tool-policy.ts";
import { isVisible, visible } from "./policy/visible.ts";
import type { Workspace } from "./workspace.ts";

export interface HaftOptions {
  /** From `openWorkspace` of "haft/workspace": its tools are registered, and its processes end with the runtime. */
  workspace?: Workspace;
  /** What `context.workspace` tells your own tools, where no workspace is opened; the working directory if absent. */
  folder?: string;
  registry?: ToolRegistry;
  tools?: Iterable<Registrable>;
  /** Layers that each narrow: a tool exists where all of them let it through. */
  policy?: ToolPolicy | readonly ToolPolicy[];
  /** Asks a person and waits. Without one a call that must ask is answered `pending`. */
  approver?: Approver;
  concurrency?: Partial<ConcurrencyLimits>;
  timeouts?: Partial<Timeouts>;
  maxOutputBytes?: number;
  middleware?: readonly Middleware[];
  clock?: Clock;
  log?: CallLog;
  journal?: CallJournal;
  spill?: Spill;
  /** Told of a listener that failed; nothing else is affected by it. */
  onListenerError?: (error: unknown, event: ToolEvent) => void;
  /** Told of what is probably a mistake, such as a group that does not exist; a process warning where absent. */
  onWarning?: (warning: string) => void;
}

/** A running Haft: a registry, the gate before it, and what passed. */
export interface Haft {
  readonly registry: ToolRegistry;
  readonly executor: ToolExecutor;
  readonly approvals: Approvals;
  readonly log: CallLog;
  readonly spill: Spill;
  register(tool: Registrable): AnyTool;
  /** Installs a plugin that the host names. */
  use(plugin: Plugin): Promise<AnyTool[]>;
  toolkit(agentName: string, toolNames?: readonly string[]): AgentToolkit;
  /** The tools that exist under this runtime's policy. */
  tools(options?: { mode?: string }): AnyTool[];
  search(query: string, options?: { limit?: number }): AnyTool[];
  toLLMTools(options?: { dialect?: DialectName; mode?: string }): FunctionDeclaration[];
  execute(name: string, input?: unknown, options?: CallOptions): Promise<ToolResult>;
  executeMany(calls: readonly BatchCall[], options?: CallOptions): Promise<ToolResult[]>;
  /** Answers an open approval with yes, and runs the call that was waiting for it. */
  approve(approvalId: string, by?: string): Promise<ToolResult>;
  decline(approvalId: string, reason?: string, by?: string): Promise<ToolResult>;
  on<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  on(type: "*", listener: Listener<ToolEvent>): () => void;
  getStats(): ToolStats;
  load(): { running: number; waiting: number };
  /** Takes no more calls, ends the running ones, and then what the workspace runs. */
  shutdown(): Promise<void>;
}

/** Configuration in, a running Haft out: the one place where the parts meet. */
export function createHaft(options: HaftOptions = {}): Haft {
  const clock = options.clock ?? systemClock;
  const events = options.registry?.events ?? new EventEmitter(options.onListenerError);
  const registry = options.registry ?? new ToolRegistry({ events });
  const layers = options.policy === undefined ? [] : [options.policy].flat();
  const warn = options.onWarning ?? ((warning: string) => process.emitWarning(warning, { code: "HAFT_POLICY" }));
  for (const warning of layers.flatMap(lintToolPolicy)) warn(warning);
  const approvals = new Approvals(clock);
  const log = options.log ?? new MemoryCallLog();
  const journal = options.journal ?? new MemoryJournal();
  const { workspace } = options;
  if (workspace !== undefined && typeof workspace !== "object") {
    throw new TypeError('workspace takes what openWorkspace(path) of "haft/workspace" gives, not a path.');
  }
  const spill = options.spill ?? workspace?.spill ?? new MemorySpill();
  const statistics = new Statistics();
  const deadlines = new Deadlines(clock);
  const limits = { ...DEFAULT_CONCURRENCY, ...options.concurrency };
  const { known, claim } = knownAndClaim(journal, new ResultCache(clock));
  const admission = admit({ limits, clock, deadlines });

  const isShown = (tool: AnyTool): boolean => isVisible(tool, layers);
  const stages: Stage[] = [
    record({ log, clock, events, statistics }),
    telemetry(clock),
    resolve(registry, isShown),
    visible(layers),
    validate(),
    known,
    permit({
      approvals,
      clock,
      events,
      contextFor: (call) => executor.contextFor(call),
      ...(options.approver ? { approver: options.approver } : {}),
    }),
    claim,
    admission,
    begin(log),
    bound(spill, options.maxOutputBytes),
  ];
  const executor: ToolExecutor = new ToolExecutor(registry, withMiddleware(stages, options.middleware ?? []), {
    workspace: workspace?.folder ?? options.folder ?? process.cwd(),
    clock,
    events,
    statistics,
    deadlines,
    ...(options.timeouts ? { timeouts: options.timeouts } : {}),
  });
  for (const tool of [...(workspace?.tools ?? []), ...(options.tools ?? [])]) registry.register(tool);

  const resume = async (approvalId: string, answer: { approved: boolean; by?: string; reason?: string }) => {
    const waiting = approvals.resumeOf(approvalId);
    approvals.answer(approvalId, answer);
    if (!waiting) throw new RangeError(`Approval "${approvalId}" was used already.`);
    const { name, input, options: again, scope, tool, isDirect } = waiting;
    if (isDirect) return executor.executeTool(tool, input, again);
    const isThere = scope ? scope.get(name) === tool : registry.versions(tool.name).includes(tool);
    if (!isThere) return executor.refuse(name, input, again, replaced(name));
    return scope ? executor.executeIn(scope, name, input, again) : executor.execute(name, input, again);
  };

  return {
    registry,
    executor,
    approvals,
    log,
    spill,
    register: (tool) => registry.register(tool),
    use: (plugin) => installPlugin(plugin, registry),
    toolkit: (agentName, toolNames) => registry.createAgentToolkit(agentName, toolNames),
    tools: ({ mode } = {}) => registry.list().filter((tool) => isShown(tool) && (mode !== "plan" || tool.isReadOnly)),
    search: (query, { limit } = {}) =>
      registry.search(query, { filter: isShown, ...(limit === undefined ? {} : { limit }) }),
    toLLMTools: (shown) =>
      layers.length === 0 ? registry.toLLMTools(shown) : registry.toLLMTools({ ...shown, filter: isShown }),
    execute: (name, input, callOptions) => executor.execute(name, input, callOptions),
    executeMany: (calls, callOptions) => executor.executeMany(calls, callOptions),
    approve: (id, by) => resume(id, { approved: true, ...(by === undefined ? {} : { by }) }),
    decline: (id, reason, by) =>
      resume(id, {
        approved: false,
        ...(reason === undefined ? {} : { reason }),
        ...(by === undefined ? {} : { by }),
      }),
    on: (type: ToolEventType | "*", listener: Listener<never>) => events.on(type, listener),
    getStats: () => registry.getStats(),
    load: () => admission.load(),
    async shutdown() {
      executor.shutdown();
      await workspace?.close();
    },
  };
}

/** The approval was for the tool that was shown, not for whoever has its name now. */
function replaced(name: string): ToolError {
  return toolError("conflict", `"${name}" is no longer the tool that was approved`, { next: "Make the call again." });
}

/** A host's stages stand after the built-in one that they name; several at one place in the order given. */
function withMiddleware(stages: readonly Stage[], middleware: readonly Middleware[]): Stage[] {
  for (const { name, after } of middleware) {
    if (!stages.some((stage) => stage.name === after)) {
      throw new TypeError(
        `Middleware "${name}" wants to stand after "${after}", but the places are: ${stages.map((stage) => stage.name).join(", ")}.`,
      );
    }
  }
  return stages.flatMap((stage) => [stage, ...middleware.filter(({ after }) => after === stage.name)]);
}

let defaultHaft: Haft | undefined;

/** The runtime of tools that were registered in none: made when first needed. */
export function getDefaultHaft(): Haft {
  return (defaultHaft ??= createHaft());
}

/** Makes `haft` the runtime of tools that were registered in none. */
export function setDefaultHaft(haft: Haft): void {
  defaultHaft = haft;
}

provideDefaultGate(() => getDefaultHaft().executor);

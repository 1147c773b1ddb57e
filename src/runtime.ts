import { type BatchCall, type Call, type CallOptions, type Caller, toolOf } from "./core/call.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { CloseStack, MAX_CLOSE_STEP_MS } from "./core/close-stack.ts";
import { declarationOf, type FunctionDeclaration } from "./core/definition.ts";
import { EventEmitter, type EventOf, type Listener, type ToolEvent, type ToolEventType } from "./core/events.ts";
import { installPlugin, type Plugin } from "./core/plugin.ts";
import { type Registrable, ToolRegistry, type ToolStats } from "./core/registry.ts";
import type { ToolResult } from "./core/result.ts";
import { type Middleware, placeMiddleware, type Stage } from "./core/stage.ts";
import { type AnyTool, type DialectName, provideDefaultGate } from "./core/tool.ts";
import type { TokenCounter } from "./core/token-counter.ts";
import type { AgentToolkit } from "./core/toolkit.ts";
import { admit } from "./gate/admit.ts";
import { record, writeAhead } from "./gate/record.ts";
import { type ConcurrencyLimits, DEFAULT_CONCURRENCY } from "./gate/concurrency.ts";
import { bound, MemorySpill, type Spill } from "./gate/bound.ts";
import { type CallJournal, MemoryJournal } from "./calls/call-journal.ts";
import { type CallLog, MemoryCallLog } from "./gate/audit-log.ts";
import { Deadlines, type Timeouts } from "./gate/timeouts.ts";
import { ToolExecutor } from "./gate/executor.ts";
import { journalKey, idempotencyStages } from "./gate/idempotency.ts";
import { preferResponse, type ResponseLength } from "./gate/response-length.ts";
import { resolve } from "./gate/resolve.ts";
import { ResultCache } from "./gate/result-cache.ts";
import { Statistics } from "./gate/statistics.ts";
import { telemetry } from "./gate/telemetry.ts";
import { validate } from "./gate/validate.ts";
import { openTokenizer } from "./models/tokenizer.ts";
import { background } from "./jobs/background.ts";
import type { JobQueue } from "./calls/job-queue.ts";
import { createJobs, type Jobs, type WorkerOptions } from "./jobs/jobs.ts";
import { MemoryJobs } from "./jobs/memory-job-queue.ts";
import type { ApprovalAnswer } from "./calls/approval.ts";
import { Approvals, type ApprovalsOptions } from "./calls/approvals.ts";
import type { Approver } from "./gate/permit/approver.ts";
import { hashOf } from "./calls/approval-binding.ts";
import { permit } from "./gate/permit/permit.ts";
import { createResume } from "./gate/permit/resume-call.ts";
import type { HttpPost } from "./gate/permit/hooks/run-hook.ts";
import type { HookSource } from "./gate/permit/hooks/hook-settings.ts";
import { createHooks } from "./gate/permit/hooks/hooks.ts";
import { createJudge } from "./gate/permit/verdict.ts";
import { lintToolPolicy } from "./gate/permit/lint-tool-policy.ts";
import { createPolicyView, type PolicyView } from "./gate/permit/policy-view.ts";
import type { PolicyLayer } from "./gate/permit/policy-layers.ts";
import { readRules, type RuleSet } from "./gate/permit/rules/rule-set.ts";
import type { RuleSource } from "./gate/permit/rules/rule.ts";
import { suggestRules } from "./gate/permit/rules/suggest-rules.ts";
import { isForCaller, isVisible, searchableTools, visible } from "./gate/permit/visible-tools.ts";
import { SessionGrants } from "./gate/permit/session-grants.ts";
import { createTaint, type Taint, type TaintOptions } from "./gate/permit/taint.ts";
import { isToolAllowed, type ToolPolicy } from "./gate/permit/tool-policy.ts";
import { createCodeRunner, type CodeRunnerOptions } from "./code/code-runner.ts";
import { createRunCodeTool } from "./code/run-code.ts";
import { compactDeclaration } from "./tools/discovery/definition-cost.ts";
import { createDiscovery, type Shown, type ShownSet, type ToolSearchOptions } from "./tools/discovery/tool-search.ts";
import type { Workspace } from "./workspace.ts";

export interface HaftOptions {
  /** From `openWorkspace` of "haft/workspace": its tools are registered, and its processes end with the runtime. */
  workspace?: Workspace;
  /** What `context.workspace` tells your own tools, where no workspace is opened; the working directory if absent. */
  folder?: string;
  registry?: ToolRegistry;
  tools?: Iterable<Registrable>;
  /** Layers that each narrow: a tool exists where all of them let it through. A function where they differ by caller. */
  policy?: ToolPolicy | readonly ToolPolicy[] | ((caller: Partial<Caller>) => readonly PolicyLayer[]);
  /** What happens to one call: `{ allow, ask, deny }`, sources with the files they stand in, or a book that is shared. */
  rules?: Omit<RuleSource, "origin"> | readonly RuleSource[] | RuleSet;
  /** Programs and services that see calls and may refuse, question and rewrite them. */
  hooks?: readonly HookSource[];
  /** How hooks of type http are asked. */
  post?: HttpPost;
  /** Where it is remembered what sessions have seen, and labels besides those that tools have. */
  taint?: Omit<TaintOptions, "now">;
  /** Why calls of a tool must ask, whatever rules say: its definition changed since a person saw it. */
  requiresApproval?: (tool: AnyTool) => string | undefined;
  /** Keeps a rule that a person granted for always, beyond this runtime. */
  saveRule?: (rule: string) => Promise<void> | void;
  /** Asks a person and waits. Without one a call that must ask is answered `pending`. */
  approver?: Approver;
  /** How long a call that asks waits for an answer, whatever door it comes through; then it is no. */
  approvalWaitMs?: number;
  /** Where questions are kept, for how long, and how many. */
  approvals?: Omit<ApprovalsOptions, "clock">;
  /** Registers `run_code`: programs that call tools, where they wait for people, and what they may use. */
  code?: Pick<CodeRunnerOptions, "store" | "limits">;
  /** Registers `tool_search`: where tools are too many for a model's context, it is shown some and finds the others. */
  toolSearch?: ToolSearchOptions;
  /** In what tokens are counted; o200k_base where "gpt-tokenizer" is installed, else an estimate. */
  tokens?: TokenCounter;
  concurrency?: Partial<ConcurrencyLimits>;
  timeouts?: Partial<Timeouts>;
  maxResultBytes?: number;
  /** Of one result, as a model reads it; besides the bytes. */
  maxResultTokens?: number;
  /** How much tools tell that have a parameter for it, where a call does not say. */
  response?: ResponseLength;
  middleware?: readonly Middleware[];
  clock?: Clock;
  log?: CallLog;
  journal?: CallJournal;
  spill?: Spill;
  /** Where background calls wait for a worker; in memory where absent. `false`: whoever calls waits for them. */
  jobs?: JobQueue | false;
  /** The worker of this process, which begins with the first background call; `false`: workers run elsewhere. */
  worker?: WorkerOptions | false;
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
  /** What may run and why: rules in force, explanations, findings. */
  readonly policy: PolicyView;
  readonly taint: Taint;
  readonly log: CallLog;
  /** What calls that were made before were answered. */
  readonly journal: CallJournal;
  readonly spill: Spill;
  /** What runs later, and the way of its results back. */
  readonly jobs: Jobs;
  register(tool: Registrable): AnyTool;
  /** Installs a plugin that the host names. */
  use(plugin: Plugin): Promise<AnyTool[]>;
  toolkit(agentName: string, toolNames?: readonly string[]): AgentToolkit;
  /** The tools that exist under this runtime's policy; where that differs by caller, for this one. */
  tools(options?: { mode?: string | undefined; caller?: Partial<Caller> | undefined }): AnyTool[];
  search(query: string, options?: { limit?: number; caller?: Partial<Caller> }): AnyTool[];
  /** What a model is told of. `compact`: of each tool one line, and the bare shape of its input. */
  toLLMTools(options?: Shown & { dialect?: DialectName; definitions?: "full" | "compact" }): FunctionDeclaration[];
  /** The tools that a model is shown now, and those that it would have to find with `tool_search`. */
  shownTools(options?: Shown): ShownSet;
  readonly tokens: TokenCounter;
  execute(name: string, input?: unknown, options?: CallOptions): Promise<ToolResult>;
  executeMany(calls: readonly BatchCall[], options?: CallOptions): Promise<ToolResult[]>;
  /** Answers an open approval with yes, and runs the call that was waiting for it. */
  approve(approvalId: string, answer?: string | Omit<ApprovalAnswer, "approved">): Promise<ToolResult>;
  deny(
    approvalId: string,
    reason?: string,
    answer?: string | Pick<ApprovalAnswer, "by" | "via" | "rights">,
  ): Promise<ToolResult>;
  on<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  on(type: "*", listener: Listener<ToolEvent>): () => void;
  getStats(): ToolStats;
  load(): { running: number; waiting: number };
  /** Goes on with programs that waited for an answer which came while nobody was running. */
  recoverPrograms(): Promise<void>;
  /**
   * Takes no more calls, ends the running ones, and then what the workspace runs. Jobs that run get this much time before
   * that (none where absent); what they cannot end in it is handed back to the queue, where making it again does no harm.
   */
  shutdown(options?: { graceMs?: number }): Promise<void>;
}

/** Configuration in, a running Haft out: the one place where the parts meet. */
export function createHaft(options: HaftOptions = {}): Haft {
  const clock = options.clock ?? systemClock;
  const events = options.registry?.events ?? new EventEmitter(options.onListenerError);
  const registry = options.registry ?? new ToolRegistry({ events });
  const { policy = [] } = options;
  const layersFor = typeof policy === "function" ? policy : () => [policy].flat();
  const layers = layersFor({});
  const warn = options.onWarning ?? ((warning: string) => process.emitWarning(warning, { code: "HAFT_POLICY" }));
  for (const layer of layers)
    for (const warning of lintToolPolicy("policy" in layer ? layer.policy : layer)) warn(warning);
  const approvals = new Approvals({ ...options.approvals, clock });
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
  const { known, claim } = idempotencyStages(journal, new ResultCache(clock));
  const admission = admit({ limits, clock, deadlines });

  const shownTo = (caller: Partial<Caller> | undefined): ((tool: AnyTool) => boolean) => {
    const own = caller === undefined ? layers : layersFor(caller);
    return (tool) => isVisible(tool, own) && (caller === undefined || isForCaller(tool, caller));
  };
  const isShown = shownTo(undefined);
  const tokens = options.tokens ?? openTokenizer();
  const folder = workspace?.folder ?? options.folder ?? process.cwd();
  const rules = readRules(options.rules);
  const grants = new SessionGrants(rules);
  const taint = createTaint({ ...options.taint, now: () => clock.now() });
  const validation = validate();
  const hooks = options.hooks?.length
    ? createHooks(options.hooks, {
        workspace: folder,
        environment: process.env,
        post: options.post,
        revalidate: (call) => validation.enter?.(call),
      })
    : undefined;
  for (const warning of [...(hooks?.warnings ?? []), ...rules.problems]) warn(warning);
  const permission = permit({
    approvals,
    clock,
    events,
    judge: createJudge({ grants, taint, hooks, cwd: folder, requiresApproval: options.requiresApproval }),
    suggestRule: (call) => suggestRules({ tool: toolOf(call), input: call.input, cwd: folder }),
    async remember(scope, rule, call) {
      if (scope === "session") return grants.add(rule, call.caller);
      await options.saveRule?.(rule);
      rules.add(rule, "allow", "local", folder);
    },
    contextFor: (call) => executor.contextFor(call),
    environmentOf: ({ caller }) => hashOf(workspace?.environments.environmentOf(caller.session) ?? null),
    approver: options.approver,
    waitMs: options.approvalWaitMs,
  });
  const programs = options.code
    ? createCodeRunner({
        ...options.code,
        clock,
        continueCall: (call, id) => executor.continueCall(call, { kind: "code", id }),
        isOpen: async (id) => (await approvals.get(id))?.state === "pending",
        isDone: async ({ options: { caller = {}, idempotencyKey, id = "" } }) =>
          (await journal.find(journalKey(caller, idempotencyKey || id)))?.state === "done",
      })
    : undefined;
  const { jobs, backgroundStage } = openJobs(options, { clock, events, registry, gate: () => executor });
  const stages: Stage[] = [
    ...(programs ? [programs.stage] : []),
    record({ log, clock, events, statistics }),
    telemetry(clock),
    resolve(registry, isShown),
    visible(typeof policy === "function" ? ({ caller }) => layersFor(caller) : layers),
    ...(options.response ? [preferResponse(options.response)] : []),
    validation,
    taint.stage,
    known,
    ...(hooks?.before ? [hooks.before] : []),
    permission,
    backgroundStage,
    claim,
    admission,
    writeAhead(log),
    bound(spill, { maxBytes: options.maxResultBytes, maxResultTokens: options.maxResultTokens, tokens }),
    ...(hooks?.after ? [hooks.after] : []),
  ];
  const executor: ToolExecutor = new ToolExecutor(registry, placeMiddleware(stages, options.middleware ?? []), {
    workspace: folder,
    clock,
    events,
    statistics,
    deadlines,
    timeouts: options.timeouts,
  });
  for (const tool of [...(workspace?.tools ?? []), ...(options.tools ?? [])]) registry.register(tool);
  if (programs) {
    registry.register(
      createRunCodeTool({
        runner: programs,
        search: (query, caller) => registry.search(query, { filter: shownTo(caller) }),
        visible: (caller) => registry.list().filter(shownTo(caller)),
      }),
    );
  }

  const discovery =
    options.toolSearch &&
    createDiscovery({
      ...options.toolSearch,
      counter: tokens,
      isListed: (tool, allow) => isToolAllowed(tool, { allow }),
      toolsFor: searchableTools({ registry, grants, shownTo }),
    });
  if (discovery) registry.register(discovery.tool);
  const tools: Haft["tools"] = ({ mode, caller } = {}) => {
    const filter = shownTo(caller);
    return registry.list().filter((tool) => filter(tool) && (mode !== "plan" || tool.isReadOnly));
  };
  const shownTools: Haft["shownTools"] = ({ mode, among, ...shown } = {}) => {
    if (!discovery && shown.budget !== undefined) {
      throw new TypeError("A budget for definitions needs `toolSearch`, with which a model finds what is not shown.");
    }
    const all = among ?? tools({ mode, caller: shown.caller });
    return discovery?.choose(all, shown) ?? { tools: all, deferred: [] };
  };

  const resume = createResume({
    approvals,
    permit: permission,
    registry,
    gate: executor,
    async recorded({ toolName, callId, caller, made }) {
      const entry = await journal.find(journalKey(caller, made.options.idempotencyKey || callId));
      if (entry?.state === "running") return "running";
      return entry?.state === "done" && entry.result.toolName === toolName ? entry.result : undefined;
    },
  });

  /** Where a program waited for the answer, it goes on before whoever answered is told. */
  const answer: typeof resume = async (id, response) => {
    const result = await resume(id, response);
    if (result.status !== "pending") await programs?.answered(id);
    return result;
  };

  let closing: Promise<void> | undefined;
  async function close(graceMs: number): Promise<void> {
    const steps = new CloseStack({ maxStepMs: MAX_CLOSE_STEP_MS });
    steps.push("the workspace", () => workspace?.close());
    steps.push("run_code", () => programs?.close());
    const jobsClosed = jobs.close(graceMs);
    steps.push("jobs", () => jobsClosed);
    if (graceMs > 0 && jobs.running > 0) await Promise.allSettled([jobsClosed]);
    executor.shutdown();
    await steps.close();
  }

  return {
    registry,
    executor,
    approvals,
    policy: createPolicyView({
      registry,
      rules,
      grants,
      layersFor,
      cwd: folder,
      requiresApproval: options.requiresApproval,
    }),
    taint,
    log,
    journal,
    spill,
    jobs,
    register: (tool) => registry.register(tool),
    use: (plugin) => installPlugin(plugin, registry),
    toolkit: (agentName, toolNames) => registry.createAgentToolkit(agentName, toolNames),
    tools,
    shownTools,
    tokens,
    search: (query, { limit, caller } = {}) => registry.search(query, { filter: shownTo(caller), limit }),
    toLLMTools: ({ dialect, definitions, ...shown } = {}) => {
      const declare = definitions === "compact" ? compactDeclaration : declarationOf;
      return shownTools(shown).tools.map((tool) => declare(tool, dialect));
    },
    execute: (name, input, callOptions) => executor.execute(name, input, callOptions),
    executeMany: (calls, callOptions) => executor.executeMany(calls, callOptions),
    approve: (id, response) =>
      answer(id, { ...(typeof response === "string" ? { by: response } : response), approved: true }),
    deny: (id, reason, response) =>
      answer(id, {
        ...(typeof response === "string" ? { by: response } : response),
        approved: false,
        ...(reason === undefined ? {} : { reason }),
      }),
    on: (type: ToolEventType | "*", listener: Listener<never>) => events.on(type, listener),
    getStats: () => registry.getStats(),
    load: () => admission.load(),
    recoverPrograms: async () => programs?.recover(),
    shutdown: ({ graceMs = 0 } = {}) => (closing ??= close(graceMs)),
  };
}

interface JobDependencies {
  clock: Clock;
  events: EventEmitter;
  registry: ToolRegistry;
  gate: () => ToolExecutor;
}

function openJobs(
  { jobs: queue, worker }: HaftOptions,
  { gate, ...parts }: JobDependencies,
): { jobs: Jobs; backgroundStage: Stage } {
  const jobs = createJobs({
    ...parts,
    queue: queue || new MemoryJobs(parts.clock),
    ownsQueue: !queue,
    gate: { executeSecondPass: (...call) => gate().executeSecondPass(...call) },
    ...(worker === undefined ? {} : { worker }),
  });
  if (queue === false) return { jobs, backgroundStage: { name: "background" } };
  const keyOf = ({ caller, idempotencyKey }: Call): string | undefined =>
    idempotencyKey === undefined ? undefined : journalKey(caller, idempotencyKey);
  return { jobs, backgroundStage: background({ ...parts, keyOf, submit: jobs.submit }) };
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

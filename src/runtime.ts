import { adopt } from "./core/adopt/adopt.ts";
import { type Call, type CallOptions, type Caller, type Execute, toolOf } from "./core/call.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { CloseStack, MAX_CLOSE_STEP_MS } from "./core/close-stack.ts";
import { declarationOf } from "./core/definition.ts";
import { EventEmitter, type Listener, type ToolEventType } from "./core/events.ts";
import {
  bindGate,
  type CallQuestions,
  continueCall,
  type Gate,
  provideDefaultGate,
  runtimeGateOf,
} from "./core/gate.ts";
import { installPlugin } from "./core/plugin.ts";
import { ToolRegistry } from "./core/registry.ts";
import type { ToolResult } from "./core/result.ts";
import { placeMiddleware, type Stage } from "./core/stage.ts";
import type { AnyTool } from "./core/tool.ts";
import type { TokenCounter } from "./core/content.ts";
import { AgentToolkit } from "./core/toolkit.ts";
import { admit } from "./gate/admit.ts";
import { passIfUnwritten, record } from "./gate/record.ts";
import { bound, MemorySpill, type Spill } from "./gate/bound.ts";
import { type CallLog, MemoryCallLog } from "./gate/audit-log.ts";
import { Deadlines } from "./gate/timeouts.ts";
import type { Haft, HaftOptions, HaftTools, RuntimeOptions } from "./haft.ts";
import { hooksOf } from "./gate/call-plan.ts";
import { Executor } from "./gate/executor.ts";
import { ensureRow, idempotencyStages, programSaved, startedRowOf } from "./gate/idempotency.ts";
import { hostContext } from "./gate/host-context.ts";
import { preferResponse } from "./gate/response-length.ts";
import { resolve } from "./gate/resolve.ts";
import { ResultCache } from "./gate/result-cache.ts";
import { Statistics } from "./gate/statistics.ts";
import { telemetry } from "./gate/telemetry.ts";
import { validate } from "./gate/validate.ts";
import { openTokenizer } from "./models/tokenizer.ts";
import { background } from "./jobs/background.ts";
import type { JobQueue } from "./calls/job-queue.ts";
import { createJobs, type Jobs } from "./jobs/jobs.ts";
import { RowJobs } from "./calls/row-jobs.ts";
import type { ApprovalAnswer } from "./calls/approval.ts";
import { storedResult } from "./calls/stored-result.ts";
import { Approvals } from "./calls/approvals.ts";
import { callKey, Calls } from "./calls/calls.ts";
import { holdPermitted, Permit } from "./gate/permit/permit.ts";
import { StoredCallRunner } from "./gate/permit/run-stored.ts";
import type { Shadow, ShadowPolicy } from "./gate/permit/history/shadow.ts";
import type { HttpPost } from "./gate/permit/hooks/run-hook.ts";
import type { DecidableCall } from "./gate/permit/host-decision.ts";
import { createHooks } from "./gate/permit/hooks/hooks.ts";
import { createJudge, wouldAllow } from "./gate/permit/verdict.ts";
import { lintToolPolicy } from "./gate/permit/lint-tool-policy.ts";
import { misspeltNames } from "./gate/permit/rules/lint-rules.ts";
import { createPolicyView } from "./gate/permit/policy-view.ts";
import { readRules, type RuleSet } from "./gate/permit/rules/rule-set.ts";
import { refuseMisreadRules } from "./gate/permit/rules/rule.ts";
import { type AnyLayer, isForCaller, isVisible, searchableTools, visible } from "./gate/permit/visible-tools.ts";
import type { SavedFor } from "./gate/permit/describe-grant.ts";
import { Grants } from "./gate/permit/grants.ts";
import { Limits } from "./gate/permit/limits.ts";
import { createProvenance, type Provenance } from "./gate/permit/provenance/provenance.ts";
import { isToolAllowed } from "./gate/permit/tool-policy.ts";
import { type CodeRunner, createCodeRunner } from "./code/code-runner.ts";
import { createRunCodeTool } from "./code/run-code.ts";
import { createReadResultTool } from "./tools/results/read-result.ts";
import { compactDeclaration } from "./tools/discovery/definition-cost.ts";
import type { ShownSet } from "./tools/discovery/shown-tools.ts";
import { createDiscovery, type Shown, type ToolSearchOptions } from "./tools/discovery/tool-search.ts";
import {
  checkOptionNames,
  checkOptions,
  type LiveOptions,
  type LiveSettings,
  liveSettings,
  replaceSettings,
} from "./runtime-settings.ts";
import { jsonSchemaEngine } from "./schema/json-schema-validator.ts";
import { provideEngine, shareEngine } from "./schema/read-schema.ts";

export type { Haft, HaftCalls, HaftOptions, HaftSettings, HaftTools, RuntimeOptions } from "./haft.ts";

// For tools that are registered in no runtime. A bundle that only defines tools contains neither.
provideDefaultGate(openDefaultGate);
provideEngine(jsonSchemaEngine);

/**
 * Makes a runtime: configuration in, a running Haft out.
 *
 * @example
 * const haft = createHaft({ tools: [add], policy: { deny: ["exec"] } });
 * const result = await haft.execute(add, { a: 1, b: 2 });
 * await haft.shutdown();
 */
export function createHaft(options: HaftOptions = {}): Haft {
  checkOptionNames(options);
  const haft = createRuntime(options);
  for (const warning of misspeltNames(haft)) (options.onWarning ?? warnProcess)(warning);
  return haft;
}

function warnProcess(warning: string): void {
  process.emitWarning(warning, { code: "HAFT_POLICY" });
}

/** As `createHaft`, with the options of hosts. */
export function createRuntime(options: RuntimeOptions): Haft {
  checkOptions(options);
  const runtime = new Runtime(options);
  const haft = publicOf(runtime);
  runtimes.set(haft, runtime);
  bindGate(haft, runtime.gate);
  return haft;
}

const runtimes = new WeakMap<Haft, Runtime>();

/**
 * Checks changed options of a runtime; throws if they cannot be used. What it returns puts all of them into effect, from the
 * next call on. Hooks and tool search only change if the runtime was created with them.
 */
export function reconfigure(haft: Haft, settings: LiveOptions): () => void {
  checkOptions(settings);
  const runtime = runtimes.get(haft);
  if (!runtime) throw new TypeError("This is not a runtime of createHaft.");
  return runtime.prepare(settings);
}

/** Judges each call by this policy too, from the next call on, without effect. Undefined ends that. */
export async function runShadow(haft: Haft, shadow: Shadow | undefined): Promise<void> {
  await runtimes.get(haft)?.runShadow(shadow);
}

/** The parts of a runtime, each built once. Private to this file. */
class Runtime {
  readonly options: RuntimeOptions;
  readonly clock: Clock;
  readonly events: EventEmitter;
  readonly registry: ToolRegistry;
  readonly folder: string;
  readonly tokens: TokenCounter;
  readonly log: CallLog;
  readonly queue: JobQueue;
  readonly calls: Calls;
  readonly spill: Spill;
  readonly approvals: Approvals;
  readonly rules: RuleSet;
  readonly grants: Grants;
  readonly limits: Limits;
  readonly provenance: Provenance;
  readonly admission: ReturnType<typeof admit>;
  readonly permission: Permit;
  readonly programs: CodeRunner | undefined;
  readonly jobs: Jobs;
  readonly discovery: ReturnType<typeof createDiscovery> | undefined;
  readonly gate: Executor;
  readonly stored: StoredCallRunner;
  readonly #live: LiveSettings;
  #hooks: ReturnType<typeof createHooks> | undefined;
  readonly #warn: (warning: string) => void;
  readonly #unfollow: () => void;
  #closing: Promise<void> | undefined;
  #shadow: ShadowPolicy | undefined;
  #judging: ConstructorParameters<typeof ShadowPolicy>[1] | undefined;

  constructor(options: RuntimeOptions) {
    const { workspace } = options;
    if (workspace !== undefined && typeof workspace !== "object") {
      throw new TypeError('workspace takes what openWorkspace(path) of "haft/workspace" gives, not a path.');
    }
    shareEngine(jsonSchemaEngine);
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.events = options.registry?.events ?? new EventEmitter(options.onListenerError);
    this.registry = options.registry ?? new ToolRegistry({ events: this.events });
    this.folder = workspace?.folder ?? options.folder ?? process.cwd();
    this.tokens = options.tokens ?? openTokenizer();
    this.log = options.log ?? new MemoryCallLog();
    this.spill = options.spill ?? workspace?.spill ?? new MemorySpill();
    this.queue = this.#openQueue();
    this.#live = liveSettings(options);
    const limitsOf = (call: Call) => this.limits.chargesOf(call);
    this.calls = new Calls(
      Object.assign(this.#live.approvals, { clock: this.clock, store: this.queue.calls, limitsOf }),
    );
    this.approvals = new Approvals(this.calls, {
      answer: (id, answer) => this.answer(id, answer),
      follow: (id, follow) => this.stored.follow(id, follow),
    });
    this.#warn = options.onWarning ?? warnProcess;

    this.rules = readRules(options.rules, options.defaultPermission);
    // Commands and searches name no file that they read, so the workspace itself denies what rules deny.
    this.#unfollow = this.rules.follow(() => workspace?.denyReads(this.rules.deniedReadGlobs(this.folder)));
    this.grants = this.#openGrants();
    const { rules, calls, clock } = this;
    const { timeouts } = this.#live;
    this.limits = new Limits({ rules, calls, clock, timeouts });
    workspace?.sandbox?.denyPrograms(() => this.rules.deniedPrograms());
    this.provenance = createProvenance(options.provenance ?? {}, {
      now: () => this.clock.now(),
      readResult: async (callId, caller) =>
        (await this.findCall(callId, caller)) ?? this.log.resultOf?.(callId, caller.user),
    });

    const statistics = new Statistics();
    const deadlines = new Deadlines(this.clock);
    const validation = validate();
    const hooks = this.#openHooks(validation);
    const { contextFor, decide } = options;
    const context = hostContext({ contextFor, forAll: decide !== undefined, clock: this.clock });
    // A cached result is older than the host's judgement.
    const cache = new ResultCache(this.clock, decide ? 0 : undefined);
    const { log, registry } = this;
    const { hasOtherData } = context;
    const idempotency = idempotencyStages({
      calls,
      cache,
      log,
      registry,
      hasOtherData,
      permitAgain: (call, refusedBy) => {
        if (refusedBy !== undefined) this.grants.exclude(call, refusedBy);
        return this.permission.enter(call);
      },
      replayed: this.provenance.taint.replayed,
      started: (call, begin) => this.limits.start(call, begin, this.admission),
    });
    this.admission = admit({ limits: this.#live.concurrency, clock: this.clock, deadlines });
    this.permission = this.#openPermission(hooks);
    this.programs = options.code && this.#openPrograms(options.code);
    const { jobs, backgroundStage } = this.#openJobs();
    this.jobs = jobs;

    this.discovery = this.#live.toolSearch && this.#openDiscovery(this.#live.toolSearch);

    // A plain call that rules allow takes from no grant.
    const isUncharged = (tool: AnyTool): boolean => this.permission.compile(tool) !== undefined;

    // The stages of a call, in order; results leave in reverse order. A host's middleware is inserted between them.
    const stages: (Stage | undefined)[] = [
      this.programs?.stage,
      record({
        log: this.log,
        clock: this.clock,
        events: this.events,
        statistics,
        isContinued: (call) => this.calls.storedIdOf(call) !== undefined,
      }),
      idleIf(idempotency.first, () => true),
      telemetry(this.clock),
      resolve(this.registry, this.shownTo(undefined)),
      visible(({ caller }) => this.layersFor(caller)),
      preferResponse(() => this.#live.response),
      validation,
      context,
      this.provenance.stage,
      this.discovery?.stage,
      idleIf(idempotency.known, (tool) => tool.isReadOnly && !tool.cache),
      hooks?.before,
      this.permission,
      holdPermitted(this.permission),
      backgroundStage,
      idleIf(passIfUnwritten(idempotency.claim), isUncharged),
      this.admission,
      // The log in memory writes nothing before the end.
      idleIf(idempotency.begin, (tool) => this.log instanceof MemoryCallLog && isUncharged(tool)),
      bound(
        this.spill,
        Object.assign(this.#live.results, {
          tokens: this.tokens,
          readerFor: (call: Call) => this.#resultReader(call),
          queryFor: (call: Call) => this.#findFor(call, "json_parse"),
        }),
      ),
      hooks?.after,
    ];
    const present = stages.filter((stage) => stage !== undefined);
    this.gate = new Executor(this.registry, placeMiddleware(present, options.middleware ?? []), {
      workspace: this.folder,
      clock: this.clock,
      events: this.events,
      statistics,
      deadlines,
      timeouts: this.#live.timeouts,
      questions: this.#openQuestions(),
      maxResultTokens: options.maxResultTokens,
      allows: ({ options: { mode } }, tool, input) =>
        this.rules.judge({ tool, input, mode, cwd: this.folder }).decision === "allow",
    });
    this.stored = this.#openStoredCalls();

    this.#registerTools();
    refuseMisreadRules(this.rules.rules(), this.registry.list());
    this.#reportProblems(hooks?.warnings ?? []);
  }

  /** See `runShadow` of this file. */
  async runShadow(shadow: Shadow | undefined): Promise<void> {
    const judging = this.#judging;
    if (!judging || shadow?.id === this.#shadow?.shadow.id) return;
    const loaded = shadow && (await import("./gate/permit/history/shadow.ts"));
    this.#shadow = loaded && new loaded.ShadowPolicy(shadow, judging);
    // Plans of calls depend on it.
    this.rules.changes.count++;
  }

  /** Which tools exist for a caller. */
  readonly layersFor = (caller: Partial<Caller>): readonly AnyLayer[] => this.#live.layersFor(caller);

  /** See `reconfigure`. */
  prepare(settings: LiveOptions): () => void {
    const next = liveSettings(settings);
    const hooks = this.#hooks?.prepare(settings.hooks ?? []);
    refuseMisreadRules(this.rules.rules(), this.registry.list());
    return () => {
      replaceSettings(this.#live, next);
      Object.assign(this.gate.timeouts, next.timeouts);
      this.gate.maxResultTokens = next.results.maxResultTokens;
      this.provenance.configure(settings.provenance ?? {});
      hooks?.apply();
      // Plans of calls depend on all of this.
      this.rules.changes.count++;
      this.#reportProblems(hooks?.warnings ?? []);
    };
  }

  /** Whether a tool exists for this caller; without one, under the runtime's policy alone. */
  shownTo(caller: Partial<Caller> | undefined): (tool: AnyTool) => boolean {
    const layers = this.layersFor(caller ?? {});
    return (tool) => isVisible(tool, layers) && (caller === undefined || isForCaller(tool, caller));
  }

  tools({ mode, caller }: { mode?: string; caller?: Partial<Caller> } = {}): AnyTool[] {
    const isShown = this.shownTo(caller);
    return this.registry.list().filter((tool) => isShown(tool) && (mode !== "plan" || tool.isReadOnly));
  }

  shownTools({ among, ...shown }: Shown = {}): ShownSet {
    if (!this.discovery && shown.budget !== undefined) {
      throw new TypeError("A budget for definitions needs `toolSearch`, with which a model finds the other tools.");
    }
    const all = among ?? this.tools({ mode: shown.mode, caller: shown.caller });
    return this.discovery?.choose(all, shown) ?? { tools: all, deferred: [] };
  }

  shutdown(graceMs: number): Promise<void> {
    return (this.#closing ??= this.#close(graceMs));
  }

  async #close(graceMs: number): Promise<void> {
    const { jobs, programs, options } = this;
    const steps = new CloseStack({ maxStepMs: MAX_CLOSE_STEP_MS });
    steps.push("the workspace", () => options.workspace?.close());
    steps.push("rules", () => this.#unfollow());
    steps.push("stored calls", () => this.calls.close());
    steps.push("run_code", () => programs?.close());
    steps.push("tool search", () => this.discovery?.uses.flush());
    const jobsClosed = jobs.close(graceMs);
    steps.push("jobs", () => jobsClosed);
    await this.gate.shutdown(graceMs);
    await steps.close();
  }

  #openHooks(validation: Stage): ReturnType<typeof createHooks> | undefined {
    const { hooks, post = postLater } = this.options;
    if (!hooks) return undefined;
    return (this.#hooks = createHooks(hooks, {
      workspace: this.folder,
      environment: process.env,
      programs: async () =>
        this.options.workspace?.programs ??
        (await import("./io/sandbox/program-sandbox.ts")).programSandboxOf(this.folder),
      post,
      revalidate: (call) => validation.enter?.(call),
    }));
  }

  /** Without a file, a rule for always ends with this process. */
  get savedFor(): SavedFor {
    const { saveRule, savedRulesBind = "workspace" } = this.options;
    return saveRule ? savedRulesBind : "process";
  }

  #openGrants(): Grants {
    const { rules, calls, clock, events, registry } = this;
    const tools = () => registry.names().flatMap((name) => registry.versions(name));
    return new Grants({ rules, calls, clock, events, tools, rows: calls.grants, caps: () => this.#live.grants });
  }

  #openPermission(hooks: ReturnType<typeof createHooks> | undefined): Permit {
    const { grants, limits, provenance, folder: cwd, rules, clock, events, calls } = this;
    const { requiresApproval, decide, saveRule, workspace, approver } = this.options;
    const live = this.#live;
    const heard =
      decide &&
      ((call: DecidableCall) => {
        const decided = decide(call);
        this.#shadow?.hear(call.input, decided);
        return decided;
      });
    const judging = { rules, grants, limits, provenance, hooks, cwd, clock, requiresApproval, decide: heard };
    this.#judging = judging;
    const shadow = () => this.#shadow;
    return new Permit({
      get shadow() {
        return shadow();
      },
      calls,
      maxShownBytes: this.options.approvals?.maxShownBytes,
      clock,
      events,
      ...createJudge(judging),
      hasReadUntrusted: provenance.hasReadUntrusted,
      // A call that nobody is asked about does not load it.
      suggestRules: async (call) =>
        (await import("./gate/permit/rules/suggest-rules.ts")).suggestSufficientRules(
          { tool: toolOf(call), input: call.input, cwd },
          (rules) => wouldAllow(rules, call, judging),
        ),
      async remember({ scope, rules: given = [], by, via }, call) {
        if (scope === "session") {
          await grants.add(given, call.caller, { by, via, shown: toolOf(call) });
          return;
        }
        for (const rule of given) {
          const file = await saveRule?.(rule, "allow");
          rules.add(rule, "allow", file ?? "local", cwd);
        }
      },
      savedFor: this.savedFor,
      limits,
      modeOf: ({ options }) => rules.modeOf(options.mode),
      contextFor: (call) => this.gate.contextFor(call),
      overlayOf: ({ caller }) => workspace && Object.fromEntries(workspace.environments.of(caller.session).entries()),
      // If it cannot be removed now, it is removed when it is old.
      discardPreview: async ({ id, caller }) => workspace?.discardPreview(id, caller).catch(() => undefined),
      pausedRun: ({ id, caller }) => workspace?.pausedRun(id, caller),
      runAnswered: (row) => this.stored.runAnswered(row),
      isShortLived: this.options.isShortLived,
      approver,
      warn: this.#warn,
      get waitMs() {
        return live.approvalWaitMs;
      },
    });
  }

  #openPrograms(code: NonNullable<HaftOptions["code"]>): CodeRunner {
    return createCodeRunner({
      ...code,
      clock: this.clock,
      isOpen: async (id) => (await this.calls.get(id))?.state !== "ended",
      rows: {
        idOf: (call) => startedRowOf(call)?.id,
        ensure: async (call) => (await ensureRow(this.calls, call)).id,
        saved: (call, result) => programSaved(this.calls, call, result),
        stateOf: async (id) => (await this.calls.get(id))?.state,
        continueCall: (call, id) => continueCall(this.gate, this.registry, call, { kind: "code", id }),
        refuse: (id, result) => this.calls.endSuspended(id, result),
      },
    });
  }

  /** The tool that reads long results. Without a workspace it is registered when there is one to read. */
  #resultReader(call: Call): AnyTool | undefined {
    const { spill, registry, options } = this;
    if (options.workspace) return this.#findFor(call, "read");
    if (!(spill instanceof MemorySpill)) return undefined;
    if (!registry.get("read_result")) registry.register(createReadResultTool(spill));
    return this.#findFor(call, "read_result");
  }

  /** A built-in tool, if this call's caller may use it. */
  #findFor({ scope, caller }: Call, name: string): AnyTool | undefined {
    const tool = (scope ?? this.registry).get(name);
    return tool?.origin.type === "builtin" && this.shownTo(caller)(tool) ? tool : undefined;
  }

  /** The queue and the stored calls are one: a job is a stored call. */
  #openQueue(): JobQueue {
    const { jobs, calls } = this.options;
    if (!jobs) return new RowJobs({ clock: this.clock, calls });
    if (calls && jobs.calls !== calls) throw new TypeError("`jobs` and `calls` must be of the same store.");
    return jobs;
  }

  #openJobs(): { jobs: Jobs; backgroundStage: Stage } {
    const { clock, events, registry } = this;
    const { jobs: given, worker } = this.options;
    const { jobs, submit } = createJobs({
      clock,
      events,
      registry,
      queue: this.queue,
      calls: this.calls,
      ownsQueue: !given,
      gate: () => this.gate,
      worker,
    });
    if (given === false) return { jobs, backgroundStage: { name: "background" } };
    const keyOf = ({ caller, idempotencyKey }: Call): string | undefined =>
      idempotencyKey === undefined ? undefined : callKey(caller, idempotencyKey);
    return { jobs, backgroundStage: background({ clock, events, registry, keyOf, submit }) };
  }

  #openDiscovery(toolSearch: ToolSearchOptions): ReturnType<typeof createDiscovery> {
    const { registry, rules, provenance, clock } = this;
    const parts = {
      counter: this.tokens,
      clock,
      warn: this.#warn,
      isListed: (tool: AnyTool, allow: readonly string[]) => isToolAllowed(tool, { allow }),
      find: (name: string) => registry.get(name),
      hasReadUntrusted: (call: Call) => provenance.taint.hasReadUntrusted(call),
      toolsFor: searchableTools({
        registry,
        rules,
        shownTo: (caller) => this.shownTo(caller),
        learnedBy: (caller) => this.discovery?.learnedBy(caller),
      }),
    };
    return createDiscovery(Object.assign(toolSearch, parts));
  }

  #openStoredCalls(): StoredCallRunner {
    const { calls, registry, gate, folder } = this;
    const { workspace, isShortLived, contextFor } = this.options;
    return new StoredCallRunner({
      waitForEnd: isShortLived,
      hasDataFor: ({ contextSchema }) => contextSchema === undefined || contextFor !== undefined,
      calls,
      registry,
      gate,
      folder,
      restoreEnvironment(session, overlay) {
        const own = workspace?.environments.of(session);
        // A session that has set something here knows better.
        if (!own || [...own.entries()].length > 0) return;
        for (const [name, value] of Object.entries(overlay)) own.set(name, value);
      },
    });
  }

  #openQuestions(): CallQuestions {
    return {
      find: async (key, caller) => {
        const row = await this.calls.find(callKey(caller, key));
        return row && this.approvals.get(row.id);
      },
      wait: (id, signal) => this.approvals.wait(id, signal),
      answer: ({ approvalId, ...answer }) => this.answer(approvalId, answer),
    };
  }

  /** A program that waited for the answer continues before the answerer gets the result. */
  async answer(id: string, answer: ApprovalAnswer): Promise<ToolResult> {
    const result = await this.stored.answer(id, answer);
    if (result.status !== "pending") await this.programs?.answered(id);
    return result;
  }

  async findCall(callId: string, caller: Partial<Caller>): Promise<ToolResult | undefined> {
    const row = await this.calls.find(callKey(caller, callId));
    return row && { ...storedResult(row), callId };
  }

  /** Also what was learned while the search was on. */
  async forgetToolUse({ user = "", tool }: { user?: string; tool?: string } = {}): Promise<number> {
    const { toolSearch } = this.options;
    if (this.discovery) return this.discovery.forget(user, tool);
    return (typeof toolSearch === "object" && (await toolSearch.store?.forget(user, tool))) || 0;
  }

  /** Runs approved calls and programs that no process takes care of. */
  async recover(): Promise<void> {
    await this.stored.recover();
    await this.programs?.recover();
  }

  #registerTools(): void {
    const { registry, programs, discovery, options } = this;
    registry.registerMany([...(options.workspace?.tools ?? []), ...(options.tools ?? [])]);
    if (programs) {
      const search = (query: string, caller: Caller) => registry.search(query, { filter: this.shownTo(caller) });
      const visibleTo = (caller: Caller) => registry.list().filter(this.shownTo(caller));
      registry.register(createRunCodeTool({ runner: programs, search, visible: visibleTo }));
    }
    if (discovery) registry.register(discovery.tool);
  }

  #reportProblems(hookWarnings: readonly string[]): void {
    const layers = this.layersFor({}).map((layer) => ("policy" in layer ? layer.policy : layer));
    const problems = [...layers.flatMap((layer) => lintToolPolicy(layer)), ...hookWarnings, ...this.rules.problems];
    for (const problem of problems) this.#warn(problem);
  }
}

/** HTTP is loaded with the first hook that needs it. */
const postLater: HttpPost = async (...request) => (await import("./io/net/post-json.ts")).postJson(...request);

/** For a stage that keeps rows of calls: a plain call has no key, so no row. `isIdle`: it has nothing else to do for the tool. */
function idleIf(stage: Stage, isIdle: (tool: AnyTool) => boolean): Stage {
  stage.compile = (tool) => (isIdle(tool) ? {} : hooksOf(stage));
  return stage;
}

/** The public object of a runtime: bound functions, none of which runs a call without the gate. */
function publicOf(runtime: Runtime): Haft {
  const { registry, approvals, provenance, log, spill, jobs, tokens, clock, folder, events, gate } = runtime;
  const { rules, grants, limits, layersFor } = runtime;
  const policy = createPolicyView({
    registry,
    rules,
    grants,
    limits,
    layersFor,
    provenance,
    cwd: folder,
    requiresApproval: runtime.options.requiresApproval,
    decide: runtime.options.decide,
    savedFor: runtime.savedFor,
    saveRule: runtime.options.saveRule,
    removeRule: runtime.options.removeRule,
  });
  return {
    execute: ((target: AnyTool | string, input?: unknown, options?: CallOptions) =>
      gate.execute(target, input, options)) as Execute,
    executeMany: (calls, options) => gate.executeMany(calls, options),
    register: (tool) => registry.register(adopt(tool)),
    tools: toolsOf(runtime),
    calls: {
      log,
      spill,
      find: (callId, caller = {}) => runtime.findCall(callId, caller),
      load: () => runtime.admission.load(),
      recover: () => runtime.recover(),
    },
    approvals,
    policy: Object.assign(policy, { provenance }),
    jobs,
    settings: { tokens, clock, folder },
    on: (type: ToolEventType | "*", listener: Listener<never>) => events.on(type, listener),
    shutdown: ({ graceMs = 0 } = {}) => runtime.shutdown(graceMs),
  };
}

function toolsOf(runtime: Runtime): HaftTools {
  const { registry, gate } = runtime;
  return {
    registry,
    list: (options) => runtime.tools(options),
    search(query, { limit, caller } = {}) {
      const learned = runtime.discovery?.learnedBy(caller ?? {});
      return registry.search(query, { filter: runtime.shownTo(caller), limit, learned });
    },
    shown: (options) => runtime.shownTools(options),
    definitions({ dialect, style, ...shown } = {}) {
      const declare = style === "compact" ? compactDeclaration : declarationOf;
      return runtime.shownTools(shown).tools.map((tool) => declare(tool, dialect));
    },
    toolkit(agentName, toolNames = []) {
      const toolkit = new AgentToolkit(agentName);
      bindGate(toolkit, gate);
      for (const name of toolNames) toolkit.add(registry.require(name));
      return toolkit;
    },
    install: (plugin) => installPlugin(plugin, registry),
    stats: () => registry.getStats(),
    readUse: async (caller = {}) => runtime.discovery?.prepare(caller),
    forgetUse: (of) => runtime.forgetToolUse(of),
  };
}

let defaultHaft: Haft | undefined;

/** The runtime of tools that are registered in none; created on first use. */
export function getDefaultHaft(): Haft {
  return (defaultHaft ??= createHaft());
}

/** Makes `haft` the runtime of tools that are registered in none. */
export function setDefaultHaft(haft: Haft): void {
  defaultHaft = haft;
}

function openDefaultGate(): Gate {
  return runtimeGateOf(getDefaultHaft());
}

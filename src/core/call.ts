import { keysOf, unknownKey } from "./options.ts";
import type { RiskLevel } from "./call-summary.ts";
import { toolError, type ToolError } from "./error.ts";
import type { Update } from "./events.ts";
import type { UserAnswer } from "./questions/user-question.ts";
import type { ToolResult } from "./result.ts";
import type { AnyTool, Tool } from "./tool.ts";

/** On whose behalf a call is made. */
export interface Caller {
  /** The conversation. */
  session?: string;
  /** The agent. */
  agent?: string;
  /** The person. */
  user?: string;
  /** The task. */
  task?: string;
  /** 0 for an agent that a person talks to, 1 for its subagents, and so on. */
  depth: number;
  /** The calling model, as `provider/model` or only the provider: policy may differ by it. */
  model?: string;
  /** Whether the caller runs inside a sandbox: policy may differ there. */
  sandboxed?: boolean;
  /** The caller that started this one. A subagent has no more rights than its parents, and shares their taint. */
  parent?: Caller;
}

/**
 * How much a person is asked. No mode overrides a deny: `acceptEdits` allows file changes in the workspace,
 * `plan` runs only read-only tools, `dontAsk` denies what would ask, `bypassPermissions` asks only for ask rules
 * and protected paths.
 */
export type CallMode = "default" | "acceptEdits" | "plan" | "dontAsk" | "bypassPermissions";

/** The decision about one call, and what made it; kept with the call's record. */
export interface Verdict {
  /** Whether the call runs, asks a person, or is refused. */
  decision: "allow" | "ask" | "deny";
  /** What decided. */
  by: "rule" | "tool" | "mode" | "hook" | "taint" | "grant" | "approval" | "policy";
  /** One sentence for a person. */
  reason: string;
  /** The key of `reason`, for interfaces in other languages. Omitted if a tool, hook or host wrote the reason. */
  key?: string;
  /** The values in `reason`, by name. */
  values?: Readonly<Record<string, string | number>>;
  /** The rule that decided, as written. */
  rule?: string;
  /** The file or layer that has the rule. */
  origin?: string;
  /** The approval that a person answered or has to answer. */
  approvalId?: string;
}

/** Options of one call, beyond the tool and its input. */
export interface CallOptions {
  /** The provider's or the caller's id of this call; generated if omitted. */
  id?: string;
  /** Calls with the same key, caller and input are one call. Default: `id`, if given. `false` means no key. */
  idempotencyKey?: string | false;
  /** On whose behalf the call is made. */
  caller?: Partial<Caller>;
  /** Aborts the call. */
  signal?: AbortSignal;
  /** The time limit, capped by the runtime. */
  timeoutMs?: number;
  /** Narrows the paths that file tools may touch in this call; never widens. */
  allowedPaths?: readonly string[];
  /** How much a person is asked. */
  mode?: CallMode;
  /** Further policies for this call; each can only narrow. */
  policy?: CallPolicy | readonly CallPolicy[];
  /** Called with each partial result. */
  onUpdate?: (update: Update) => void;
  /** Called when approval is needed, before the call waits or is answered `pending`; the approval request waits for it. */
  onApprovalRequested?: (approvalId: string) => Promise<void> | void;
  /** `true`: answer at once and run later, as tools of mode `background` do. `false`: wait for such a tool. */
  background?: boolean | BackgroundOptions;
  /** The caller makes no further call: `exec` waits for the end of its command and never moves it to the background. */
  waitForEnd?: boolean;
  /** The user's message that the call serves. Tool search learns from it only if `learnFrom` is "messages". Not stored with the call. */
  userMessage?: string;
  /**
   * Whether the result of an earlier call is still in the conversation that the model sees. Then `read` answers briefly for a
   * file that has not changed since that call. Default: not known.
   */
  isInConversation?: (callId: string) => boolean;
  /** As `caller.task`. */
  taskId?: string;
  /** As `caller.user`. */
  userId?: string;
}

/** When a background call runs, relative to others. */
export interface BackgroundOptions {
  /** Higher first; equal priorities in order of arrival. */
  priority?: number;
  /** Min delay before it runs. */
  delayMs?: number;
  /** Max attempts, if repeating it does no harm. */
  attempts?: number;
}

/** A call that was permitted and answered `pending`, and now runs: in a worker, or with a client's answer. */
export interface SecondPass {
  kind: "job" | "client" | "code";
  /** Id of the job, of the client request, or of the answer that a program waited for. */
  id: string;
  /** The verdict of the first pass. A current deny rule still applies; nobody is asked again. */
  verdict: Verdict;
  /**
   * Called with the pass's result. A plan: the call is made again, so this was not its end. The job queue reports the end
   * of a job once it can be read there.
   */
  again?(call: Call, result: ToolResult): RetryPlan | undefined;
}

/** A job is tried again after `inMs`. If this attempt does not count, it may be tried as often as before. */
export interface RetryPlan {
  inMs: number;
  counts: boolean;
}

const OPTION_KEYS = keysOf<CallOptions>({
  id: true,
  idempotencyKey: true,
  caller: true,
  signal: true,
  timeoutMs: true,
  allowedPaths: true,
  mode: true,
  policy: true,
  onUpdate: true,
  onApprovalRequested: true,
  background: true,
  waitForEnd: true,
  userMessage: true,
  isInConversation: true,
  taskId: true,
  userId: true,
});
const CALLER_KEYS = keysOf<Caller>({
  session: true,
  agent: true,
  user: true,
  task: true,
  depth: true,
  model: true,
  sandboxed: true,
  parent: true,
});
const POLICY_KEYS = keysOf<CallPolicy>({ allow: true, deny: true });
const BACKGROUND_KEYS = keysOf<BackgroundOptions>({ priority: true, delayMs: true, attempts: true });
const MODES: ReadonlySet<string> = keysOf<Record<CallMode, unknown>>({
  default: true,
  acceptEdits: true,
  plan: true,
  dontAsk: true,
  bypassPermissions: true,
});

/** Why options cannot be used: a misspelt one that was ignored could widen what the call may do. */
export function badOptions(options: CallOptions): ToolError | undefined {
  const { caller, background, mode, policy } = options;
  let problem = unknownKey("A call", options, OPTION_KEYS);
  if (caller) problem ??= unknownKey("A caller", caller, CALLER_KEYS);
  for (const one of policy ? [policy].flat() : []) problem ??= unknownKey("The policy of a call", one, POLICY_KEYS);
  if (typeof background === "object") problem ??= unknownKey("`background` of a call", background, BACKGROUND_KEYS);
  if (mode !== undefined && !MODES.has(mode))
    problem ??= `There is no mode "${mode}". Known: ${[...MODES].join(", ")}.`;
  return problem === undefined ? undefined : toolError("invalid_input", problem);
}

/** A call as data, for its second pass, later or in another process. */
export interface CallToContinue {
  name: string;
  /** As sent. */
  input: unknown;
  options: Omit<
    CallOptions,
    "signal" | "onUpdate" | "onApprovalRequested" | "isInConversation" | "userMessage" | "taskId" | "userId"
  >;
  /** Tool names of its toolkit. Not a part of its policy, because the approval's fingerprint must not change. */
  toolkit?: readonly string[];
  verdict: Verdict;
}

export interface CallPolicy {
  allow?: readonly string[];
  deny?: readonly string[];
}

/** What a call may do and on whose behalf: its later work has no more rights. Plain JSON. */
export interface CallAuthority {
  caller: Caller;
  mode?: CallMode;
  /** Each narrows; the call's toolkit is one of them. */
  policy?: readonly CallPolicy[];
  allowedPaths?: readonly string[];
}

/** One call of a batch, with its own options. */
export interface BatchCall {
  /** As `CallOptions.id`. */
  id?: string;
  /** Of the tool. */
  name: string;
  /** For the tool. */
  input?: unknown;
  /** As `CallOptions.onUpdate`. */
  onUpdate?: CallOptions["onUpdate"];
  /** Called as soon as this call is answered, perhaps before the others. Must not throw. */
  onResult?: (result: ToolResult) => void;
}

/**
 * Runs a call: through every stage of the gate, with policy, limits and record. Never rejects. `haft.execute`,
 * `toolkit.execute` and `context.call` are this function, bound to a runtime, a toolkit or the calling call.
 */
export interface Execute<Options = CallOptions> {
  /** By the tool itself: the input is checked at compile time, and `details` has the type of its output. */
  <Input, Details, Raw>(
    tool: Tool<Input, Details, Raw>,
    ...args: {} extends Raw ? [input?: Raw, options?: Options] : [input: Raw, options?: Options]
  ): Promise<ToolResult<Details>>;
  /** By name, alias or `name@version`, as a model does. */
  (name: string, input?: unknown, options?: Options): Promise<ToolResult>;
}

/** `Execute` for parts that know tools by name only. */
export type ExecuteByName = (name: string, input?: unknown, options?: CallOptions) => Promise<ToolResult>;

/** A closed set of tools to resolve names in, and the message for a name that is not in it. */
export interface ToolScope {
  get(name: string): AnyTool | undefined;
  names(): readonly string[];
  refusal(name: string): string;
}

/** Limits that a call shares with all calls below it. */
export interface CallBudget {
  /** Counts a call that `parent` makes. Returns why it may not be made. */
  take(parent: Call): ToolError | undefined;
}

/** A person's answer to one open question. It covers this call only. */
export interface GivenAnswer {
  /** The question that the person answered. No other question is answered by it. */
  approvalId: string;
  approved: boolean;
  by?: string;
  via?: string;
  reason?: string;
}

/** One request on its way through the gate. Stages read it and fill it in. */
export interface Call {
  /** Of this call; unique in its conversation. */
  readonly id: string;
  /** The requested name; `resolve` replaces it if the input means another tool. */
  requestedName: string;
  /** Set if the caller chose an id: two calls with the same key are one call. */
  readonly idempotencyKey: string | undefined;
  /** The first part of the keys of its nested calls; the same when the call continues later. No other call has it. */
  readonly stepKey: string;
  /** On whose behalf it is made. */
  readonly caller: Caller;
  /** The caller's options. */
  readonly options: CallOptions;
  /** The toolkit that it was made in. */
  readonly scope: ToolScope | undefined;
  /** The parent call. */
  readonly parent: Call | undefined;
  /** Set if the call was permitted before and runs now. */
  readonly secondPass: SecondPass | undefined;
  /** Set if a person has answered the question about this call in another program. */
  readonly answer: GivenAnswer | undefined;
  /** Set if the call must not open a question: the failure if a person must be asked. */
  readonly noQuestion: ToolError | undefined;
  /** Called once the call is permitted. It goes on when the promise resolves. */
  readonly onPermitted: (() => Promise<void>) | undefined;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** For durations. */
  readonly startedMonotonic: number;
  /** Set by `resolve`, or at creation if a tool object was called. */
  tool: AnyTool | undefined;
  /** Set by `validate` if the input has the names of one. */
  dialect: string | undefined;
  /** Raw until `validate`, then the schema's output. */
  input: unknown;
  /** Set by `validate`: our copy of the sent input, repaired, before the schema's transformations. */
  accepted: unknown;
  /** The value of `accepted` before a hook replaced it: repetitions of the call are compared with this. */
  sent: unknown;
  /** Set by `permit`; for a call that was refused earlier, the reason. */
  verdict: Verdict | undefined;
  /** Metadata for the result that stages add; undefined if there is none. */
  facts: Record<string, unknown> | undefined;
  /** Set when the call was answered: later events do not change the answer. */
  answered: boolean;
  /** Of a call that may change something: computed when it is read first. */
  readonly risk: RiskLevel | undefined;
  /** Whether a tool object was called, not a name. */
  readonly isDirect: boolean;
  /** Whether the tool's code was started: before that, nothing has happened. */
  readonly began: boolean;
  /** Whether a call that it made has begun and may have changed something. */
  hasNestedEffects: boolean;
  /** Shared with the calls that it makes, if a tool has set one. */
  budget: CallBudget | undefined;
  /** Set by `admit`: the resources that the call uses. */
  locks: readonly string[] | undefined;
  /** Set by `admit`: how long the call waited for a slot or a lock. */
  queuedMs: number;
  /** Set by `permit` once a person has answered. */
  asked: AskedCall | undefined;
  /** Kept by `admit`: whether the call occupies a slot. */
  holdsSlot: boolean;
  /** Set if the call must end early: the reason. */
  aborted: ToolError | undefined;
  /** Called when the call is aborted while a stage waits. */
  onAbort: ((why: ToolError) => void) | undefined;
}

/** When a person was asked about a call, how long the answer took, and what it is. */
export interface AskedCall {
  /** Unix milliseconds. */
  at: number;
  waitedMs: number;
  /** The part of it in which the caller waited. A call that was answered `pending` and made again has none. */
  heldMs: number;
  /** The person who answered. */
  by?: string;
  /** Of a tool that asks questions: the answers, in their order. */
  answers?: readonly UserAnswer[];
}

/** How long a call has taken, without the time in which it waited for a person. */
export function elapsedMs({ startedMonotonic, asked }: Call, monotonic: number): number {
  return Math.max(0, monotonic - startedMonotonic - (asked?.heldMs ?? 0));
}

/** Adds to the result's metadata. */
export function note(call: Call, fact: string, value: unknown): void {
  (call.facts ??= {})[fact] = value;
}

/** The tool of a resolved call. */
export function toolOf(call: Call): AnyTool {
  if (!call.tool) throw new Error("A stage that needs the tool was placed before `resolve`.");
  return call.tool;
}

/** Whether nobody could follow what the call leaves running. The worker of a job waits too. */
export function waitsForEnd({ options, secondPass }: Call): boolean {
  return options.waitForEnd ?? secondPass?.kind === "job";
}

/** Ids must only be unique, not secret: the prefix differs by process, the counter within one. */
const PREFIX = `call_${Math.random().toString(36).slice(2, 10)}`;
const BLOCK = 36 ** 2;
/** Joining two existing strings is four times faster than formatting a number, and every call needs an id. */
const ENDINGS = Array.from({ length: BLOCK }, (_, i) => i.toString(36).padStart(2, "0"));
let blocks = 0;
let block = "";
let used = BLOCK;

export function nextCallId(): string {
  if (used === BLOCK) {
    block = `${PREFIX}${(blocks++).toString(36)}`;
    used = 0;
  }
  return block + ENDINGS[used++]!;
}

/** Rebuilds a toolkit from its names, for a call that continues after its process or toolkit is gone. */
export function rebuildScope(
  names: readonly string[],
  registry: { get(name: string): AnyTool | undefined },
): ToolScope {
  const admitted = new Set(names);
  return {
    get(name) {
      const tool = registry.get(name);
      return tool && admitted.has(tool.name) ? tool : undefined;
    },
    names: () => names,
    refusal: (name) => `Tool '${name}' not available in the toolkit of this call`,
  };
}

/** A policy that allows only these names. Hazard: an empty allow list would allow everything. */
export function allowOnlyTools(names: readonly string[]): CallPolicy {
  return names.length === 0 ? { deny: ["*"] } : { allow: [...names] };
}

/** What a call may do, as data. Its toolkit is one of the policies. */
export function authorityOf({ caller, scope, options }: Call): CallAuthority {
  const { mode, allowedPaths, policy = [] } = options;
  const layers = [policy, scope ? allowOnlyTools(scope.names()) : []].flat();
  return structuredClone({ caller, mode, policy: layers.length > 0 ? layers : undefined, allowedPaths });
}

/** A call as data. It keeps its id, also a generated one: its second pass is recognized by it. */
export function continuationOf(call: Call): CallToContinue {
  const {
    signal: _signal,
    onUpdate: _onUpdate,
    onApprovalRequested: _onApprovalRequested,
    userMessage: _userMessage,
    isInConversation: _isInConversation,
    taskId: _task,
    userId: _user,
    ...options
  } = call.options;
  const tool = toolOf(call);
  return {
    name: `${tool.name}@${tool.version}`,
    input: call.sent ?? call.accepted,
    options: { ...options, id: call.id, idempotencyKey: call.stepKey, caller: call.caller },
    toolkit: call.scope ? [...call.scope.names()] : undefined,
    verdict: call.verdict ?? { decision: "allow", by: "tool", reason: "it was running" },
  };
}

/** For a stage that may wait forever: ends when the caller aborts, or at shutdown. */
export function abortable<T>(call: Call, awaited: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => (call.onAbort = reject));
  return Promise.race([awaited, aborted]).finally(() => (call.onAbort = undefined));
}

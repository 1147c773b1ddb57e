import { keysOf, unknownKey } from "./options.ts";
import type { RiskLevel, UNVOUCHED_KINDS } from "./call-summary.ts";
import { toolError, type ToolError } from "./error.ts";
import type { Update } from "./events.ts";
import { reasonText } from "./localized-text.ts";
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
  /** What decided. Records of earlier versions have `taint` for `provenance`. */
  by:
    | "rule"
    | "tool"
    | "mode"
    | "hook"
    | "provenance"
    | "taint"
    | "grant"
    | "approval"
    | "policy"
    | "effects"
    | "limit";
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
  /** The grants that permit it. They are charged when the call is started. */
  grants?: readonly string[];
  /** The limits that it counts for, in words. */
  limits?: readonly string[];
  /** The limits that it is beyond, which is a reason to ask. A yes is for this call alone. */
  beyond?: readonly string[];
  /** The values that nobody vouches for, if that is a reason to ask. A yes approves each of them for this session. */
  unvouched?: UnvouchedValue[];
  /** The start of the user's last message, beside `unvouched`. */
  userText?: string;
}

/** A value of a call that decides where something goes or what is touched, and that nobody has named. */
export interface UnvouchedValue {
  /** The path of the argument; empty for the call itself. */
  argument: string;
  /** The value, or the start of a long one. */
  value: string;
  /** What it decides. */
  authority: (typeof UNVOUCHED_KINDS)[number];
  /** `text`: it stands in a text of others. `unnamed`: it is in the user's data or a service's, but the user did not name it. `nowhere`: no text that was read has it. `unread`: not all of these are still here. */
  origin: "text" | "unnamed" | "nowhere" | "unread";
  /** Where it first appeared. */
  source?: { callId: string; toolName: string; field: string; excerpt: string };
}

/** Options that are stored with a call that runs later or elsewhere. Plain JSON. */
export interface StoredOptions {
  /**
   * Calls with the same key, caller and input are one call. Default: `id`, if the
   * caller has a session: models use the same ids in every conversation. `false` means no key.
   */
  idempotencyKey?: string | false;
  /** It never runs without data of the host. The gate sets it if a call of a tool with a `contextSchema` continues later. */
  needsContext?: boolean;
  /** The time limit, capped by the runtime. */
  timeoutMs?: number;
  /** Narrows the paths that file tools may touch in this call; never widens. */
  allowedPaths?: readonly string[];
  /** How much a person is asked. */
  mode?: CallMode;
  /** Further policies for this call; each can only narrow. */
  policy?: CallPolicy | readonly CallPolicy[];
  /** `true`: answer at once and run later, as tools of mode `background` do. `false`: wait for such a tool. */
  background?: boolean | BackgroundOptions;
  /** The caller makes no further call: `exec` waits for the end of its command and never moves it to the background. */
  waitForEnd?: boolean;
}

/** Options that become the id and the caller of the call, and are stored as such. */
export interface IdentityOptions {
  /**
   * The provider's or the caller's id of this call; generated if omitted. Repeated in a session (`caller.session`), it is the
   * same call. Without a session it runs again, because ids are unique in one conversation only: use `idempotencyKey`.
   */
  id?: string;
  /** On whose behalf the call is made. */
  caller?: Partial<Caller>;
  /** As `caller.task`. */
  taskId?: string;
  /** As `caller.user`. */
  userId?: string;
}

/** Calls of the conversation so far: for a session of which nothing is stored, or not any more. */
export interface EarlierCalls {
  read(): readonly EarlierCall[];
  /** The session is that of one step, and every call in it comes with its conversation: it need not be kept. */
  isOwnSession?: boolean;
}

export interface EarlierCall extends Pick<ToolResult, "callId" | "content" | "details"> {
  tool: AnyTool;
  input: unknown;
}

/** Options that end with the process that made the call. */
export interface ProcessOptions<Host = unknown> {
  /**
   * Data of the host for the tool: `context.host` in `execute`, `needsApproval` and `preview`. Never stored, logged or sent to
   * another process; a call that continues elsewhere gets it from `contextFor` of the runtime there.
   */
  context?: Host;
  /** Aborts the call. */
  signal?: AbortSignal;
  /** Called with each partial result. */
  onUpdate?: (update: Update) => void;
  /** Called when approval is needed, before the call waits or is answered `pending`; the approval request waits for it. */
  onApprovalRequested?: (approvalId: string) => Promise<void> | void;
  /**
   * The user's messages that the call serves, the last one last. What the user named in them needs no question; tool search
   * learns from the last only if `learnFrom` is "messages". Not stored with the call.
   */
  userMessage?: string | readonly string[];
  /**
   * Whether the result of an earlier call is still in the conversation that the model sees. Then `read` answers briefly for a
   * file that has not changed since that call. Default: not known.
   */
  isInConversation?: (callId: string) => boolean;
}

/** Options of one call, beyond the tool and its input. A new one belongs to one of the three: the compiler insists. */
export interface CallOptions<Host = unknown> extends StoredOptions, IdentityOptions, ProcessOptions<Host> {}

/** When a background call runs, relative to others. */
export interface BackgroundOptions {
  /** Higher first; equal priorities in order of arrival. */
  priority?: number;
  /** Min delay before it runs. */
  delayMs?: number;
  /** Max attempts, if repeating it does no harm. */
  attempts?: number;
}

/** What the record keeps of a call that a shadow policy decides in another way. Plain JSON. */
export interface ShadowVerdict {
  /** Of the shadow. */
  id: string;
  /** What the active policy said before a person was asked, and what the shadow said. `failed`: it could not judge the call. */
  before: Verdict["decision"];
  after: Verdict["decision"] | "failed";
  by?: Verdict["by"];
  rule?: string;
}

/** What the active policy said about a call that it does not allow, and what a shadow policy says if it is something else. */
export interface PolicyAnswers {
  said?: Verdict;
  shadow?: ShadowVerdict;
  /** Whether the session had read untrusted text when it was asked about. Undefined if it was not asked about. */
  hasReadUntrusted?: boolean;
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

const STORED_OPTIONS: Readonly<Record<keyof StoredOptions, true>> = {
  idempotencyKey: true,
  needsContext: true,
  timeoutMs: true,
  allowedPaths: true,
  mode: true,
  policy: true,
  background: true,
  waitForEnd: true,
};
const OTHER_OPTIONS: Readonly<Record<keyof (IdentityOptions & ProcessOptions), true>> = {
  id: true,
  caller: true,
  taskId: true,
  userId: true,
  context: true,
  signal: true,
  onUpdate: true,
  onApprovalRequested: true,
  userMessage: true,
  isInConversation: true,
};
// Bundlers leave out what is marked as pure, if nothing uses it.
const OPTION_KEYS = /* @__PURE__ */ optionKeys();
function optionKeys(): ReadonlySet<string> {
  return keysOf<CallOptions>({ ...STORED_OPTIONS, ...OTHER_OPTIONS });
}
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

/** The options that are stored with the call. */
function keptOptions(options: CallOptions): StoredOptions {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) if (key in STORED_OPTIONS) kept[key] = value;
  return kept;
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
  <Input, Details, Raw, Host>(
    tool: Tool<Input, Details, Raw, Host>,
    ...args: {} extends Raw
      ? [input?: Raw, options?: Options & HostOption<Host>]
      : [input: Raw, options?: Options & HostOption<Host>]
  ): Promise<ToolResult<Details>>;
  /** By name, alias or `name@version`, as a model does. */
  (name: string, input?: unknown, options?: Options): Promise<ToolResult>;
}

/** The data of the host, as the tool declares it. */
type HostOption<Host> = Pick<ProcessOptions<NoInfer<Host>>, "context">;

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
  /** Of a question that does not show everything: the person was told, and said yes again. */
  confirmUnshown?: boolean;
}

/** One request on its way through the gate. Everybody may read it; `StageFields` says which stage sets what. */
export interface Call {
  /** Of this call; unique in its conversation. */
  readonly id: string;
  /** The requested name; `resolve` replaces it if the input means another tool. */
  readonly requestedName: string;
  /** Set if the caller chose an id: two calls with the same key are one call. */
  readonly idempotencyKey: string | undefined;
  /** The first part of the keys of its nested calls; the same when the call continues later. No other call has it. */
  readonly stepKey: string;
  /** On whose behalf it is made. */
  readonly caller: Readonly<Caller>;
  /** The caller's options. */
  readonly options: Readonly<CallOptions>;
  /** The toolkit that it was made in. */
  readonly scope: ToolScope | undefined;
  /** The parent call. */
  readonly parent: Call | undefined;
  /** Set if the call was permitted before and runs now. */
  readonly secondPass: SecondPass | undefined;
  /** Whether its input was stored: it has the tool's own parameters, whatever the requested name. */
  readonly isStored: boolean;
  /** Set if a person has answered the question about this call in another program. */
  readonly answer: GivenAnswer | undefined;
  /** Set if the call must not open a question: the failure if a person must be asked. */
  readonly noQuestion: ToolError | undefined;
  /** The conversation before this call, as far as the program has it. */
  readonly earlier: EarlierCalls | undefined;
  /** Called once the call is permitted. It goes on when the promise resolves. */
  readonly onPermitted: (() => Promise<void>) | undefined;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** For durations. */
  readonly startedMonotonic: number;
  /** Set by `resolve`, or at creation if a tool object was called. */
  readonly tool: AnyTool | undefined;
  /** Set by `validate` if the input has the names of one. */
  readonly dialect: string | undefined;
  /** Raw until `validate`, then the schema's output. */
  readonly input: unknown;
  /** Set by `validate`: our copy of the sent input, repaired, before the schema's transformations. */
  readonly accepted: unknown;
  /** Set by `context`: the data of the host, as the tool's schema of it returned it. */
  readonly host: unknown;
  /** The value of `accepted` before a hook replaced it: repetitions of the call are compared with this. */
  readonly sent: unknown;
  /** Set by `permit`; for a call that was refused earlier, the reason. */
  readonly verdict: Verdict | undefined;
  /** Set by `permit`: what the policies said before a person answered. */
  readonly policy: PolicyAnswers | undefined;
  /** Metadata for the result that stages add; undefined if there is none. */
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  /** Set when the call was answered: later events do not change the answer. */
  readonly answered: boolean;
  /** Of a call that may change something: computed when it is read first. */
  readonly risk: RiskLevel | undefined;
  /** What the record keeps, so that another policy can judge the call again. `hidden`: the input without secrets. */
  digest(hidden: unknown): object | undefined;
  /** Whether a tool object was called, not a name. */
  readonly isDirect: boolean;
  /** Whether the tool's code was started: before that, nothing has happened. */
  readonly began: boolean;
  /** Whether a call that it made has begun and may have changed something. */
  readonly hasNestedEffects: boolean;
  /** Shared with the calls that it makes, if a tool has set one. */
  readonly budget: CallBudget | undefined;
  /** Set by `admit`: the resources that the call uses. */
  readonly locks: readonly string[] | undefined;
  /** Set by `admit`: how long the call waited for a slot or a lock. */
  readonly queuedMs: number;
  /** Set by `permit` once a person has answered. */
  readonly asked: AskedCall | undefined;
  /** Kept by `admit`: whether the call occupies a slot. */
  readonly holdsSlot: boolean;
  /** Set if the call must end early: the reason. */
  readonly aborted: ToolError | undefined;
  /** Called when the call is aborted while a stage waits. */
  readonly onAbort: ((why: ToolError) => void) | undefined;
}

/** The fields that each part of the gate keeps on a call. What the caller gave, and what others keep, it only reads. */
export interface StageFields {
  resolve: "requestedName" | "tool" | "input";
  visible: "verdict";
  validate: "input" | "accepted" | "dialect";
  response: "input";
  context: "host";
  /** The hooks of a host, which may replace the input. */
  hooks: "input" | "sent" | "verdict";
  permit: "verdict" | "asked" | "policy";
  admit: "locks" | "queuedMs" | "holdsSlot";
  /** Tools that make other calls. */
  nested: "budget" | "hasNestedEffects";
}

/** A call as the stage gets it: it can set its own fields, and what stops it while it waits. */
export type CallIn<Stage extends keyof StageFields> = Settable<StageFields[Stage] | "onAbort">;
type Settable<Fields extends keyof Call> = Omit<Call, Fields> & { -readonly [Field in Fields]: Call[Field] };

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
export function note(call: Pick<Call, "facts">, fact: string, value: unknown): void {
  const own: { facts: Record<string, unknown> | undefined } = call;
  (own.facts ??= {})[fact] = value;
}

/** The data of the host that the call was given, or the nearest call that it is a part of. */
export function givenContext(call: Call): unknown {
  for (let at: Call | undefined = call; at; at = at.parent) {
    if (at.options.context !== undefined) return at.options.context;
  }
  return undefined;
}

/** The tool of a resolved call. */
export function toolOf(call: Pick<Call, "tool">): AnyTool {
  if (!call.tool) throw new Error("A stage that needs the tool was placed before `resolve`.");
  return call.tool;
}

/** Whether nobody could follow what the call leaves running. The worker of a job waits too. */
export function waitsForEnd({ options, secondPass }: Call): boolean {
  return options.waitForEnd || secondPass?.kind === "job";
}

/** Ids must only be unique, not secret: the prefix differs by process, the counter within one. */
const PREFIX = /* @__PURE__ */ newPrefix();
function newPrefix(): string {
  return `call_${Math.random().toString(36).slice(2, 10)}`;
}

const BLOCK = 36 ** 2;
/** Joining two existing strings is four times faster than formatting a number, and every call needs an id. */
const ENDINGS = /* @__PURE__ */ Array.from({ length: BLOCK }, (_, i) => i.toString(36).padStart(2, "0"));
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
function rebuildScope(names: readonly string[], registry: { get(name: string): AnyTool | undefined }): ToolScope {
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

/** For a stage that may wait forever: ends when the caller aborts, or at shutdown. */
export function abortable<T>(call: Call, awaited: Promise<T>): Promise<T> {
  const own: CallIn<never> = call;
  const aborted = new Promise<never>((_resolve, reject) => (own.onAbort = reject));
  return Promise.race([awaited, aborted]).finally(() => (own.onAbort = undefined));
}

/** A call as data: enough to run it later, or in another process. Plain JSON if its input is. */
export interface CallData {
  callId: string;
  /** The tool that the call resolved to. */
  toolName: string;
  toolVersion: string;
  /** The name that was called. Omitted by earlier versions. */
  requestedName?: string;
  /** Whether the tool object was called, not a name. */
  isDirect?: boolean;
  /** As the caller sent it: it is validated again. Of a question only if it differs from what is shown. */
  input?: unknown;
  caller: Caller;
  options: StoredOptions;
  /** The key under which it runs again. Default: that of the options. */
  idempotencyKey?: string;
  /** Tool names of its toolkit. Not a part of its policy, because the approval's fingerprint must not change. */
  toolkit?: readonly string[];
  /** What was decided before. A current deny rule still applies. Of a question it is the question's own. */
  verdict?: Verdict;
  /** Whether it may safely run again. */
  idempotent: boolean;
  /** The workspace folder of the runtime that asked about it. */
  folder?: string;
  /** What its session has set in the environment of commands. */
  environment?: Readonly<Record<string, string>>;
}

/** A function, so that a bundle with `createTool` alone has no text of verdicts. */
const noObjection = (): Verdict => ({ decision: "allow", by: "tool", ...reasonText("verdict.noObjection") });

/** It keeps its id, also a generated one: its second pass is recognized by it. */
export function toCallData(call: Call): CallData {
  const { name, version, idempotent, contextSchema } = toolOf(call);
  return {
    callId: call.id,
    toolName: name,
    toolVersion: version,
    requestedName: call.requestedName,
    isDirect: call.isDirect,
    input: call.sent ?? call.accepted,
    caller: call.caller,
    options:
      contextSchema && givenContext(call) !== undefined
        ? { ...keptOptions(call.options), needsContext: true }
        : keptOptions(call.options),
    idempotencyKey: call.idempotencyKey,
    toolkit: call.scope && [...call.scope.names()],
    verdict: call.verdict ?? noObjection(),
    idempotent,
  };
}

/** What runs the call again. The process adds its own options. */
export interface CallToRun {
  /** With its version. */
  name: string;
  input: unknown;
  options: CallOptions;
  scope: ToolScope | undefined;
  verdict: Verdict;
}

export function fromCallData(data: CallData, registry: Parameters<typeof rebuildScope>[1]): CallToRun {
  const { callId: id, toolName, toolVersion, caller, options, toolkit } = data;
  return {
    name: `${toolName}@${toolVersion}`,
    input: data.input,
    options: { ...options, id, caller, idempotencyKey: data.idempotencyKey ?? options.idempotencyKey },
    scope: toolkit && rebuildScope(toolkit, registry),
    verdict: data.verdict ?? noObjection(),
  };
}

/** What earlier versions stored with questions (`scope`) and with programs (`toolkit`, and a name with its version). */
export interface EarlierCallData extends Pick<
  CallData,
  "input" | "toolkit" | "verdict" | "isDirect" | "folder" | "environment"
> {
  name: string;
  options: StoredOptions & { id?: string; caller?: Partial<Caller> };
  scope?: readonly string[];
}

/** Reads what any version stored. `tool`: what the row of the call says about its tool. */
export function readCallData(
  stored: CallData | EarlierCallData,
  tool?: Pick<CallData, "toolName" | "toolVersion">,
): CallData {
  if ("callId" in stored) return stored;
  const { name, options, scope, toolkit = scope, ...rest } = stored;
  const { id: callId = "", caller, ...kept } = options;
  const [named = name, version = ""] = name.split("@");
  return {
    ...rest,
    callId,
    toolName: tool?.toolName ?? named,
    toolVersion: tool?.toolVersion ?? version,
    requestedName: name,
    caller: { depth: 0, ...caller },
    options: kept,
    toolkit,
    idempotent: false,
  };
}

import { keysOf, unknownKey } from "./check-keys.ts";
import { toolError, type ToolError } from "./error.ts";
import type { Update } from "./events.ts";
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
  /** The model that acts, as `provider/model`, or the provider alone: policy may differ by it. */
  model?: string;
  /** Whether it works inside a sandbox: policy may differ there. */
  sandboxed?: boolean;
  /** Who started this one. A subagent has no more rights than its parents, and what one of them has seen, all have. */
  parent?: Caller;
}

/**
 * How much is asked of the person. None of them overrides a deny: `acceptEdits` lets file changes in the workspace pass,
 * `plan` runs read-only tools alone, `dontAsk` refuses what would ask, `bypassPermissions` asks for nothing that policy
 * does not insist on.
 */
export type CallMode = "default" | "acceptEdits" | "plan" | "dontAsk" | "bypassPermissions";

/** What was decided about one call, and by what; kept with its record. */
export interface Verdict {
  /** Whether the call runs, asks a person, or is refused. */
  decision: "allow" | "ask" | "deny";
  /** What decided. */
  by: "rule" | "tool" | "mode" | "hook" | "taint" | "grant" | "approval" | "policy";
  /** One sentence for a person. */
  reason: string;
  /** The rule that decided, as it is written. */
  rule?: string;
  /** The file or layer that has the rule. */
  origin?: string;
  /** The question that a person answered or has to answer. */
  approvalId?: string;
}

/** What a caller may say about one call, beyond the tool and its input. */
export interface CallOptions {
  /** The provider's or the caller's id of this call; generated if omitted. */
  id?: string;
  /** Two calls with one key, caller and input are one call. Defaults to `id`, where that was given; `false`: has none. */
  idempotencyKey?: string | false;
  /** On whose behalf the call is made. */
  caller?: Partial<Caller>;
  /** Aborts the call. */
  signal?: AbortSignal;
  /** At most the runtime's cap. */
  timeoutMs?: number;
  /** Narrows the paths that file tools may touch in this call; never widens. */
  allowedPaths?: readonly string[];
  /** How much is asked of a person. */
  mode?: CallMode;
  /** Further policies for this call; like every layer each only narrows. */
  policy?: CallPolicy | readonly CallPolicy[];
  /** Called with each partial result. */
  onUpdate?: (update: Update) => void;
  /** Told when a person has to be asked, before the call waits or is answered `pending`; the question waits for it. */
  onApprovalRequested?: (approvalId: string) => Promise<void> | void;
  /** Answers at once and runs later, as tools of mode `background` do by themselves; `false`: waits for such a tool. */
  background?: boolean | BackgroundOptions;
  /** Seed names for `caller.task` and `caller.user`. */
  taskId?: string;
  /** As `caller.user`. */
  userId?: string;
}

/** When a background call runs, compared with others. */
export interface BackgroundOptions {
  /** Higher first; those of one priority in the order they came. */
  priority?: number;
  /** Not before this much time has passed. */
  delayMs?: number;
  /** How often it is tried, where trying again does no harm. */
  attempts?: number;
}

/** A call that was permitted and answered `pending`, and now runs: in a worker, or with what a client answered. */
export interface SecondPass {
  kind: "job" | "client" | "code";
  /** Of the job, of what the client was asked, or of the answer that a program waited for. */
  id: string;
  /** What was decided in the first pass. A deny of today still counts; nobody is asked again. */
  verdict: Verdict;
  /**
   * Called first with how the pass ended. `true`: the call is made again, so this was not its end. The job queue reports
   * the end of a job, once it can be read there.
   */
  again?(call: Call, result: ToolResult): boolean;
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

/** A call as data: what its second pass is made from, later or elsewhere. */
export interface CallToContinue {
  name: string;
  /** As it was sent. */
  input: unknown;
  options: Omit<CallOptions, "signal" | "onUpdate" | "onApprovalRequested" | "taskId" | "userId">;
  /** Names in the toolkit that it was made in. No part of its policy: what is asked about must stay the same question. */
  toolkit?: readonly string[];
  verdict: Verdict;
}

export interface CallPolicy {
  allow?: readonly string[];
  deny?: readonly string[];
}

/** What a call may do and on whose behalf: work that it leaves for later has no more rights. Plain JSON. */
export interface CallAuthority {
  caller: Caller;
  mode?: CallMode;
  /** Each narrows; the toolkit that the call was made in is one of them. */
  policy?: readonly CallPolicy[];
  allowedPaths?: readonly string[];
}

/** One call of a batch, with what is said of it alone. */
export interface BatchCall {
  /** As `CallOptions.id`. */
  id?: string;
  /** Of the tool. */
  name: string;
  /** For the tool. */
  input?: unknown;
  /** As `CallOptions.onUpdate`. */
  onUpdate?: CallOptions["onUpdate"];
  /** Called as soon as it is answered, before the others may be. Must not throw. */
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

/** A closed set of tools that a call may be resolved in, and what to say when a name is not in it. */
export interface ToolScope {
  get(name: string): AnyTool | undefined;
  names(): readonly string[];
  refusal(name: string): string;
}

/** One request on its way through the gate. Stages read it and fill in what they find out. */
export interface Call {
  /** Of this call; unique in its conversation. */
  readonly id: string;
  /** The name as it was asked for. */
  readonly requestedName: string;
  /** Set if the caller chose an id: two calls with the same key are one call. */
  readonly idempotencyKey: string | undefined;
  /** On whose behalf it is made. */
  readonly caller: Caller;
  /** As the caller gave them. */
  readonly options: CallOptions;
  /** The toolkit that it was made in. */
  readonly scope: ToolScope | undefined;
  /** The call that it is a part of. */
  readonly parent: Call | undefined;
  /** Set if the call was permitted before and runs now. */
  readonly secondPass: SecondPass | undefined;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** For durations. */
  readonly startedMonotonic: number;
  /** Set by `resolve`, or at once when a tool object itself was called. */
  tool: AnyTool | undefined;
  /** Raw until `validate`, then what the schema made of it. */
  input: unknown;
  /** Set by `validate`: our own copy of what was sent, mended, before the schema transformed it. */
  accepted: unknown;
  /** What `accepted` was before a hook replaced it. The call as its caller made it: made again, or compared, it is this. */
  sent: unknown;
  /** Set by `permit`; of a call that was refused before, why. */
  verdict: Verdict | undefined;
  /** A sibling of the result's metadata that stages add to; undefined until somebody does. */
  facts: Record<string, unknown> | undefined;
  /** Set when the call was answered: nothing that happens later changes the answer. */
  answered: boolean;
  /** Whether the tool itself was called, and not a name. */
  readonly isDirect: boolean;
  /** Whether the tool's code was started: before that, nothing has happened. */
  readonly began: boolean;
  /** Kept by `admit`: whether the call occupies a slot. */
  holdsSlot: boolean;
  /** Why the call is to end early, once that is known. */
  aborted: ToolError | undefined;
  /** Called when the call is aborted while a stage waits. */
  onAbort: ((why: ToolError) => void) | undefined;
}

/** Adds to what the result's metadata will say. */
export function note(call: Call, fact: string, value: unknown): void {
  (call.facts ??= {})[fact] = value;
}

/** The tool of a call that `resolve` has passed. */
export function toolOf(call: Call): AnyTool {
  if (!call.tool) throw new Error("A stage that needs the tool was placed before `resolve`.");
  return call.tool;
}

/** Ids need not be guessed, only differ: between processes by the prefix, within one by the count. */
const PREFIX = `call_${Math.random().toString(36).slice(2, 10)}`;
const BLOCK = 36 ** 2;
/** Joining two strings that exist is four times faster than writing a number, and every call needs an id. */
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
    refusal: (name) => `Tool '${name}' not available in the toolkit that the call was made in`,
  };
}

/** A list of names as the policy that leaves nothing else. Hazard: an empty allow list would leave everything. */
export function allowOnlyTools(names: readonly string[]): CallPolicy {
  return names.length === 0 ? { deny: ["*"] } : { allow: [...names] };
}

/** What a call may do, as data. Its toolkit is one of the policies. */
export function authorityOf({ caller, scope, options }: Call): CallAuthority {
  const { mode, allowedPaths, policy = [] } = options;
  const layers = [policy, scope ? allowOnlyTools(scope.names()) : []].flat();
  return structuredClone({ caller, mode, policy: layers.length > 0 ? layers : undefined, allowedPaths });
}

/** A call as data. Its id is kept, also if it was generated: that is how its second pass is recognised as the same call. */
export function continuationOf(call: Call): CallToContinue {
  const {
    signal: _signal,
    onUpdate: _onUpdate,
    onApprovalRequested: _onApprovalRequested,
    taskId: _task,
    userId: _user,
    ...options
  } = call.options;
  const tool = toolOf(call);
  return {
    name: `${tool.name}@${tool.version}`,
    input: call.sent ?? call.accepted,
    options: { ...options, id: call.id, caller: call.caller },
    toolkit: call.scope ? [...call.scope.names()] : undefined,
    verdict: call.verdict ?? { decision: "allow", by: "tool", reason: "it was running" },
  };
}

/** For a stage that waits for what may never come: not longer than the call's own caller does, nor beyond shutdown. */
export function abortable<T>(call: Call, awaited: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => (call.onAbort = reject));
  return Promise.race([awaited, aborted]).finally(() => (call.onAbort = undefined));
}

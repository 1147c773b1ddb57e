import {
  type BatchCall,
  type Call,
  type CallData,
  type Caller,
  type CallOptions,
  type EarlierCalls,
  fromCallData,
  type GivenAnswer,
  type SecondPass,
  type ToolScope,
} from "./call.ts";
import type { ToolError } from "./error.ts";
import type { Update } from "./events.ts";
import type { ToolResult } from "./result.ts";
import { sharedByCopies } from "../schema/schema.ts";
import type { AnyTool } from "./tool.ts";

// Operations on calls for the runtime's own parts. They are not exported from the package, and not properties of a
// public object: a caller that could set a second pass or a parent could run a call without its approval.

/** The bindings of a call, in addition to its tool and input. */
export interface CallBinding {
  /** Names are resolved in it; no other tool runs. */
  scope?: ToolScope;
  /** The parent call. */
  parent?: Call;
  /** The call is stopped with this group, instead of by the signal of its options. */
  group?: CallGroup;
  /** Whether the options were checked, because several calls share them. */
  isChecked?: boolean;
  /** The call was permitted before and answered `pending`. */
  secondPass?: SecondPass;
  /** The input comes from a stored call, so it has the tool's own parameters. */
  isStored?: boolean;
  /** The call does not run: it is recorded and answered with this. */
  refusal?: ToolError;
  /** Called once the call is permitted. It goes on when the promise resolves. */
  onPermitted?: () => Promise<void>;
  /** The answer to the question about this call that a person gave in another program. */
  answer?: GivenAnswer;
  /** The call opens no question: if a person must be asked, it fails with this. */
  noQuestion?: ToolError;
  /** The conversation before this call, as far as the program has it. */
  earlier?: EarlierCalls;
}

/** A question about a call and what became of it. */
export interface CallQuestion {
  /** Of the approval. */
  id: string;
  reason: string;
  /** What of the call is not shown. An approval then needs `confirmUnshown`. */
  unseen?: string;
  state: "pending" | "approved" | "denied" | "expired" | "cancelled" | "changed";
  /** The person who answered. */
  answeredBy?: string;
  /** Why it was denied or is not open any more. */
  note?: string;
}

/** Questions about the calls of a gate, for programs that ask their own users. */
export interface CallQuestions {
  /** The question about the call with this idempotency key. */
  find(key: string, caller: Partial<Caller>): Promise<CallQuestion | undefined>;
  /** Resolves when it is answered in any process, or has expired. */
  wait(approvalId: string, signal?: AbortSignal): Promise<CallQuestion>;
  /** Answers it, and runs the call if that is allowed now. */
  answer(answer: GivenAnswer): Promise<ToolResult>;
}

/** Calls that are stopped together: one listener costs less than one for each call. */
export interface CallGroup {
  add(call: StoppableCall): void;
  delete(call: StoppableCall): void;
}

export interface StoppableCall {
  abort(why: ToolError): void;
}

/** A call of a batch that may be refused before it starts. */
export interface BoundBatchCall extends BatchCall {
  refusal?: ToolError;
}

/** Runs a call. Every public function for that is this one with bound arguments. Never throws or rejects. */
export interface Gate {
  execute(target: AnyTool | string, input?: unknown, options?: CallOptions, binding?: CallBinding): Promise<ToolResult>;
  /** Each call runs after the batch's calls that its tool depends on; results are in call order. */
  executeMany(
    calls: readonly BoundBatchCall[],
    options?: CallOptions,
    binding?: Pick<CallBinding, "scope" | "parent">,
  ): Promise<ToolResult[]>;
  /** Omitted by gates of subagents, whose calls are parts of another call. */
  readonly questions?: CallQuestions;
  /** Stops calls with this id that have not been answered, if `may` agrees. Returns whether there was one. */
  stop?(callId: string, why: ToolError, may: (caller: Caller) => boolean): boolean;
}

/** The gates of tools, toolkits and runtimes. */
function gates(): WeakMap<object, Gate> {
  return (shared ??= sharedByCopies("gates", () => new WeakMap<object, Gate>()));
}

let shared: WeakMap<object, Gate> | undefined;

/** The first gate is kept: a tool that is registered in two runtimes runs in the first, under its policy. */
export function bindGate(owner: object, gate: Gate): void {
  if (!gates().has(owner)) gates().set(owner, gate);
}

export function unbindGate(owner: object, gate: Gate): void {
  if (gates().get(owner) === gate) gates().delete(owner);
}

/** The gate of the first owner that has one. */
export function findGate(...owners: readonly (object | undefined)[]): Gate | undefined {
  for (const owner of owners) {
    const gate = owner && gates().get(owner);
    if (gate) return gate;
  }
  return undefined;
}

/** As `findGate`; if none has one, the gate of the default runtime. */
export function gateOf(...owners: readonly (object | undefined)[]): Gate {
  const gate = findGate(...owners);
  if (gate) return gate;
  if (!openDefaultGate)
    throw new Error('There is no runtime to run tools in. Import createHaft from "haft" and call it.');
  return openDefaultGate();
}

/** The gate of this runtime, or of the one that it inherits from. A copy of a runtime has none. */
export function runtimeGateOf(haft: object): Gate {
  for (let owner: object | null = haft; owner; owner = Object.getPrototypeOf(owner) as object | null) {
    const gate = gates().get(owner);
    if (gate) return gate;
  }
  throw new TypeError("This is not a runtime that createHaft() made.");
}

let openDefaultGate: (() => Gate) | undefined;

/** Only the composition root can build a gate; it provides one when it is loaded. */
export function provideDefaultGate(open: () => Gate): void {
  openDefaultGate = open;
}

/** The second pass of a call that was kept as data, in the toolkit that it was made in. */
export function continueCall(
  gate: Gate,
  registry: Parameters<typeof fromCallData>[1],
  data: CallData,
  pass: Pick<SecondPass, "kind" | "id">,
): Promise<ToolResult> {
  const { name, input, options, scope, verdict } = fromCallData(data, registry);
  return gate.execute(name, input, options, { scope, secondPass: { ...pass, verdict } });
}

/** What a call's context needs from its gate. */
export interface ContextHost extends Gate {
  readonly workspace: string;
  /** Max tokens of a result, if the runtime sets one. */
  readonly maxResultTokens: number | undefined;
  /** A registered tool by its name. */
  find(name: string): AnyTool | undefined;
  /** Whether rules allow the caller of this call the tool with this input, without asking anybody. */
  allows(call: Call, tool: AnyTool, input: unknown): boolean;
  updated(call: Call, update: Update): void;
  /** Stops the time limit of a running call; returns the function that starts it again. */
  pauseTimeLimit(call: Call): () => void;
  subagentGate(parent: Call, caller: SubagentCaller): Gate;
}

/** The caller of a subagent; its depth and parent follow from the parent call. */
export type SubagentCaller = Omit<Partial<Caller>, "depth" | "parent">;

let readCall: (context: CallContext) => Call;
let readHost: (context: CallContext) => ContextHost;

/** Keeps the call and its gate in private fields, which a tool cannot reach through its context. */
export class CallContext {
  readonly #call: Call;
  readonly #host: ContextHost;

  constructor(call: Call, host: ContextHost) {
    this.#call = call;
    this.#host = host;
  }

  static {
    readCall = (context) => context.#call;
    readHost = (context) => context.#host;
  }
}

/** The call that a tool's context belongs to. */
export function callOf(context: object): Call {
  return readCall(context as CallContext);
}

export function hostOf(context: object): ContextHost {
  return readHost(context as CallContext);
}

/** A gate whose calls are nested in the call of this context, on behalf of `caller`, with no more than its rights. */
export function subagentGateOf(context: object, caller: SubagentCaller): Gate {
  return hostOf(context).subagentGate(callOf(context), caller);
}

/** By context. Only a few tools have one, so it is no field of the context. */
const stopListeners = new WeakMap<object, (why: ToolError) => void>();

/** Calls `listener` when the call is stopped. The tool itself still counts as one that has not read its signal. */
export function onStop(context: object, listener: (why: ToolError) => void): void {
  stopListeners.set(context, listener);
}

export function notifyStop(context: object, why: ToolError): void {
  stopListeners.get(context)?.(why);
}

/** What the preview of a context does when it reaches its time limit: it pauses what it runs, or goes on. Default: it ends it. */
export const atTimeLimit = new WeakMap<object, "pause" | "continue">();

/** How long a paused run waits for its answer, and how long one may go on. */
export const MAX_PAUSE_MS = 30 * 60_000;
export const MAX_GO_ON_MS = 24 * 60 * 60_000;

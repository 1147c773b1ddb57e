import type { Caller, CallOptions, EarlierCall } from "../../core/call.ts";
import { text } from "../../core/content.ts";
import { ToolError, ToolPermissionError } from "../../core/error.ts";
import { type CallBinding, type CallQuestion, type Gate, gateOf } from "../../core/gate.ts";
import { canonicalJson } from "../../core/json.ts";
import { questionsOf } from "../../core/questions/user-question.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { AgentToolkit } from "../../core/toolkit.ts";
import { isObject } from "../../schema/json-schema.ts";

/** A call that a framework makes. */
export interface FrameworkCall {
  /** From the provider or the framework. Models number their calls, so an id counts only within its run. */
  id?: string | undefined;
  /** The framework's id of the run, thread or conversation. Default: the session of the adapter's calls, else the adapter itself. */
  run?: string | undefined;
  /** A part of the run. The id counts only within it. */
  scope?: string | undefined;
  /** The conversation before the call, if the framework gives it: what the user wrote, and what was read. */
  messages?: readonly unknown[] | undefined;
  /** The run is one step: nothing else is in its session. */
  isOwnRun?: boolean | undefined;
  /** What the framework gives its tools as their context: the data of the host. */
  context?: unknown;
}

/** What a person answered to the framework's own approval request. */
export interface FrameworkAnswer {
  approved: boolean;
  /** The person. Default: the user of the adapter's calls, else the framework. */
  by?: string | undefined;
  reason?: string | undefined;
  /** The person was told what is not shown, and said yes again. Without it such a call stays pending. */
  confirmUnshown?: boolean | undefined;
  /** The question that was shown, if the framework has kept its id. Default: the open question about the call. */
  approvalId?: string | undefined;
}

export interface FrameworkRun extends FrameworkCall {
  signal?: AbortSignal | undefined;
  onUpdate?: CallOptions["onUpdate"] | undefined;
  /** Only if the framework reports that its person answered. That the framework makes the call is no answer. */
  answer?: FrameworkAnswer | undefined;
}

export interface FrameworkCallsOptions {
  /** The framework, as the audit names it. */
  via: string;
  toolkit?: AgentToolkit | undefined;
  /** By the names that the model sees. */
  tools: ReadonlyMap<string, AnyTool>;
  call?: Omit<CallOptions, "id" | "signal"> | undefined;
}

/** A call that is permitted and waits until the framework runs it, or that has ended already. */
interface PreparedCall {
  input: string;
  at: number;
  result: Promise<ToolResult>;
  start(live: Pick<FrameworkRun, "signal" | "onUpdate">): void;
  cancel(): void;
}

/** What the user wrote, of messages as most frameworks have them: `role` or `type`, and `content` or `parts` as text or blocks. */
function userTextsOf(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) => {
    if (!isObject(message) || (message["role"] !== "user" && message["type"] !== "human")) return [];
    // LangChain gives the user's role to summaries of its own.
    const { additional_kwargs: more } = message;
    if (isObject(more) && more["lc_source"] !== undefined) return [];
    const content = message["content"] ?? message["parts"];
    if (typeof content === "string") return [content];
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
    const text = blocks.flatMap((block) => {
      if (!isObject(block) || block["type"] !== "text") return [];
      const words = block["text"] ?? block["content"];
      return typeof words === "string" ? [words] : [];
    });
    return text.length === 0 ? [] : [text.join(" ")];
  });
}

/** The calls of these tools with results in messages, as AI SDK, LangChain and TanStack AI have them. */
function earlierCallsIn(messages: readonly unknown[], tools: ReadonlyMap<string, AnyTool>): EarlierCall[] {
  const calls = new Map<unknown, { name: unknown; input: unknown }>();
  const found: EarlierCall[] = [];
  const add = (callId: unknown, name: unknown, value: unknown): void => {
    const tool = tools.get(String(name ?? calls.get(callId)?.name));
    if (!tool || value === undefined) return;
    found.push({ callId: String(callId), tool, input: calls.get(callId)?.input, content: [text(shownIn(value))] });
  };
  for (const message of messages.filter(isObject)) {
    const { content, parts } = message;
    for (const part of [content, parts].flat().filter(isObject)) {
      const id = part["toolCallId"] ?? part["id"];
      const name = part["toolName"] ?? part["name"];
      if (part["type"] === "tool-call") calls.set(id, { name, input: part["input"] ?? part["arguments"] });
      if (part["type"] === "tool-result") add(id, name, part["output"] ?? part["content"]);
    }
    for (const call of [message["tool_calls"], message["toolCalls"]].flat().filter(isObject)) {
      const own = isObject(call["function"]) ? call["function"] : call;
      calls.set(call["id"], { name: own["name"], input: own["args"] ?? own["arguments"] });
    }
    const answered = message["tool_call_id"] ?? message["toolCallId"];
    if (answered !== undefined) add(answered, message["name"], content);
  }
  return found;
}

/** The text of a result, whatever it is wrapped in. */
function shownIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(shownIn).join("\n");
  if (!isObject(value)) return String(value);
  const inner = value["type"] === "text" ? (value["text"] ?? value["value"] ?? value["content"]) : value["value"];
  return inner === undefined ? JSON.stringify(value) : shownIn(inner);
}

/** A framework that checks a call runs it soon, or never. */
export const MAX_PREPARED_MS = 10 * 60_000;
const MAX_PREPARED = 1000;

/**
 * The calls of one adapter. The framework first checks a call, then asks its person if needed, then runs the call. Both steps
 * are one call of the gate, which waits in between: hooks, events and the record see it once. A question is found by run
 * and call id in the store, so it can be answered after a restart.
 */
export class FrameworkCalls {
  readonly #options: FrameworkCallsOptions;
  readonly #adapterId = `run_${globalThis.crypto.randomUUID()}`;
  readonly #prepared = new Map<string, PreparedCall>();

  constructor(options: FrameworkCallsOptions) {
    this.#options = options;
  }

  /** The open question about this call; asks it if the call needs one. Undefined if the framework needs to ask nobody. */
  async check(tool: AnyTool, input: unknown, call: FrameworkCall): Promise<CallQuestion | undefined> {
    const { caller, key } = this.#identify(tool, call);
    const { questions } = this.#gateOf(tool);
    // Without an id nobody could say which call was approved. The yes of a framework's person answers no question.
    if (key === undefined || !questions || questionsOf(tool)) return undefined;
    const known = await questions.find(key, caller);
    // An expired question is asked again: what the framework runs without a question could open one that it does not show.
    if (known && known.state !== "expired") return known.state === "pending" ? known : undefined;
    const isAsked = await this.#prepare(tool, input, call);
    return isAsked ? questions.find(key, caller) : undefined;
  }

  /** Runs the call. If it was checked, asked about or run before, that call continues, and its result is returned. */
  async run(tool: AnyTool, input: unknown, { signal, onUpdate, answer, ...call }: FrameworkRun): Promise<ToolResult> {
    const { caller, key } = this.#identify(tool, call);
    const prepared = this.#takePrepared({ caller, key }, input);
    if (prepared && answer?.approved !== false) {
      prepared.start({ signal, onUpdate });
      return prepared.result;
    }
    prepared?.cancel();
    const live = { signal, onUpdate: onUpdate ?? this.#options.call?.onUpdate };
    if (!answer || (answer.approved && questionsOf(tool))) return this.#execute(tool, input, { call, live });
    const question = key === undefined ? undefined : await this.#gateOf(tool).questions?.find(key, caller);
    const answerer = this.#answererOf(answer, caller);
    // Such an answer would be given again, and would then answer a question that was opened after it.
    const noQuestion = answer.approvalId === undefined ? this.#unknownAnswer(tool) : undefined;
    if (question?.state === "pending" || (question?.state === "approved" && answer.approved)) {
      const { approved, confirmUnshown } = answer;
      const given = { approvalId: answer.approvalId ?? question.id, approved, confirmUnshown, ...answerer };
      return this.#execute(tool, input, { call, live, answer: given, noQuestion });
    }
    // Nobody is asked in Haft, but a no is a no.
    const refusal = answer.approved ? undefined : refused(tool, answerer);
    return this.#execute(tool, input, { call, live, refusal, noQuestion });
  }

  /** The person answered a question that is not known here. */
  #unknownAnswer({ name }: AnyTool): ToolError {
    const { via, call } = this.#options;
    const unknown = `The answer that was given in ${via} belongs to no open question about this call`;
    const hint =
      "Set `call.caller.session` of the adapter to the id of the conversation, so the question can be found.";
    return new ToolPermissionError(name, unknown, call?.caller?.session === undefined ? hint : "Make the call again.");
  }

  /** The framework's person said no, and the framework will not run the call: closes the question. */
  async deny(tool: AnyTool, call: FrameworkCall, answer: Omit<FrameworkAnswer, "approved"> = {}): Promise<void> {
    const { caller, key } = this.#identify(tool, call);
    const { questions } = this.#gateOf(tool);
    const question = key === undefined ? undefined : await questions?.find(key, caller);
    if (question?.state !== "pending") return;
    try {
      await questions?.answer({ approvalId: question.id, approved: false, ...this.#answererOf(answer, caller) });
    } catch (error) {
      // Somebody else answered first.
      if (!(error instanceof ToolError) || error.code !== "conflict") throw error;
    }
  }

  /** The question about this call, in any state. */
  async find(tool: AnyTool, call: FrameworkCall): Promise<CallQuestion | undefined> {
    const { caller, key } = this.#identify(tool, call);
    return key === undefined ? undefined : this.#gateOf(tool).questions?.find(key, caller);
  }

  /** The same, once it is answered in any interface, or cannot be answered any more. */
  async wait(tool: AnyTool, call: FrameworkCall, signal?: AbortSignal): Promise<CallQuestion | undefined> {
    for (;;) {
      const question = await this.find(tool, call);
      if (question?.state !== "pending") return question;
      const answered = await this.#gateOf(tool).questions?.wait(question.id, signal);
      // It was asked again, because what was shown has changed.
      if (answered?.state !== "changed") return answered;
    }
  }

  /** Starts the call and holds it once it is permitted. True if it waits for a person instead. */
  async #prepare(tool: AnyTool, input: unknown, call: FrameworkCall): Promise<boolean> {
    const id = preparedId(this.#identify(tool, call));
    const inputText = canonicalJson(input);
    const earlier = this.#prepared.get(id);
    if (earlier?.input === inputText) return false;
    earlier?.cancel();
    this.#prune(MAX_PREPARED - 1);
    const stop = new AbortController();
    let listener = this.#options.call?.onUpdate;
    let start!: () => void;
    const started = new Promise<void>((resolve) => (start = resolve));
    let result!: Promise<ToolResult>;
    const isHeld = new Promise<boolean>((resolve) => {
      result = this.#execute(tool, input, {
        call,
        live: { signal: stop.signal, onUpdate: (update) => listener?.(update) },
        onPermitted() {
          resolve(true);
          return started;
        },
      });
      void result.then((ended) => resolve(ended.status !== "pending" || ended.pending.kind !== "approval"));
    });
    this.#prepared.set(id, {
      input: inputText,
      at: performance.now(),
      result,
      start({ signal, onUpdate }) {
        listener = onUpdate ?? listener;
        const abort = (): void => stop.abort(signal?.reason);
        if (signal?.aborted) abort();
        signal?.addEventListener("abort", abort, { once: true });
        void result.then(() => signal?.removeEventListener("abort", abort));
        start();
      },
      cancel: () => stop.abort(`${this.#options.via} checked this call and did not run it`),
    });
    if (await isHeld) {
      const timer: { unref?(): void } = setTimeout(() => this.#prune(MAX_PREPARED), MAX_PREPARED_MS + 1);
      timer.unref?.();
      return false;
    }
    this.#prepared.delete(id);
    return true;
  }

  #takePrepared(identity: CallIdentity, input: unknown): PreparedCall | undefined {
    const id = preparedId(identity);
    const prepared = this.#prepared.get(id);
    this.#prepared.delete(id);
    if (prepared && prepared.input === canonicalJson(input) && isFresh(prepared)) return prepared;
    prepared?.cancel();
    return undefined;
  }

  /** Cancels what is too old, and the oldest of more than `max` calls. */
  #prune(max: number): void {
    for (const [id, prepared] of this.#prepared) {
      if (isFresh(prepared) && this.#prepared.size <= max) return;
      this.#prepared.delete(id);
      prepared.cancel();
    }
  }

  #execute(tool: AnyTool, input: unknown, { call, live, ...binding }: Execution): Promise<ToolResult> {
    const { toolkit, tools, call: { userId: _user, taskId: _task, ...shared } = {} } = this.#options;
    const { messages, isOwnRun } = call;
    const { caller, key } = this.#identify(tool, call);
    const options: CallOptions = {
      userMessage: messages && userTextsOf(messages),
      ...shared,
      ...live,
      context: call.context ?? shared.context,
      id: call.id || undefined,
      idempotencyKey: key,
      caller,
    };
    return this.#gateOf(tool).execute(toolkit ? tool.name : tool, input, options, {
      ...binding,
      scope: toolkit,
      earlier: messages && {
        read: () => earlierCallsIn(messages, tools),
        isOwnSession: isOwnRun && caller.session === call.run,
      },
    });
  }

  #gateOf(tool: AnyTool): Gate {
    return gateOf(this.#options.toolkit, tool);
  }

  #identify({ name }: AnyTool, { id, run, scope }: FrameworkCall): CallIdentity {
    const { toolkit, call = {} } = this.#options;
    const session = call.caller?.session ?? run ?? this.#adapterId;
    const caller = { agent: toolkit?.agentName, user: call.userId, task: call.taskId, ...call.caller, session };
    if (!id) return { caller, key: undefined };
    // Some models number the calls of each tool, so one id may be used by two tools.
    return { caller, key: JSON.stringify([run === session ? null : run, scope, name, id]) };
  }

  #answererOf({ by, reason }: Omit<FrameworkAnswer, "approved">, { user }: Partial<Caller>) {
    const { via } = this.#options;
    return { by: by ?? user ?? via, via, reason };
  }
}

/** On whose behalf a call is made, and its key, which is unique in the session. */
interface CallIdentity {
  caller: Partial<Caller>;
  key: string | undefined;
}

interface Execution extends Pick<CallBinding, "answer" | "noQuestion" | "onPermitted" | "refusal"> {
  call: FrameworkCall;
  live: Pick<CallOptions, "signal" | "onUpdate">;
}

function preparedId({ caller, key }: CallIdentity): string {
  return JSON.stringify([caller.session, key]);
}

function isFresh({ at }: PreparedCall): boolean {
  return performance.now() - at <= MAX_PREPARED_MS;
}

function refused(tool: AnyTool, { by, reason }: { by: string; reason?: string | undefined }): ToolError {
  const what = `${by} denied this call${reason ? `: ${reason}` : ""}`;
  return new ToolPermissionError(tool.name, what, "Do not repeat it; ask what to do instead.", "approval_denied");
}

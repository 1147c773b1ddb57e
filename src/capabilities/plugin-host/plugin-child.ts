import { AsyncLocalStorage } from "node:async_hooks";
import { loadPlugin, type PluginSource } from "../../config/plugins.ts";
import { firstLine, textOf } from "../../core/content.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { bindGate, type Gate } from "../../core/gate.ts";
import { isJsonPrimitive, MAX_CONTENT_TEXT_LENGTH, toPlainData } from "../../core/json.ts";
import { installPlugin } from "../../core/plugin.ts";
import { ToolRegistry } from "../../core/registry.ts";
import {
  alwaysAsks,
  type AnyTool,
  bodyOf,
  isTool,
  type NestedCallOptions,
  saysNothing,
  neverAsks,
  type Preview,
  statesOnlyKind,
  type ToolContext,
  type ToolPermission,
} from "../../core/tool.ts";
import { shownOutput } from "../../gate/model-output.ts";
import { readOutput } from "../../gate/tool-output.ts";
import { pathOf, type Schema, type SchemaIssue } from "../../schema/schema.ts";
import { jsonSchemaEngine } from "../../schema/json-schema-validator.ts";
import { isJsonSchema, provideEngine } from "../../schema/read-schema.ts";
import {
  Channel,
  type ChildMethods,
  type Fact,
  type LoadedPlugin,
  type ParentMethods,
  type Prepared,
  receiveError,
  type Send,
  sendError,
  Sent,
  type SentContext,
  type SentInput,
  type SentSchema,
  type SentTool,
  type ToolFacts,
} from "./messages.ts";

/** The URL of this module, for the process that starts it. */
export const PLUGIN_CHILD_URL = import.meta.url;

/** The whole program of a plugin's process: answers the requests of the gate until the channel closes. */
export function servePlugin(): void {
  provideEngine(jsonSchemaEngine);
  // The reader of our output may be gone; that must not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const child = new PluginChild((message, written) => void process.send?.(message, undefined, {}, written));
  process.on("message", (message) => child.receive(message));
  process.on("disconnect", () => process.exit(0));
  process.on("uncaughtException", (error) => child.reportStray(error));
}

/** Max generator steps without a pause. */
const STEPS_PER_TURN = 64;
/** Max updates that the gate has not taken yet. Further ones wait here, so the gate never has more to do. */
const MAX_UPDATES_SENT = 64;
const MAX_ERROR_LENGTH = 4000;

class PluginChild {
  readonly #channel: Channel<ParentMethods, ChildMethods>;
  readonly #runs = new Map<number, ChildContext>();
  /** The call that an asynchronous operation belongs to. */
  readonly #current = new AsyncLocalStorage<number>();
  readonly #approvalListeners = new Map<number, NonNullable<NestedCallOptions["onApprovalRequested"]>>();
  #tools: readonly AnyTool[] = [];
  #lastBegin: Promise<void> = Promise.resolve();

  constructor(send: Send) {
    this.#channel = new Channel<ParentMethods, ChildMethods>(send, {
      load: (source) => this.#load(source),
      prepare: ({ tool, input }) => this.#prepare(this.#toolAt(tool), input),
      facts: ({ tool, input }) => factsOf(this.#toolAt(tool), input),
      preview: (request, id) => this.#preview(request, id),
      checkOutput: async ({ tool, details }) => {
        const { output } = this.#toolAt(tool);
        const validation = await output?.validate(details);
        return validation?.issues?.map(plainIssue);
      },
      run: (request, id) => this.#run(request, id),
      abort: ({ run, why }) => this.#runs.get(run)?.abort(receiveError(why) as ToolError),
      approvalRequested: ({ listener, approvalId }) => this.#approvalListeners.get(listener)?.(approvalId),
      ping: () => undefined,
    });
  }

  receive(message: unknown): void {
    this.#channel.receive(message);
  }

  /** What a tool left behind can fail at any time, and its state is unknown then: the process ends. */
  reportStray(error: unknown): void {
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    const [shown, trace] = [String(error), stack].map((text) => text.slice(0, MAX_ERROR_LENGTH));
    this.#channel.note("stray", { message: shown ?? "", stack: trace ?? "", run: this.#current.getStore() });
    // In the next turn: the message is written in this one.
    setImmediate(() => process.exit(1));
  }

  async #load(source: PluginSource): Promise<LoadedPlugin> {
    const plugin = await loadPlugin(source);
    const tools = await installPlugin(plugin, new ToolRegistry());
    for (const tool of tools) bindGate(tool, NO_GATE);
    this.#tools = tools;
    return { manifest: plugin.manifest, tools: tools.map(describe) };
  }

  #toolAt(index: number): AnyTool {
    const tool = this.#tools[index];
    if (!tool) throw new Error("The plugin has no such tool any more.");
    return tool;
  }

  async #prepare(tool: AnyTool, input: unknown): Promise<Prepared> {
    const validation = await tool.parameters.validate(input);
    if (validation.issues) return { issues: validation.issues.map(plainIssue) };
    const { value } = validation;
    const isCopied = canBeCopied(value);
    return { value: isCopied ? value : toPlainData(value).value, isCopied, facts: await factsOf(tool, value) };
  }

  async #inputOf(tool: AnyTool, { input, raw }: SentInput): Promise<unknown> {
    if (!raw) return input;
    const validation = await tool.parameters.validate(raw.input);
    if (validation.issues) throw toolError("invalid_input", "The input was valid before and is not any more");
    return validation.value;
  }

  async #preview(request: Parameters<ChildMethods["preview"]>[0], id: number): Promise<unknown> {
    const tool = this.#toolAt(request.tool);
    const input = await this.#inputOf(tool, request);
    const context = new ChildContext(this.#channel, this.#approvalListeners, id, request.context);
    const preview = await this.#current.run(id, () => tool.preview?.(input, context));
    const { value, faults } = toPlainData(preview, MAX_CONTENT_TEXT_LENGTH);
    if (!preview || faults.length === 0) return value;
    const lost = `what could not be sent (${faults.slice(0, 3).join("; ")})`;
    return { ...(value as Preview), omitted: preview.omitted === undefined ? lost : `${preview.omitted}; ${lost}` };
  }

  async #run(request: Parameters<ChildMethods["run"]>[0], id: number): Promise<unknown> {
    const tool = this.#toolAt(request.tool);
    const context = new ChildContext(this.#channel, this.#approvalListeners, id, request.context);
    this.#runs.set(id, context);
    try {
      const input = await this.#inputOf(tool, request);
      const { returned } = await this.#begin(id, () => bodyOf(tool)(input, context));
      const value = await (isAsyncIterator(returned)
        ? this.#current.run(id, () => drain(returned, { context, tool, graceMs: request.graceMs }))
        : returned);
      await context.updatesTaken();
      if (isJsonPrimitive(value, MAX_CONTENT_TEXT_LENGTH) && !tool.toModelOutput) return value;
      const read = readOutput(value, tool.output !== undefined);
      if (!tool.toModelOutput || read.error || read.pending) return read;
      const { callId: toolCallId } = request.context;
      const { content, failure: error } = await shownOutput(tool, { toolCallId, input, output: read.details });
      const metadata = { ...read.metadata, isForModel: true };
      return { ...read, content, error, metadata, display: firstLine(textOf(content)) };
    } catch (thrown) {
      const isAbort = thrown !== undefined && thrown === context.stoppedBy;
      throw new Sent(isAbort ? { ...sendError(thrown), isAbort } : sendError(thrown));
    } finally {
      this.#runs.delete(id);
    }
  }

  /**
   * Says that a call begins, then begins it. One after another: a call that has not begun is made again if the process ends,
   * so none may be reported as begun while the code of another one blocks.
   */
  async #begin(id: number, run: () => unknown): Promise<{ returned: unknown }> {
    const before = this.#lastBegin;
    let done = (): void => undefined;
    this.#lastBegin = new Promise((resolve) => (done = resolve));
    await before;
    try {
      await this.#channel.noteSafely("begun", id);
      return { returned: this.#current.run(id, run) };
    } finally {
      done();
    }
  }
}

const OUTSIDE_GATE =
  "A tool of a plugin runs in another process than the gate: call it with context.call, inside a tool.";
/** `tool.execute` would run outside of the gate. */
const NO_GATE: Gate = {
  execute: () => Promise.reject(new Error(OUTSIDE_GATE)),
  executeMany: () => Promise.reject(new Error(OUTSIDE_GATE)),
};

let lastListener = 0;

/** The context of a running tool; what it does reaches the gate as messages. */
class ChildContext implements ToolContext {
  /** The data of the host stays in its process. */
  readonly host = undefined;
  readonly callId: string;
  readonly caller: ToolContext["caller"];
  readonly workspace: string;
  readonly allowedPaths: readonly string[] | undefined;
  readonly waitForEnd: boolean;
  readonly authority: ToolContext["authority"];
  readonly #channel: Channel<ParentMethods, ChildMethods>;
  readonly #listeners: Map<number, NonNullable<NestedCallOptions["onApprovalRequested"]>>;
  readonly #run: number;
  #controller: AbortController | undefined = undefined;
  #stoppedBy: ToolError | undefined = undefined;
  #pauses = 0;
  readonly #updates: unknown[] = [];
  #sent = 0;
  #isSending = false;
  #updatesSent: Promise<void> | undefined = undefined;

  constructor(
    channel: Channel<ParentMethods, ChildMethods>,
    listeners: Map<number, NonNullable<NestedCallOptions["onApprovalRequested"]>>,
    run: number,
    sent: SentContext,
  ) {
    this.#channel = channel;
    this.#listeners = listeners;
    this.#run = run;
    this.callId = sent.callId;
    this.caller = sent.caller;
    this.workspace = sent.workspace;
    this.allowedPaths = sent.allowedPaths;
    this.waitForEnd = sent.waitForEnd;
    this.authority = sent.authority;
  }

  get stoppedBy(): ToolError | undefined {
    return this.#stoppedBy;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      this.#channel.note("listening", this.#run);
      if (this.#stoppedBy) this.#controller.abort(this.#stoppedBy);
    }
    return this.#controller.signal;
  }

  abort(why: ToolError): void {
    this.#stoppedBy = why;
    this.#controller?.abort(why);
  }

  // Getters that return functions: tools destructure the context, and a method would lose its `this`.
  get update(): ToolContext["update"] {
    return (partial) => {
      this.#updates.push(toPlainData(partial).value);
      if (!this.#isSending) this.#updatesSent = this.#sendUpdates();
    };
  }

  /** Resolves when no update waits. */
  async updatesTaken(): Promise<void> {
    await this.#updatesSent;
  }

  async #sendUpdates(): Promise<void> {
    this.#isSending = true;
    while (this.#updates.length > 0) {
      for (const partial of this.#updates.splice(0)) {
        const update = { run: this.#run, partial };
        this.#sent += 1;
        if (this.#sent % MAX_UPDATES_SENT !== 0) this.#channel.note("update", update);
        else await this.#channel.request("update", update).answer.catch(() => undefined);
      }
    }
    this.#isSending = false;
  }

  get pauseTimeLimit(): ToolContext["pauseTimeLimit"] {
    return () => {
      const pause = ++this.#pauses;
      this.#channel.note("pause", { run: this.#run, pause });
      return () => this.#channel.note("resume", { run: this.#run, pause });
    };
  }

  get call(): ToolContext["call"] {
    return ((target: AnyTool | string, input?: unknown, options?: NestedCallOptions) =>
      this.#call(target, input, options)) as ToolContext["call"];
  }

  async #call(target: AnyTool | string, input: unknown, options: NestedCallOptions = {}): Promise<unknown> {
    const { onApprovalRequested, ...rest } = options;
    const listener = onApprovalRequested ? ++lastListener : undefined;
    if (listener !== undefined && onApprovalRequested) this.#listeners.set(listener, onApprovalRequested);
    const name = isTool(target) ? `${target.name}@${target.version}` : String(target);
    // As in the process of the gate: what cannot be copied is not input.
    const request = { run: this.#run, name, input: toPlainData(input).value, options: rest, listener };
    try {
      return await this.#channel.request("call", request).answer;
    } finally {
      if (listener !== undefined) this.#listeners.delete(listener);
    }
  }
}

/** A generator's yields are updates, its return value the output. One that was stopped ends at its next step. */
async function drain(
  updates: AsyncIterator<unknown, unknown>,
  { context, tool, graceMs }: { context: ChildContext; tool: AnyTool; graceMs: number },
): Promise<unknown> {
  // One that may have had an effect can still end within its grace period.
  const patience = tool.isReadOnly || tool.idempotent ? 0 : graceMs;
  let stoppedAt: number | undefined;
  for (let steps = 1; ; steps++) {
    if (steps % STEPS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    const step = await updates.next();
    if (step.done) return step.value;
    if (context.stoppedBy) {
      stoppedAt ??= performance.now();
      if (performance.now() - stoppedAt >= patience) {
        await updates.return?.();
        throw context.stoppedBy;
      }
    }
    context.update(step.value as string);
    await context.updatesTaken();
  }
}

function isAsyncIterator(value: unknown): value is AsyncIterator<unknown, unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
}

/** All at once, because each question is a message. */
async function factsOf(tool: AnyTool, input: unknown): Promise<ToolFacts> {
  const { locks, signature, rule, labelsOf, limits, cache } = tool;
  const { timeoutMs } = limits;
  const facts: ToolFacts = { permission: await fact(() => tool.permission(input)) };
  if (locks) facts.locks = await fact(() => locks(input));
  if (signature) facts.signature = await fact(() => signature(input));
  if (rule) facts.rule = await fact(() => rule(input));
  if (labelsOf) facts.labelsOf = await fact(() => labelsOf(input));
  if (typeof timeoutMs === "function") {
    const ask = (waitForEnd: boolean): number => timeoutMs(input, { waitForEnd });
    facts.timeoutMs = await fact(() => ({ waiting: ask(true), other: ask(false) }));
  }
  if (cache?.key) facts.cacheKey = await fact(() => cache.key?.(input) ?? "");
  if (cache?.resources) facts.cacheResources = await fact(() => cache.resources?.(input) ?? []);
  return facts;
}

async function fact<T>(ask: () => T | Promise<T>): Promise<Fact<T>> {
  try {
    return { value: await ask() };
  } catch (thrown) {
    return { error: sendError(thrown) };
  }
}

function describe(tool: AnyTool): SentTool {
  const unsent = (["convertInput", "redirect"] as const).find((name) => tool[name]);
  if (unsent) {
    throw new TypeError(`Tool "${tool.name}" has \`${unsent}\`, which a plugin in a process of its own cannot have.`);
  }
  const { parameters, output, limits, cache, origin: _origin, parameterAliases, ...others } = tool;
  const permission = constantPermission(tool);
  const fields = Object.fromEntries(
    Object.entries(others).filter(([key, value]) => typeof value !== "function" && !DERIVED.has(key)),
  );
  // The kind of such a tool is only the strictest one that `createTool` assumes.
  if (tool.permission === saysNothing) delete fields["kind"];
  const { timeoutMs, ...otherLimits } = limits;
  return {
    fields: plainJson({ ...fields, parameterAliases: Object.fromEntries(parameterAliases) }) as SentTool["fields"],
    parameters: describeSchema(parameters),
    output: output && describeSchema(output),
    limits: typeof timeoutMs === "number" ? { ...otherLimits, timeoutMs } : otherLimits,
    cache: cache && { ttlMs: cache.ttlMs },
    permission: permission?.value,
    functions: {
      permission: permission === undefined,
      locks: tool.locks !== undefined,
      signature: tool.signature !== undefined,
      rule: tool.rule !== undefined,
      labelsOf: tool.labelsOf !== undefined,
      timeoutMs: typeof timeoutMs === "function",
      cacheKey: cache?.key !== undefined,
      cacheResources: cache?.resources !== undefined,
      preview: tool.preview !== undefined,
    },
    labelsIgnoreResult: (tool.labelsOf?.length ?? 0) < 2,
  };
}

/** `createTool` makes these itself. What a model writes is not sent to plugins before it is a call. */
const DERIVED = new Set(["isReadOnly", "isConcurrencySafe", "inputListeners"]);

/** What is known without the input. Undefined: only the tool's function knows. */
function constantPermission({ permission }: AnyTool): { value: ToolPermission | undefined } | undefined {
  if (permission === neverAsks) return { value: "auto" };
  if (permission === alwaysAsks) return { value: "confirm" };
  return permission === saysNothing || permission === statesOnlyKind ? { value: undefined } : undefined;
}

/** The gate validates by itself only if the plugin gave a JSON Schema or a list of parameters. */
function describeSchema(schema: Schema): SentSchema {
  const jsonSchema = plainJson(schema.jsonSchema) as SentSchema["jsonSchema"];
  return { jsonSchema, isWhole: isJsonSchema(schema) };
}

function plainJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

function plainIssue(issue: SchemaIssue): SchemaIssue {
  const path = pathOf(issue).map((part) => (typeof part === "symbol" ? String(part) : part));
  return { message: String(issue.message), path };
}

/** Whether a structured clone is the same value: no functions, and no objects of classes that lose their class. */
function canBeCopied(value: unknown, depth = 0): boolean {
  if (typeof value === "function" || typeof value === "symbol" || depth > 100) return false;
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((each) => canBeCopied(each, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    return Object.values(value).every((each) => canBeCopied(each, depth + 1));
  }
  if (prototype === Map.prototype)
    return [...(value as Map<unknown, unknown>)].flat().every((each) => canBeCopied(each));
  if (prototype === Set.prototype) return [...(value as Set<unknown>)].every((each) => canBeCopied(each));
  return [Date, RegExp, Uint8Array, ArrayBuffer].some(({ prototype: known }) => known === prototype);
}

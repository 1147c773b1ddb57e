import type { PluginSource } from "../../config/plugins.ts";
import type { CallAuthority, Caller } from "../../core/call.ts";
import { failureText, isErrorCode, toFailure, ToolError, type ToolFailure } from "../../core/error.ts";
import type { PluginManifest } from "../../core/plugin.ts";
import type { Signature } from "../../core/signature.ts";
import type { AnyTool, TaintLabel, ToolPermission } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import type { SchemaIssue } from "../../schema/schema.ts";

/** What the process of a plugin offers to the gate. */
export interface ChildMethods {
  load(plugin: PluginSource): LoadedPlugin;
  /** Validates an input with the plugin's own schema, and asks the tool's functions about it. */
  prepare(request: { tool: number; input: unknown }): Prepared;
  /** The same functions for an input that was not prepared. */
  facts(request: { tool: number; input: unknown }): ToolFacts;
  preview(request: { tool: number; context: SentContext } & SentInput): unknown;
  checkOutput(request: { tool: number; details: unknown }): readonly SchemaIssue[] | undefined;
  run(request: { tool: number; context: SentContext; graceMs: number } & SentInput): unknown;
  abort(request: { run: number; why: SentError }): void;
  /** A nested call waits for a person. */
  approvalRequested(request: { listener: number; approvalId: string }): void;
  ping(): void;
}

/** What the gate offers to the process of a plugin. */
export interface ParentMethods {
  /** The code of the tool has started. */
  begun(run: number): void;
  /** The tool has read its signal. */
  listening(run: number): void;
  /** As a request: the answer says that the earlier ones were taken too. */
  update(request: { run: number; partial: unknown }): void;
  call(request: { run: number; name: string; input: unknown; options: object; listener?: number }): unknown;
  pause(request: { run: number; pause: number }): void;
  resume(request: { run: number; pause: number }): void;
  /** An error that no call caught; the process ends. */
  stray(request: { message: string; stack: string; run: number | undefined }): void;
}

export interface LoadedPlugin {
  manifest: PluginManifest;
  tools: SentTool[];
}

/** The fields of a tool that are data, as `createTool` takes them, and which functions it has. */
export interface SentTool {
  fields: Record<string, unknown> & Pick<AnyTool, "name" | "description" | "kind" | "idempotent" | "labels">;
  parameters: SentSchema;
  output?: SentSchema;
  limits: Omit<AnyTool["limits"], "timeoutMs"> & { timeoutMs?: number };
  cache?: { ttlMs: number };
  permission?: ToolPermission;
  functions: Record<FactName | "preview", boolean>;
  /** `labelsOf` does not look at the result. */
  labelsIgnoreResult: boolean;
}

/** `isWhole`: the JSON Schema says everything, so the gate can validate by itself. */
export interface SentSchema {
  jsonSchema: JsonSchema;
  isWhole: boolean;
}

export const FACT_NAMES = [
  "permission",
  "locks",
  "signature",
  "rule",
  "labelsOf",
  "timeoutMs",
  "cacheKey",
  "cacheResources",
] as const;
export type FactName = (typeof FACT_NAMES)[number];

/** What the functions of a tool returned for one input, each with the error if it threw. */
export interface ToolFacts {
  permission?: Fact<ToolPermission | undefined>;
  locks?: Fact<readonly string[]>;
  signature?: Fact<string | Signature>;
  rule?: Fact<string | undefined>;
  labelsOf?: Fact<readonly TaintLabel[]>;
  /** If the caller waits for the end, and if not. */
  timeoutMs?: Fact<{ waiting: number; other: number }>;
  cacheKey?: Fact<string>;
  cacheResources?: Fact<readonly string[]>;
}
export type Fact<T> = { value: T } | { error: SentError };

/** `isCopied: false`: the value has parts that lose their meaning as a copy, such as a URL object. */
export type Prepared =
  | { issues: readonly SchemaIssue[] }
  | { issues?: undefined; value: unknown; isCopied: boolean; facts: ToolFacts };

/** The validated input; or the one that was sent, if a copy of the validated one would not be the same. */
export type SentInput = { input: unknown; raw?: undefined } | { input?: undefined; raw: { input: unknown } };

/** The part of a tool's context that is data. */
export interface SentContext {
  callId: string;
  caller: Caller;
  workspace: string;
  allowedPaths: readonly string[] | undefined;
  waitForEnd: boolean;
  authority: CallAuthority;
}

/** `isAbort`: the reason of the tool's signal itself. */
export interface SentError {
  failure: ToolFailure;
  isToolError: boolean;
  isAbort?: boolean;
}

export function sendError(thrown: unknown): SentError {
  const failure = toFailure(thrown);
  if (thrown instanceof ToolError) return { failure, isToolError: true };
  // A plugin has its own copy of Haft, so also of the class.
  if (thrown instanceof Error && "toolName" in thrown && "code" in thrown && isErrorCode(thrown.code)) {
    const { summary, next, data } = thrown as Partial<ToolError>;
    const message = typeof summary === "string" ? summary : thrown.message;
    const copy = new ToolError("", message, undefined, { code: thrown.code, next, data });
    return { failure: { ...toFailure(copy), name: thrown.name }, isToolError: true };
  }
  return { failure, isToolError: false };
}

/** The tool threw the reason of its signal. */
export class AbortReason extends ToolError {}

function isSentError(value: unknown): value is SentError {
  return isObject(value) && isObject(value["failure"]) && typeof value["failure"]["message"] === "string";
}

export function receiveError({ failure, isToolError, isAbort }: SentError): Error {
  const { message, code, next, data, name } = failure;
  if (isAbort) return new AbortReason("", message, undefined, { code, next, data });
  const error = isToolError ? new ToolError("", message, undefined, { code, next, data }) : new Error(message);
  error.name = name;
  return error;
}

type Methods<M> = {
  [Name in keyof M]: M[Name] extends (request: infer Request) => infer Answer ? [Request, Answer] : never;
};
type Message =
  | { type: "request"; id: number; method: string; body: unknown }
  | { type: "note"; method: string; body: unknown }
  | { type: "answer"; id: number; body: unknown }
  | { type: "error"; id: number; error: SentError };

/** `written` is called when the message can no longer be lost if this process ends. */
export type Send = (message: object, written?: () => void) => void;

interface Waiting {
  resolve(value: never): void;
  reject(error: unknown): void;
}

/** Requests, answers and notes between the gate and the process of a plugin; both sides have one. */
export class Channel<Theirs, Ours> {
  readonly #send: Send;
  readonly #ours: { [Name in keyof Ours]: (request: Methods<Ours>[Name][0], id: number) => unknown };
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #closedBy: { error: unknown } | undefined = undefined;

  constructor(send: Send, ours: { [Name in keyof Ours]: (request: Methods<Ours>[Name][0], id: number) => unknown }) {
    this.#send = send;
    this.#ours = ours;
  }

  /** The id of the request names it in later notes. Rejects if the body cannot be copied. */
  request<Name extends keyof Theirs & string>(
    method: Name,
    body: Methods<Theirs>[Name][0],
  ): { id: number; answer: Promise<Awaited<Methods<Theirs>[Name][1]>> } {
    const id = ++this.#last;
    const answer = new Promise<Awaited<Methods<Theirs>[Name][1]>>((resolve, reject) => {
      if (this.#closedBy) return reject(this.#closedBy.error as Error);
      this.#waiting.set(id, { resolve, reject });
      try {
        this.#send({ type: "request", id, method, body } satisfies Message);
      } catch (error) {
        this.#waiting.delete(id);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    return { id, answer };
  }

  note<Name extends keyof Theirs & string>(method: Name, body: Methods<Theirs>[Name][0]): void {
    this.#send({ type: "note", method, body } satisfies Message);
  }

  /** Resolves when the note can no longer be lost if this process ends. */
  noteSafely<Name extends keyof Theirs & string>(method: Name, body: Methods<Theirs>[Name][0]): Promise<void> {
    return new Promise((resolve) => this.#send({ type: "note", method, body } satisfies Message, resolve));
  }

  receive(received: unknown): void {
    // A plugin may have its own use for `process.send`, and what it sends must not end this process.
    if (!isObject(received)) return;
    const message = received as Message;
    if (message.type === "request") void this.#serve(message.id, message.method, message.body);
    else if (message.type === "note") this.#take(message.method, message.body);
    else if (message.type === "answer") this.#takeWaiting(message.id)?.resolve(message.body as never);
    else if (message.type === "error" && isSentError(message.error))
      this.#takeWaiting(message.id)?.reject(receiveError(message.error));
  }

  #takeWaiting(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  /** The other side is gone. */
  close(error: unknown): void {
    this.#closedBy = { error };
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #take(method: string, body: unknown): void {
    try {
      void this.#run(method, body, 0);
    } catch {
      // About a call that has ended.
    }
  }

  #run(method: string, body: unknown, id: number): unknown {
    if (!Object.hasOwn(this.#ours, method)) throw new Error(`There is no method "${method}".`);
    return this.#ours[method as keyof Ours](body as never, id);
  }

  async #serve(id: number, method: string, body: unknown): Promise<void> {
    try {
      this.#answer({ type: "answer", id, body: await this.#run(method, body, id) });
    } catch (thrown) {
      this.#answer({ type: "error", id, error: thrown instanceof Sent ? thrown.error : sendError(thrown) });
    }
  }

  #answer(message: Message & { id: number }): void {
    try {
      this.#send(message);
    } catch (thrown) {
      this.#send({ type: "error", id: message.id, error: sendError(thrown) } satisfies Message);
    }
  }
}

/** An error that is data already. */
export class Sent extends Error {
  readonly error: SentError;

  constructor(error: SentError) {
    super(failureText(error.failure));
    this.error = error;
  }
}

import type { Call, CallAuthority, CallOptions, Caller } from "../core/call.ts";
import type { ToolError } from "../core/error.ts";
import type { Update } from "../core/event.ts";
import { allowOnlyTools } from "../core/hold-to-names.ts";
import type { ToolResult } from "../core/result.ts";
import { toPlainData } from "../core/plain-data.ts";
import type { NestedCallOptions, ToolContext } from "../core/tool.ts";
import type { ToolGate } from "../core/tool-gate.ts";
import { continuationOf } from "./continue-call.ts";

export interface ContextHost {
  readonly workspace: string;
  callNested(parent: Call, name: string, input: unknown, options: CallOptions): Promise<ToolResult>;
  updated(call: Call, update: Update): void;
  nestedGate(parent: Call, narrow: (options: CallOptions) => CallOptions): ToolGate;
  /** Stops the time limit of a running call; gives what lets it go on. */
  pauseTimeLimit(call: Call): () => void;
}

/** A class for the sake of its getter: the signal is made when the tool asks for it, which few calls pay for. */
export class RunContext implements ToolContext {
  #controller: AbortController | undefined = undefined;
  #nested = 0;
  readonly #call: Call;
  readonly #host: ContextHost;

  constructor(call: Call, host: ContextHost) {
    this.#call = call;
    this.#host = host;
  }

  get callId(): string {
    return this.#call.id;
  }

  get caller(): Caller {
    return this.#call.caller;
  }

  get workspace(): string {
    return this.#host.workspace;
  }

  get allowedPaths(): readonly string[] | undefined {
    return this.#call.options.allowedPaths;
  }

  get authority(): CallAuthority {
    const { caller, scope, options } = this.#call;
    const { mode, allowedPaths, policy = [] } = options;
    const layers = [policy, scope ? allowOnlyTools(scope.names()) : []].flat();
    return structuredClone({
      caller,
      ...(mode ? { mode } : {}),
      ...(layers.length > 0 ? { policy: layers } : {}),
      ...(allowedPaths ? { allowedPaths } : {}),
    });
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#call.aborted) this.#controller.abort(this.#call.aborted);
    }
    return this.#controller.signal;
  }

  /** Whether the tool can have noticed that it is to stop. */
  get isListening(): boolean {
    return this.#controller !== undefined;
  }

  abort(why: ToolError): void {
    this.#controller?.abort(why);
  }

  // Getters of functions: tools take the context apart, and a method would lose its object.
  get update(): ToolContext["update"] {
    return (partial) => {
      if (!this.#call.answered) this.#host.updated(this.#call, toUpdate(partial));
    };
  }

  get pauseTimeLimit(): ToolContext["pauseTimeLimit"] {
    return () => this.#host.pauseTimeLimit(this.#call);
  }

  get call(): ToolContext["call"] {
    return (name, input = {}, nested = {}) => this.#callNested(name, input, nested);
  }

  get gateFor(): ToolContext["gateFor"] {
    return (caller) => {
      const { authority } = this;
      const { caller: parent, mode, policy = [], allowedPaths } = authority;
      return this.#host.nestedGate(this.#call, (options) => ({
        ...options,
        caller: {
          ...(parent.session === undefined ? {} : { session: parent.session }),
          ...(parent.user === undefined ? {} : { user: parent.user }),
          ...options.caller,
          ...caller,
          depth: parent.depth + 1,
          parent,
        },
        ...(mode ? { mode } : {}),
        policy: [...policy, ...[options.policy ?? []].flat()],
        ...(allowedPaths ? { allowedPaths } : {}),
      }));
    };
  }

  get toContinuation(): ToolContext["toContinuation"] {
    return () => continuationOf(this.#call);
  }

  #callNested(name: string, input: unknown, { step, onApprovalRequested }: NestedCallOptions): Promise<ToolResult> {
    const { options, idempotencyKey } = this.#call;
    const ordinal = step ?? ++this.#nested;
    return this.#host.callNested(this.#call, name, input, {
      id: `${this.#call.id}/${ordinal}`,
      // The same step of the same call, made again, is known again: that is how a chain goes on after an approval.
      ...(idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}/${ordinal}` }),
      caller: this.#call.caller,
      signal: this.signal,
      ...(options.allowedPaths ? { allowedPaths: options.allowedPaths } : {}),
      ...(options.mode ? { mode: options.mode } : {}),
      ...(options.policy ? { policy: options.policy } : {}),
      ...(onApprovalRequested ? { onApprovalRequested } : {}),
    });
  }
}

/** Whatever a tool sends: what events carry is plain data. */
function toUpdate(partial: unknown): Update {
  const { value } = toPlainData(partial);
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Update) : { details: value };
}

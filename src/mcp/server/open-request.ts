import type { ClientCapabilities, InputRequests, LoggingLevel } from "@modelcontextprotocol/server";
import { toolError } from "../../core/error.ts";
import { missingFor, readAnswers } from "./input-answers.ts";
import type { McpClientPeer } from "./mcp-client-peer.ts";
import { OpenTask } from "./open-task.ts";
import type { Round } from "./round.ts";

/** Why a round is over: there is a result, or somebody must be asked first. */
export type RoundEnd<T> =
  | { kind: "result"; result: T }
  | { kind: "inputs"; requests: InputRequests }
  | { kind: "question"; id: string };

interface PendingInput {
  requests: InputRequests;
  resolve(answers: Record<string, unknown> | Promise<Record<string, unknown>>): void;
}

const MAX_ANSWER_MS = 600_000;

/** A request that may take several rounds: what serves it stays, while the client comes back with answers. */
export class OpenRequest<T> implements McpClientPeer {
  /** Of what may outlive its round. An older client waits within its request, whose signal will do. */
  readonly #controller: AbortController | undefined;
  #round: Round;
  #requested: PendingInput | undefined;
  #task: OpenTask | undefined;
  #question: string | undefined;
  #wake: (() => void) | undefined;
  #served: Promise<T> | undefined;
  /** What the client would have to be able to do. */
  missing: ClientCapabilities | undefined;
  /** Whether what makes the result has ended. */
  isSettled = false;
  /** Whether it is to be begun, or after an answer begun again. */
  needsServing = true;
  /** Whether it has become a job: what asks now is the job, and the request is about to be answered. */
  isQueued = false;

  constructor(
    readonly id: string,
    round: Round,
  ) {
    this.#round = round;
    if (round.isModern) this.#controller = new AbortController();
  }

  get signal(): AbortSignal {
    return this.#controller?.signal ?? this.#round.signal;
  }

  get round(): Round {
    return this.#round;
  }

  get capabilities(): ClientCapabilities {
    return this.#round.capabilities;
  }

  /** The client is there, from now until the function that is returned is called. */
  enter(round: Round): () => void {
    this.#round = round;
    if (!this.#controller) return () => undefined;
    const abort = (): void => this.abort(round.signal.reason);
    if (round.signal.aborted) abort();
    else round.signal.addEventListener("abort", abort, { once: true });
    return () => round.signal.removeEventListener("abort", abort);
  }

  abort(reason: unknown): void {
    this.#controller?.abort(reason);
  }

  /** Begins, or after an answer begins again, what makes the result. */
  serve(work: () => Promise<T>): void {
    this.isSettled = false;
    this.needsServing = false;
    const served = work();
    this.#served = served;
    const settle = (): void => {
      if (this.#served === served) this.isSettled = true;
    };
    served.then(settle, settle);
  }

  /** What is made now. */
  get result(): Promise<T> {
    return this.#served!;
  }

  next(): Promise<RoundEnd<T>> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#requested) resolve({ kind: "inputs", requests: this.#requested.requests });
        else if (this.#question !== undefined) resolve({ kind: "question", id: this.#question });
      };
      this.#wake();
      this.result.then((result) => resolve({ kind: "result", result }), reject);
    });
  }

  /** The gate waits for an answer to this question; undefined where it does no more. */
  setQuestion(id: string | undefined): void {
    this.#question = id;
    this.#wake?.();
  }

  /** The client goes on with a task; whoever asks from now on, or has not been answered, asks through that. */
  becomeTask(): void {
    const task = (this.#task ??= new OpenTask());
    this.#requested?.resolve(task.ask(this.#requested.requests));
    this.#requested = undefined;
  }

  get task(): OpenTask | undefined {
    return this.#task;
  }

  async ask(requests: InputRequests): Promise<Readonly<Record<string, unknown>>> {
    this.#requireCapabilities(requests);
    if (this.#task) return this.#task.ask(requests);
    if (!this.#round.isModern) return this.#push(requests);
    const known = this.isQueued ? undefined : readAnswers(requests, this.#round.responses);
    if (known) return known;
    if (this.#requested)
      throw toolError("conflict", "The client is being asked already", { next: "Ask for all at once." });
    const answers = new Promise<Record<string, unknown>>((resolve, reject) => {
      this.#requested = { requests, resolve };
      this.signal.addEventListener(
        "abort",
        () => reject(toolError("cancelled", "The client does not answer any more")),
        {
          once: true,
        },
      );
    });
    this.#wake?.();
    return answers;
  }

  /** False where something is missing, and must be asked for again. */
  answer(responses: Readonly<Record<string, unknown>>): boolean {
    if (!this.#requested) return true;
    const answers = readAnswers(this.#requested.requests, responses);
    if (!answers) return false;
    const { resolve } = this.#requested;
    this.#requested = undefined;
    resolve(answers);
    return true;
  }

  log(level: LoggingLevel, data: unknown): Promise<void> {
    return this.#round.log(level, data);
  }

  async #push(requests: InputRequests): Promise<Record<string, unknown>> {
    const options = { signal: this.signal, timeoutMs: MAX_ANSWER_MS };
    const requested = Object.entries(requests).map(
      async ([key, request]) => [key, await this.#round.push(request, options)] as const,
    );
    return Object.fromEntries(await Promise.all(requested));
  }

  #requireCapabilities(requests: InputRequests): void {
    for (const request of Object.values(requests)) {
      const missing = missingFor(request, this.capabilities);
      if (!missing) continue;
      this.missing = missing;
      const what = Object.keys(missing)[0];
      throw toolError("failed", `The client cannot be asked: it has no ${what}`, {
        next: "Use a client that has it, or another tool.",
        data: { requiredCapabilities: missing },
      });
    }
  }
}

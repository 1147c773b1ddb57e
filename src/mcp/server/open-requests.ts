import { withDefaults } from "../../core/with-defaults.ts";
import type {
  ClientCapabilities,
  ElicitRequestFormParams,
  InputRequest,
  InputRequests,
  LoggingLevel,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Clock, Timer } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import type { McpService } from "./mcp-service.ts";
import type { McpClientPeer } from "./server-options.ts";

const NEEDED: Record<InputRequest["method"], string> = {
  "elicitation/create": "action",
  "sampling/createMessage": "content",
  "roots/list": "roots",
};

function isAnswer({ method }: InputRequest, response: unknown): boolean {
  return typeof response === "object" && response !== null && NEEDED[method] in response;
}

/** The answers to these requests and nothing else; undefined where one is missing, or is no answer. */
function readAnswers(
  requests: InputRequests,
  responses: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const answers: Record<string, unknown> = {};
  for (const [key, request] of Object.entries(requests)) {
    const answer = Object.hasOwn(responses, key) ? responses[key] : undefined;
    if (!isAnswer(request, answer)) return undefined;
    answers[key] = answer;
  }
  return answers;
}

/** What a client would have to be able to do to answer, and is not. */
function missingFor(request: InputRequest, capabilities: ClientCapabilities): ClientCapabilities | undefined {
  switch (request.method) {
    case "elicitation/create": {
      const isUrl = (request.params as { mode?: string }).mode === "url";
      if (isUrl) return capabilities.elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
      return canShowForm(capabilities) ? undefined : { elicitation: {} };
    }
    case "sampling/createMessage":
      return capabilities.sampling === undefined ? { sampling: {} } : undefined;
    case "roots/list":
      return capabilities.roots === undefined ? { roots: {} } : undefined;
  }
}

interface OpenTaskPendingInput {
  request: InputRequest;
  answer(response: unknown): void;
}

/** What a job of this process asks the client that follows it as a task. */
export class OpenTask {
  readonly #requested = new Map<string, OpenTaskPendingInput>();
  /** A key never means a second thing: clients tell by it what they were asked before. */
  readonly #used = new Set<string>();
  readonly #ended = new AbortController();

  /** What waits for an answer now. */
  get requests(): InputRequests | undefined {
    if (this.#requested.size === 0) return undefined;
    return Object.fromEntries([...this.#requested].map(([key, { request }]) => [key, request]));
  }

  async ask(requests: InputRequests): Promise<Record<string, unknown>> {
    const answers = Object.entries(requests).map(
      async ([key, request]) => [key, await this.#requestOne(key, request)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  }

  /** Answers to what is not asked (any more), and what is no answer, are passed over. */
  answer(responses: Readonly<Record<string, unknown>>): void {
    for (const [key, response] of Object.entries(responses)) {
      const requested = this.#requested.get(key);
      if (!requested || !isAnswer(requested.request, response)) continue;
      this.#requested.delete(key);
      requested.answer(response);
    }
  }

  end(): void {
    this.#ended.abort();
    this.#requested.clear();
  }

  #requestOne(name: string, request: InputRequest): Promise<unknown> {
    const { signal } = this.#ended;
    let key = name;
    for (let count = 2; this.#used.has(key); count++) key = `${name}_${count}`;
    this.#used.add(key);
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(toolError("cancelled", "The task has ended, and nobody answers any more"));
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      this.#requested.set(key, {
        request,
        answer: (response) => (signal.removeEventListener("abort", leave), resolve(response)),
      });
    });
  }
}

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

/** One request of a client, in either era. */
export interface Round {
  readonly isModern: boolean;
  readonly capabilities: ClientCapabilities;
  /** As the client calls itself: for a person to read, never to decide by. */
  readonly clientName: string;
  /** What the client answers to earlier questions. Not checked. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** What it was given to hold meanwhile. Not checked. */
  readonly state: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  progress(update: Update): void;
  log(level: LoggingLevel, data: unknown): Promise<void>;
  /** Asks the client over its connection, which only the older era can. */
  push(request: InputRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<unknown>;
}

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

export function readRound(context: ServerContext, server: Server, clock: Clock): Round {
  const { mcpReq } = context;
  const { envelope } = mcpReq;
  const isModern = envelope !== undefined;
  const meta = envelope as { [CAPABILITIES]?: ClientCapabilities; [CLIENT_INFO]?: { name: string } } | undefined;
  const capabilities = meta ? meta[CAPABILITIES] : server.getClientCapabilities();
  const client = meta ? meta[CLIENT_INFO] : server.getClientVersion();
  const state: unknown = mcpReq.requestState();
  return {
    isModern,
    capabilities: capabilities ?? {},
    clientName: client?.name ?? "unknown",
    responses: mcpReq.inputResponses ?? {},
    state: typeof state === "string" ? state : undefined,
    meta: mcpReq._meta ?? {},
    signal: mcpReq.signal,
    progress: createProgress(context, clock),
    log: (level, data) => mcpReq.log(level, data).catch(() => undefined),
    push(request, { signal, timeoutMs }) {
      const options = { signal, timeout: timeoutMs };
      switch (request.method) {
        case "elicitation/create":
          return mcpReq.elicitInput(request.params as ElicitRequestFormParams, options);
        case "sampling/createMessage":
          return mcpReq.requestSampling(request.params, options);
        case "roots/list":
          return mcpReq.send({ method: "roots/list" }, options);
      }
    },
  };
}

/** Whether a person at the client can be shown a form. A bare `elicitation: {}` means forms. */
export function canShowForm({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** A tool that waits keeps its slot in the gate, of which there are few; a call that waits for permission has none yet. */
export type SuspendedFor = "inputs" | "permission";

export interface SuspendedLimits {
  inputs: number;
  permission: number;
}

const DEFAULT_LIMITS: SuspendedLimits = { inputs: 2, permission: 1000 };
const MAX_TAKEN = 1000;

interface SuspendedRequest {
  request: OpenRequest<unknown>;
  owner: string;
  suspendedFor: SuspendedFor;
  timer: Timer;
  /** Its client came back; kept for the case that it comes twice. */
  isTaken: boolean;
}

/** Requests whose client was asked something, and is to come back. What nobody comes back for is stopped. */
export class SuspendedRequests {
  readonly #clock: Clock;
  readonly #limits: SuspendedLimits;
  readonly #suspended = new Map<string, SuspendedRequest>();

  constructor(clock: Clock, limits: Partial<SuspendedLimits> = {}) {
    this.#clock = clock;
    this.#limits = withDefaults(DEFAULT_LIMITS, limits);
  }

  add(
    request: OpenRequest<unknown>,
    { owner, suspendedFor, ms }: { owner: string; suspendedFor: SuspendedFor; ms: number },
  ): void {
    this.#forget(request.id);
    this.#evictOldest(owner, suspendedFor);
    const timer = this.#clock.after(ms, () => this.#drop(request.id, "its client did not come back in time"));
    timer.setRef(false);
    this.#suspended.set(request.id, { request, owner, suspendedFor, timer, isTaken: false });
  }

  take(id: string, owner: string): { request: OpenRequest<unknown>; isFirst: boolean } | undefined {
    const suspended = this.#suspended.get(id);
    if (suspended?.owner !== owner) return undefined;
    const isFirst = !suspended.isTaken;
    suspended.isTaken = true;
    return { request: suspended.request, isFirst };
  }

  close(): void {
    for (const id of this.#suspended.keys()) this.#drop(id, "the server ends");
  }

  /** One's own oldest goes first. */
  #evictOldest(owner: string, suspendedFor: SuspendedFor): void {
    const all = [...this.#suspended.values()];
    const taken = all.filter(({ isTaken }) => isTaken);
    if (taken.length >= MAX_TAKEN) this.#forget(taken[0]!.request.id);
    const alike = all.filter((suspended) => !suspended.isTaken && suspended.suspendedFor === suspendedFor);
    if (alike.length < this.#limits[suspendedFor]) return;
    const oldest = alike.find((suspended) => suspended.owner === owner) ?? alike[0]!;
    this.#drop(oldest.request.id, "too many requests wait for their client");
  }

  #drop(id: string, why: string): void {
    const suspended = this.#forget(id);
    if (suspended && !suspended.isTaken) suspended.request.abort(new Error(why));
  }

  #forget(id: string): SuspendedRequest | undefined {
    const suspended = this.#suspended.get(id);
    suspended?.timer.cancel();
    this.#suspended.delete(id);
    return suspended;
  }
}

/** A tool may print a thousand lines a second; nobody reads them one by one. */
const MIN_INTERVAL_MS = 20;
const MAX_MESSAGE_LENGTH = 500;

/** Passes a tool's updates on as progress, which only ever rises. Does nothing where the client did not ask for it. */
function createProgress(context: ServerContext, clock: Clock): (update: Update) => void {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let last = Number.NEGATIVE_INFINITY;
  let reportedAt = Number.NEGATIVE_INFINITY;

  return ({ progress, content }) => {
    const message = progress?.message ?? (content && textOf(content));
    const value = progress?.done ?? Math.max(0, last + 1);
    const isEnd = progress?.total !== undefined && value >= progress.total;
    const now = clock.monotonic();
    if (value <= last || (!isEnd && now - reportedAt < MIN_INTERVAL_MS)) return;
    last = value;
    reportedAt = now;
    const params = {
      progressToken,
      progress: value,
      total: progress?.total === undefined ? undefined : progress.total,
      message: message ? message.slice(0, MAX_MESSAGE_LENGTH) : undefined,
    };
    // Whoever does not hear it does not need it.
    context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** Below the minute after which most clients give a request up. */
const DEFAULT_HOLD_MS = 45_000;

/** What is waited for while its client waits, too; undefined where the client is gone, or would give up soon. */
export async function waitWithClient<T>(
  call: OpenRequest<unknown>,
  { options, clock }: McpService,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (call.signal.aborted) abort();
  call.signal.addEventListener("abort", abort, { once: true });
  const timer = clock.after(options.holdMs ?? DEFAULT_HOLD_MS, abort);
  try {
    return await wait(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
    call.signal.removeEventListener("abort", abort);
  }
}

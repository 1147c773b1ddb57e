import { withDefaults } from "../../core/options.ts";
import type {
  ClientCapabilities,
  ElicitRequestFormParams,
  InputRequest,
  InputRequests,
  LoggingLevel,
  ProgressNotification,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Clock, Timer } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import type { McpService } from "./mcp-service.ts";
import type { McpClientPeer } from "./server-options.ts";

const REQUIRED_KEYS: Record<InputRequest["method"], string> = {
  "elicitation/create": "action",
  "sampling/createMessage": "content",
  "roots/list": "roots",
};

function isAnswer({ method }: InputRequest, response: unknown): boolean {
  return typeof response === "object" && response !== null && REQUIRED_KEYS[method] in response;
}

/** The answers to exactly these requests; undefined if one is missing or invalid. */
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

/** The capabilities that the client lacks to answer. */
function missingFor(request: InputRequest, capabilities: ClientCapabilities): ClientCapabilities | undefined {
  switch (request.method) {
    case "elicitation/create": {
      const isUrl = request.params.mode === "url";
      if (isUrl) return capabilities.elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
      return canShowForm(capabilities) ? undefined : { elicitation: {} };
    }
    case "sampling/createMessage":
      return capabilities.sampling === undefined ? { sampling: {} } : undefined;
    case "roots/list":
      return capabilities.roots === undefined ? { roots: {} } : undefined;
  }
}

interface TaskInput {
  request: InputRequest;
  answer(response: unknown): void;
}

/** The input requests of a job in this process to the client that follows it as a task. */
export class OpenTask {
  readonly #requested = new Map<string, TaskInput>();
  /** Keys are never reused, because clients recognise earlier requests by them. */
  readonly #used = new Set<string>();
  readonly #ended = new AbortController();

  /** The open requests. */
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

  /** Ignores invalid answers, and answers to requests that are not open. */
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
      const abort = (): void => reject(toolError("cancelled", "The task has ended before it was answered"));
      if (signal.aborted) return abort();
      signal.addEventListener("abort", abort, { once: true });
      this.#requested.set(key, {
        request,
        answer: (response) => (signal.removeEventListener("abort", abort), resolve(response)),
      });
    });
  }
}

/** Why a round is over: there is a result, or input or an approval is needed. */
export type RoundEnd<T> =
  | { kind: "result"; result: T }
  | { kind: "inputs"; requests: InputRequests }
  | { kind: "question"; id: string };

interface PendingInput {
  requests: InputRequests;
  resolve(answers: Record<string, unknown> | Promise<Record<string, unknown>>): void;
}

const MAX_ANSWER_MS = 600_000;

/** A request that may take several rounds. The work continues while the client returns with answers. */
export class OpenRequest<T> implements McpClientPeer {
  /** For modern clients, whose requests may take several rounds. Legacy clients use the signal of the round. */
  readonly #controller: AbortController | undefined;
  #round: Round;
  #requested: PendingInput | undefined;
  #task: OpenTask | undefined;
  #question: string | undefined;
  #wake: (() => void) | undefined;
  #served: Promise<T> | undefined;
  /** The capabilities that the client lacks. */
  missing: ClientCapabilities | undefined;
  /** Whether the work has ended. */
  isSettled = false;
  /** Whether the work must be started, or started again after an answer. */
  needsServing = true;
  /** Whether the call has become a job: further requests come from the job, and the response is about to be sent. */
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

  /** Starts a round. Call the returned function at its end. */
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

  /** Starts the work, or starts it again after an answer. */
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

  /** The result of the current work. */
  get result(): Promise<T> {
    return this.#served ?? Promise.reject(new Error("The request was not started."));
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

  /** Sets the question that the gate waits for; undefined if it no longer waits. */
  setQuestion(id: string | undefined): void {
    this.#question = id;
    this.#wake?.();
  }

  /** The client follows the call as a task. Open and further input requests go through the task. */
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
    const received = this.isQueued ? undefined : readAnswers(requests, this.#round.responses);
    if (received) return received;
    if (this.#requested) {
      throw toolError("conflict", "The client already has an open request", { next: "Request all inputs at once." });
    }
    const answers = new Promise<Record<string, unknown>>((resolve, reject) => {
      this.#requested = { requests, resolve };
      const abort = (): void => reject(toolError("cancelled", "The client no longer answers"));
      this.signal.addEventListener("abort", abort, { once: true });
    });
    this.#wake?.();
    return answers;
  }

  /** Returns false if an answer is missing, so the client must be asked again. */
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
      const [capability] = Object.keys(missing);
      throw toolError("failed", `The client cannot be asked: it has no ${capability}`, {
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
  /** The name that the client gives itself. For display only, because it is not verified. */
  readonly clientName: string;
  /** The client's answers to earlier input requests. Not checked. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** The request state that the client returns. Not checked. */
  readonly state: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  progress(update: Update): void;
  log(level: LoggingLevel, data: unknown): Promise<void>;
  /** Sends a request to the client over its connection. Only for legacy clients. */
  push(request: InputRequest, options: PushOptions): Promise<unknown>;
}

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

export function readRound(context: ServerContext, server: Server, clock: Clock): Round {
  const { mcpReq } = context;
  const { envelope } = mcpReq;
  const isModern = envelope !== undefined;
  // The SDK does not type the keys of the envelope.
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
    progress: createProgress(mcpReq._meta?.progressToken, (notification) => mcpReq.notify(notification), clock),
    log: (level, data) => mcpReq.log(level, data).catch(() => undefined),
    push(request, options) {
      if (request.method !== "roots/list") return pushToClient(server, request, options);
      // Over HTTP it must belong to the stream of this request.
      return mcpReq.send({ method: "roots/list" }, { signal: options.signal, timeout: options.timeoutMs });
    },
  };
}

interface PushOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** The answer to a form is returned even if it does not match the form: the caller says what is wrong with it. */
  isUnchecked?: boolean;
}

/** Sends a request to a legacy client over its connection. */
export function pushToClient(
  server: Server,
  request: InputRequest,
  { signal, timeoutMs, isUnchecked }: PushOptions,
): Promise<unknown> {
  const options = { signal, timeout: timeoutMs };
  switch (request.method) {
    case "elicitation/create":
      if (isUnchecked) return server.request(request, options);
      return server.elicitInput(request.params as ElicitRequestFormParams, options);
    case "sampling/createMessage":
      return server.createMessage(request.params, options);
    case "roots/list":
      return server.listRoots(undefined, options);
  }
}

/** Whether the client can show a form to a person. An empty `elicitation: {}` means forms. */
export function canShowForm({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** A tool that waits for inputs keeps its slot in the gate, so few may wait. A call that waits for permission has no slot. */
type SuspendedFor = "inputs" | "permission";

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
  /** The client has returned. Kept in case it sends the request twice. */
  isTaken: boolean;
}

/** Requests that wait for their client to return with answers. They are aborted if it does not return in time. */
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
    const timer = this.#clock.after(ms, () => this.#drop(request.id, "its client did not return in time"));
    timer.setRef(false);
    this.#suspended.set(request.id, { request, owner, suspendedFor, timer, isTaken: false });
  }

  /** Ids are unique per method, so `T` is the result type of the request that was added with this id. */
  take<T>(id: string, owner: string): { request: OpenRequest<T>; isFirst: boolean } | undefined {
    const suspended = this.#suspended.get(id);
    if (suspended?.owner !== owner) return undefined;
    const isFirst = !suspended.isTaken;
    suspended.isTaken = true;
    return { request: suspended.request as OpenRequest<T>, isFirst };
  }

  close(): void {
    for (const id of this.#suspended.keys()) this.#drop(id, "the server shuts down");
  }

  /** Evicts the oldest request of the same owner first. */
  #evictOldest(owner: string, suspendedFor: SuspendedFor): void {
    const all = [...this.#suspended.values()];
    const [firstTaken, ...otherTaken] = all.filter(({ isTaken }) => isTaken);
    if (firstTaken && otherTaken.length + 1 >= MAX_TAKEN) this.#forget(firstTaken.request.id);
    const waiting = all.filter((suspended) => !suspended.isTaken && suspended.suspendedFor === suspendedFor);
    if (waiting.length < this.#limits[suspendedFor]) return;
    const oldest = waiting.find((suspended) => suspended.owner === owner) ?? waiting[0];
    if (oldest) this.#drop(oldest.request.id, "too many requests wait for their client");
  }

  #drop(id: string, reason: string): void {
    const suspended = this.#forget(id);
    if (suspended && !suspended.isTaken) suspended.request.abort(new Error(reason));
  }

  #forget(id: string): SuspendedRequest | undefined {
    const suspended = this.#suspended.get(id);
    suspended?.timer.cancel();
    this.#suspended.delete(id);
    return suspended;
  }
}

/** A tool may print a thousand lines a second, so progress is limited. */
const MIN_INTERVAL_MS = 20;
const MAX_MESSAGE_LENGTH = 500;

const NO_PROGRESS = (): void => undefined;

/** Reports updates of a tool as increasing progress. Does nothing if the client did not request progress. */
export function createProgress(
  progressToken: unknown,
  notify: (notification: ProgressNotification) => Promise<void>,
  clock: Clock,
): (update: Update) => void {
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return NO_PROGRESS;
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
      total: progress?.total,
      message: message ? message.slice(0, MAX_MESSAGE_LENGTH) : undefined,
    };
    // Lost progress does not matter.
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** Less than the minute after which many clients cancel a request. */
export const DEFAULT_HOLD_MS = 45_000;

/** Waits while the client waits. Returns undefined if the client has cancelled or would time out soon. */
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

import type { ClientCapabilities, InputRequest, InputRequests, LoggingLevel } from "@modelcontextprotocol/server";
import type { Clock, Timer } from "../../core/clock.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import { withDefaults } from "../../core/options.ts";
import { canShowForm, type Round } from "./round.ts";
import type { McpClientPeer, SuspendedLimits } from "./server-options.ts";

type Answers = Record<string, unknown>;

/** A person must answer, or a job has not ended while the client waited. Without work, the stored row says the rest. */
export type StoredNeed = { kind: "question"; id: string } | { kind: "job"; id: string; callId: string };

/** What a call needs before it continues. */
type Need =
  | StoredNeed
  | { kind: "inputs"; requests: InputRequests; resolve(answers: Answers | Promise<Answers>): void };

type Needs = readonly [Need, ...Need[]];

/** running → asking → suspended → … → ended, or task. Legacy clients answer while asking, modern ones suspended. */
export type CallState<T> =
  | { is: "running" }
  /** A request of the client is open, and what the call needs is about to be requested. */
  | { is: "asking"; needs: Needs }
  /** The client has a response, and makes another request to continue. */
  | { is: "suspended"; needs: Needs }
  /** The client follows the job, whose row has the result. */
  | { is: "task"; jobId: string; inputs: TaskInputs }
  | { is: "ended"; outcome: PromiseSettledResult<T> };

export function resultOf<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === "rejected") throw outcome.reason;
  return outcome.value;
}

/** What the work on a call came to. */
export type WorkEnd<T> = { kind: "result"; result: T } | StoredNeed;
export type Work<T> = (signal: AbortSignal) => Promise<WorkEnd<T>>;

type OnMove = (call: McpCall<unknown>, before: CallState<unknown>["is"]) => void;

const MAX_ANSWER_MS = 600_000;

/** A call of a tool, or of a prompt, from its first request to its result. Every request of its client is one round. */
export class McpCall<T> implements McpClientPeer {
  readonly #onMove: OnMove;
  readonly #waiting: (() => void)[] = [];
  /** The rounds that have no response yet. */
  readonly #open = new Set<Round>();
  #state: CallState<T>;
  /** The last of them. It stays while there is work, which may still report to its client. */
  #round: Round | undefined;
  /** While there is work. A call that only its row knows has none. */
  #work: { signal: AbortSignal; abort?(reason: unknown): void } | undefined;
  /** The capabilities that the client lacks. */
  missing: ClientCapabilities | undefined;
  /** The digest of its request, if the client was told to make the same request again. */
  content: string | undefined;
  /** Until it fires, the client may return, also twice with the same answers. */
  timer: Timer | undefined;

  constructor(
    readonly id: string,
    readonly owner: string,
    { need, onMove }: { need?: StoredNeed | undefined; onMove: OnMove },
  ) {
    this.#state = need ? { is: "suspended", needs: [need] } : { is: "running" };
    this.#onMove = onMove;
  }

  get state(): CallState<T> {
    return this.#state;
  }

  /** Whether the gate, the tool or a wait for a job goes on in this process. */
  get isUnderWay(): boolean {
    return this.#work !== undefined;
  }

  get capabilities(): ClientCapabilities {
    return this.#round?.capabilities ?? {};
  }

  /** Starts a round. Call the returned function at its end. */
  enter(round: Round): () => void {
    this.#round = round;
    this.#open.add(round);
    const abort = (): void => this.abort(round.signal.reason);
    if (round.signal.aborted) abort();
    else if (round.isModern) round.signal.addEventListener("abort", abort, { once: true });
    if (this.#state.is === "suspended") this.#move({ ...this.#state, is: "asking" });
    return () => {
      if (round.isModern) round.signal.removeEventListener("abort", abort);
      this.#open.delete(round);
      if (this.#work || this.#state.is === "task") return;
      this.#round = [...this.#open].at(-1);
      if (!this.#round) this.suspend();
    };
  }

  abort(reason: unknown): void {
    this.#work?.abort?.(reason);
  }

  /**
   * Starts work in the current round. The request of a legacy client stays open, so its signal aborts the work: another one that
   * listens to it takes some 13 of the 110 µs of a call over stdio.
   */
  start(work: Work<T>): void {
    const round = this.#round;
    if (!round) throw noLongerAnswers();
    const controller = round.isModern ? new AbortController() : undefined;
    if (round.signal.aborted) controller?.abort(round.signal.reason);
    const { signal } = (this.#work = controller ?? { signal: round.signal });
    this.#move({ is: "running" });
    work(signal).then(
      (end) => this.#settle(end),
      (reason: unknown) => this.#end({ status: "rejected", reason }),
    );
  }

  /** There is what the call needed. Work under way continues by itself; otherwise `work` continues it. */
  continue({ kind, id }: StoredNeed, work: Work<T>): void {
    const need = this.#needs.find((each) => each.kind === kind && each.id === id);
    // Another round was faster.
    if (!need) return;
    if (this.#work) this.#remove(need);
    else this.start(work);
  }

  /** Waits until the call no longer runs. */
  async reach(): Promise<Exclude<CallState<T>, { is: "running" }>> {
    while (this.#state.is === "running") await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#state;
  }

  /** The gate waits for the answer to a question, of this call or of one that its tool makes. */
  waitForAnswer(id: string): void {
    if (this.#work && !this.#needs.some((need) => need.kind === "question" && need.id === id))
      this.#add({ kind: "question", id });
  }

  suspend(): void {
    if (this.#state.is === "asking") this.#move({ ...this.#state, is: "suspended" });
  }

  /** A job of this call exists. Its input requests go to the client that follows it, open ones too. */
  becomeTask(jobId: string): void {
    if (!this.#round?.followsTasks || this.#state.is === "task" || this.#state.is === "ended") return;
    const inputs = new TaskInputs();
    for (const need of this.#needs) if (need.kind === "inputs") need.resolve(inputs.ask(need.requests));
    this.#move({ is: "task", jobId, inputs });
  }

  async ask(requests: InputRequests): Promise<Readonly<Answers>> {
    const round = this.#round;
    if (!round) throw noLongerAnswers();
    this.#requireCapabilities(requests);
    if (this.#state.is === "task") return this.#state.inputs.ask(requests);
    const signal = this.#work?.signal ?? round.signal;
    if (!round.isModern) {
      return answerEach(requests, (_key, request) => round.push(request, { signal, timeoutMs: MAX_ANSWER_MS }));
    }
    const received = readAnswers(requests, round.responses);
    if (received) return received;
    if (this.#needs.some(({ kind }) => kind === "inputs")) {
      throw toolError("conflict", "The client already has an open request", { next: "Request all inputs at once." });
    }
    return new Promise<Answers>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(noLongerAnswers()), { once: true });
      this.#add({ kind: "inputs", requests, resolve });
    });
  }

  /** Passes the client's answers to the tool. If one is missing, the call still needs them. */
  answer(responses: Readonly<Answers>): void {
    const need = this.#needs.find((each) => each.kind === "inputs");
    const answers = need && readAnswers(need.requests, responses);
    if (!answers) return;
    this.#remove(need);
    need.resolve(answers);
  }

  progress(update: Update): void {
    this.#round?.progress(update);
  }

  async log(level: LoggingLevel, data: unknown): Promise<void> {
    await this.#round?.log(level, data);
  }

  get #needs(): readonly Need[] {
    return this.#state.is === "asking" || this.#state.is === "suspended" ? this.#state.needs : [];
  }

  #add(need: Need): void {
    const state = this.#state;
    if (state.is === "running") this.#move({ is: "asking", needs: [need] });
    else if (state.is === "asking" || state.is === "suspended") this.#move({ ...state, needs: [...state.needs, need] });
  }

  #remove(need: Need): void {
    const [first, ...others] = this.#needs.filter((each) => each !== need);
    this.#move(first ? { is: "asking", needs: [first, ...others] } : { is: "running" });
  }

  #settle(end: WorkEnd<T>): void {
    if (end.kind === "result") return this.#end({ status: "fulfilled", value: end.result });
    this.#work = undefined;
    if (end.kind === "job") this.becomeTask(end.id);
    const { is } = this.#state;
    if (is !== "task") this.#move({ is: is === "suspended" ? is : "asking", needs: [end] });
  }

  #end(outcome: PromiseSettledResult<T>): void {
    this.#work = undefined;
    this.#move({ is: "ended", outcome });
  }

  #move(state: CallState<T>): void {
    const before = this.#state.is;
    this.#state = state;
    this.#onMove(this, before);
    for (const wake of this.#waiting.splice(0)) wake();
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

type KeptAs = keyof SuspendedLimits | "repeated" | "ended";

/** A tool that waits for inputs keeps its slot in the gate, so few may wait. A call that waits for permission has no slot. */
const LIMITS: Readonly<Record<KeptAs, number>> = { inputs: 2, permission: 1000, repeated: 1000, ended: 1000 };

/**
 * The calls of one server by id. A call is here while work on it goes on in this process, while its client may return for the
 * result of that work, and while its client was told to make the same request again.
 */
export class McpCalls {
  readonly #clock: Clock;
  readonly #limits: typeof LIMITS;
  readonly #calls = new Map<string, McpCall<unknown>>();

  constructor(clock: Clock, limits: Partial<SuspendedLimits> = {}) {
    this.#clock = clock;
    this.#limits = withDefaults(LIMITS, limits);
  }

  /** With `need`, a call that only its row knows. */
  create<T>(id: string, owner: string, need?: StoredNeed): McpCall<T> {
    return new McpCall<T>(id, owner, { need, onMove: this.#onMove });
  }

  /** Ids are unique per method, and a client proves with its signed state that an id is its own. */
  get<T = unknown>(id: string): McpCall<T> | undefined {
    return this.#calls.get(id) as McpCall<T> | undefined;
  }

  /** The call that the client was told to make again. */
  findRepeated<T>(digest: () => string): McpCall<T> | undefined {
    let content: string | undefined;
    for (const call of this.#calls.values()) {
      if (call.content === undefined) continue;
      content ??= digest();
      if (call.content === content) return call as McpCall<T>;
    }
    return undefined;
  }

  /**
   * The client gets its response, and returns: with answers until a time, or with the same request. Returns false if the call
   * has continued in the meantime.
   */
  suspend(call: McpCall<unknown>, { until, content }: { until?: number; content?: string }): boolean {
    call.suspend();
    if (call.state.is !== "suspended") return false;
    call.content ??= content;
    if (!this.#isKept(call)) return true;
    this.#forget(call);
    this.#evictOldest(keptAs(call), call.owner);
    this.#evictOldest("ended", call.owner);
    this.#calls.set(call.id, call);
    if (until !== undefined && call.isUnderWay) {
      call.timer = this.#clock.after(until - this.#clock.now(), () => {
        call.timer = undefined;
        this.#drop(call, "its client did not return in time");
      });
      call.timer.setRef(false);
    }
    return true;
  }

  /** The client has the result, or the job that it follows has ended. */
  release(call: McpCall<unknown>): void {
    if (call.state.is === "task") call.state.inputs.end();
    call.content = undefined;
    if (!call.timer) this.#forget(call);
  }

  close(): void {
    for (const call of this.#calls.values()) this.#drop(call, "the server shuts down");
  }

  readonly #onMove: OnMove = (call, before) => {
    const { is } = call.state;
    if (is === "running" || is === "asking" || is === "task") this.#calls.set(call.id, call);
    else if (is === "ended" ? before !== "suspended" && !call.timer : !this.#isKept(call)) this.#forget(call);
  };

  #isKept(call: McpCall<unknown>): boolean {
    return call.isUnderWay || call.content !== undefined;
  }

  /** Evicts the oldest call of the same owner first. */
  #evictOldest(as: KeptAs | undefined, owner: string): void {
    const all = [...this.#calls.values()].filter((call) => keptAs(call) === as);
    if (as === undefined || all.length < this.#limits[as]) return;
    const oldest = all.find((call) => call.owner === owner) ?? all[0];
    if (oldest) this.#drop(oldest, "too many requests wait for their client");
  }

  /** Work for which nobody returns is aborted. The person may still answer a call that is made again. */
  #drop(call: McpCall<unknown>, reason: string): void {
    const as = keptAs(call);
    if (as === undefined) return;
    this.#forget(call);
    if (as === "inputs" || as === "permission") call.abort(new Error(reason));
  }

  #forget(call: McpCall<unknown>): void {
    call.timer?.cancel();
    call.timer = undefined;
    if (this.#calls.get(call.id) === call) this.#calls.delete(call.id);
  }
}

/** As what a call without an open request is kept. */
function keptAs({ state, content }: McpCall<unknown>): KeptAs | undefined {
  if (state.is === "ended") return "ended";
  if (state.is !== "suspended") return undefined;
  if (content !== undefined) return "repeated";
  return state.needs[0].kind === "inputs" ? "inputs" : "permission";
}

interface TaskInput {
  request: InputRequest;
  answer(response: unknown): void;
}

/** The input requests of a job in this process to the client that follows it as a task. */
export class TaskInputs {
  readonly #requested = new Map<string, TaskInput>();
  /** Keys are never reused, because clients recognise earlier requests by them. */
  readonly #used = new Set<string>();
  readonly #ended = new AbortController();

  /** The open requests. */
  get requests(): InputRequests | undefined {
    if (this.#requested.size === 0) return undefined;
    return Object.fromEntries([...this.#requested].map(([key, { request }]) => [key, request]));
  }

  ask(requests: InputRequests): Promise<Answers> {
    return answerEach(requests, (key, request) => this.#requestOne(key, request));
  }

  /** Ignores invalid answers, and answers to requests that are not open. */
  answer(responses: Readonly<Answers>): void {
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

async function answerEach(
  requests: InputRequests,
  answer: (key: string, request: InputRequest) => Promise<unknown>,
): Promise<Answers> {
  const answers = Object.entries(requests).map(async ([key, request]) => [key, await answer(key, request)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

const REQUIRED_KEYS: Record<InputRequest["method"], string> = {
  "elicitation/create": "action",
  "sampling/createMessage": "content",
  "roots/list": "roots",
};

function isAnswer({ method }: InputRequest, response: unknown): boolean {
  return typeof response === "object" && response !== null && REQUIRED_KEYS[method] in response;
}

/** The answers to exactly these requests; undefined if one is missing or invalid. */
function readAnswers(requests: InputRequests, responses: Readonly<Answers>): Answers | undefined {
  const answers: Answers = {};
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

function noLongerAnswers(): Error {
  return toolError("cancelled", "The client no longer answers");
}

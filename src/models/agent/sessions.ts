import { randomUUID } from "node:crypto";
import type { Caller, CallMode, CallPolicy } from "../../core/call.ts";
import type { CallSummary, RiskLevel } from "../../core/call-summary.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import type { EventOf } from "../../core/events.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { Agent, AgentEvent } from "./agent.ts";
import {
  type HistoryQuery,
  type Incoming,
  isBelow,
  type PendingCall,
  type Session,
  type SessionEntry,
  type SessionQuery,
  type SessionState,
  type SessionStore,
  type TurnEnd,
} from "./session-store.ts";
import {
  announcementId,
  driveSession,
  lateResultId,
  PROCESS_EXIT,
  type SessionEnvironmentStore,
} from "./session-turn.ts";

export interface SessionsOptions {
  store: SessionStore;
  clock: Clock;
  /** Throws, with the next step, if there is no agent, for example because no model is configured. */
  agentFor(session: Session): MaybePromise<Agent>;
  environments?: SessionEnvironmentStore;
  /** The result of an earlier call, if it is known by now: of a pending or an interrupted call. */
  resultOf?(
    session: Session,
    call: Pick<PendingCall, "callId" | "name"> & Partial<PendingCall>,
  ): MaybePromise<ToolResult | undefined>;
  /** Open questions to people about calls of the session, made in any process. Default: none. */
  questionsOf?(session: Session): MaybePromise<readonly SessionQuestion[]>;
  /** The maximum number of messages in the inbox of a session. Default: 200. */
  maxWaiting?: number;
  /** Reports problems in the background. */
  onProblem?(problem: string): void;
}

/** A question to a person that holds up a session. */
export interface SessionQuestion extends Pick<CallSummary, "subject"> {
  approvalId: string;
  callId: string;
  toolName: string;
  risk: RiskLevel;
  askedAt: number;
}

/**
 * A session as people see it. A turn that is held by a question is `waiting`: the stored state is only changed by the
 * process that runs the turn, and questions open and close in any process.
 */
export interface ObservedSession extends Session {
  questions: readonly SessionQuestion[];
}

interface NewSession {
  key?: string;
  label?: string;
  agent?: string;
  /** The caller for the calls of the session; the key of the session is added. */
  caller?: Partial<Caller>;
  /** The key of the session that spawns it. */
  parent?: string;
  toolNames?: readonly string[];
  policy?: readonly CallPolicy[];
  mode?: CallMode;
  environment?: Readonly<Record<string, string>>;
  /** The first message. */
  first?: Omit<Incoming, "at">;
}

const MAX_WAITING = 200;
const CHECK_INTERVAL_MS = 1_000;
const STOP_CHECK_INTERVAL_MS = 500;
const MAX_STOP_ATTEMPTS = 3;
const MAX_LISTED = 10_000;

interface Running {
  controller: AbortController;
  done: Promise<void>;
  /** Run once more after this. */
  again: boolean;
}

/** Stored conversations. One turn of each runs at a time, across all processes, and no message is lost. */
export class Sessions {
  readonly feed: SessionFeed;
  readonly #options: SessionsOptions;
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #running = new Map<string, Running>();
  /** The sessions that wait for a call, by call id. */
  readonly #awaited = new Map<string, string>();
  /** The sessions without an agent whose problem was reported. */
  readonly #unanswerable = new Set<string>();
  #checkTimer: Timer | undefined;
  #isClosed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.feed = new SessionFeed(options.store, options.clock);
  }

  /** Throws if a first message is given and there is no agent to answer it. */
  async create({ key = `ses_${randomUUID()}`, first, caller = {}, parent, ...request }: NewSession): Promise<Session> {
    const at = this.#clock.now();
    const parentSession = parent === undefined ? undefined : await this.#store.get(parent);
    const session: Session = {
      ...request,
      key,
      parent,
      root: parentSession?.root ?? parent ?? key,
      policy: request.policy ?? [],
      environment: request.environment ?? {},
      caller: { depth: 0, ...caller, session: key },
      state: "idle",
      turns: 0,
      pending: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      createdAt: at,
      updatedAt: at,
    };
    if (first) await this.#options.agentFor(session);
    if (!(await this.#store.add(session, first && { ...first, at }))) {
      throw toolError("conflict", `There is already a session "${key}"`, { next: "Choose another key." });
    }
    if (first) this.#schedule(key);
    return session;
  }

  async get(key: string): Promise<ObservedSession | undefined> {
    const session = await this.#store.get(key);
    return session && this.#observe(session);
  }

  async list({ state, ...query }: SessionQuery = {}): Promise<ObservedSession[]> {
    // A session that waits for a person may be stored as running.
    const stored: readonly (SessionState | undefined)[] = state === "waiting" ? ["running", "waiting"] : [state];
    const found: Session[] = [];
    for (const each of stored) found.push(...(await this.#store.list({ ...query, state: each })));
    const observed = await Promise.all(found.map((session) => this.#observe(session)));
    if (state === undefined) return observed;
    return observed
      .filter((session) => session.state === state)
      .sort((one, other) => other.updatedAt - one.updatedAt)
      .slice(0, query.limit);
  }

  history(key: string, query?: HistoryQuery): MaybePromise<SessionEntry[]> {
    return this.#store.history(key, query);
  }

  /** The number of messages in the inbox. */
  waiting(key: string): MaybePromise<number> {
    return this.#store.waiting(key);
  }

  /** Throws if there is no agent to answer. A message with a known id is not added again. */
  async send(
    key: string,
    item: Omit<Incoming, "at">,
    { waitMs = 0, signal }: { waitMs?: number; signal?: AbortSignal } = {},
  ): Promise<SendOutcome> {
    await this.#options.agentFor(await this.#require(key));
    await this.#push(key, item);
    if (waitMs <= 0) return { status: "accepted" };
    return outcomeOf(await this.#awaitTurn(key, item.id, waitMs, signal));
  }

  /** Removes the report to the parent about the turn that took this message: the parent already knows how it ended. */
  async dropReport(key: string, id: string): Promise<void> {
    const { parent } = await this.#require(key);
    const taken = (await this.#store.history(key)).find(({ incoming }) => incoming?.id === id);
    if (parent !== undefined && taken) await this.#store.drop(parent, announcementId(key, taken.turn));
  }

  /** Sends a message from a schedule or a program. It is stored even if there is no agent now. */
  async wake(key: string, text: string, id = `wake ${randomUUID()}`): Promise<void> {
    await this.#require(key);
    await this.#push(key, { id, kind: "wake", text });
  }

  /** Stops its turn and those of its descendants. Returns how many sessions were stopped. */
  async stop(key: string, { notifyParent = false }: { notifyParent?: boolean } = {}): Promise<number> {
    const session = await this.#require(key);
    const { parent, label, turns } = session;
    if (notifyParent && parent !== undefined && (await this.#isActive(session))) {
      const from = { session: key, label };
      await this.#push(parent, { id: `stopped ${key} ${turns}`, kind: "announce", text: "It was stopped.", from });
    }
    const tree = await this.#store.list({ root: session.root, limit: MAX_LISTED });
    let stopped = 0;
    for (const each of [session, ...tree.filter((other) => isBelow(other, key))]) {
      if (await this.#stopOne(each)) stopped++;
    }
    return stopped;
  }

  /** Must be called when a call ends: a session may wait for it. */
  onCallEnded({ callId, caller, result }: EventOf<"tool_call_completed" | "tool_call_failed">): void {
    if (caller.session === undefined || this.#awaited.get(callId) !== caller.session) return;
    this.#deliver(caller.session, result).catch(this.#report(caller.session));
  }

  /** Resumes interrupted turns, and checks regularly for work that other processes left. */
  async start(): Promise<void> {
    const waiting = await this.#store.list({ state: "waiting", limit: MAX_LISTED });
    for (const { key, pending } of waiting) this.#trackPending(key, pending);
    await this.#check();
  }

  /** Resolves when no turn runs in this process. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Interrupts running turns. They resume at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#checkTimer?.cancel();
    for (const { controller } of this.#running.values()) controller.abort(PROCESS_EXIT);
    await this.settled();
  }

  async #observe(session: Session): Promise<ObservedSession> {
    const { state } = session;
    const isOpen = state === "running" || state === "waiting";
    const questions = (isOpen && (await this.#options.questionsOf?.(session))) || [];
    return { ...session, questions, state: questions.length > 0 ? "waiting" : state };
  }

  async #require(key: string): Promise<Session> {
    const session = await this.#store.get(key);
    if (session) return session;
    throw toolError("path_not_found", `There is no session "${key}"`, { next: "Look at the list of sessions." });
  }

  async #push(key: string, item: Omit<Incoming, "at">): Promise<void> {
    const outcome = await this.#store.push(key, { ...item, at: this.#clock.now() }, this.#maxWaiting);
    if (outcome === "full") {
      throw toolError("busy", `${this.#maxWaiting} messages already wait for session "${key}"`, {
        next: "Wait until it has answered some.",
      });
    }
    this.#schedule(key);
  }

  /** Runs the turns of a session; if they are running already, once more after that. */
  #schedule(key: string): void {
    if (this.#isClosed) return;
    const running = this.#running.get(key);
    if (running) {
      running.again = true;
      return;
    }
    const controller = new AbortController();
    const entry: Running = { controller, again: false, done: Promise.resolve() };
    this.#running.set(key, entry);
    entry.done = this.#drive(key, controller)
      .catch(this.#report(key))
      .then(() => {
        this.#running.delete(key);
        if (entry.again) this.#schedule(key);
      });
  }

  async #drive(key: string, controller: AbortController): Promise<void> {
    if (!controller.signal.aborted && !(await this.#canAnswer(key))) return;
    const lease = await this.#store.claim(key);
    if (!lease) return;
    const stopWatching = this.#watchForStop(key, () => controller.abort("it was stopped"));
    const options = this.#options;
    try {
      await driveSession(lease, {
        store: this.#store,
        agentFor: (session) => options.agentFor(session),
        environments: options.environments,
        signal: controller.signal,
        now: () => this.#clock.now(),
        resultOf: (session, call) => options.resultOf?.(session, call),
        collectLateResults: (session) => this.#collectLateResults(session),
        emit: (event) => {
          if (event.type === "entry") this.#noteEntry(key, event.entry);
          this.feed.emit(key, event);
        },
      });
    } finally {
      stopWatching();
      await this.#store.release(lease, true);
    }
  }

  /** Without an agent the messages stay in the inbox for a process that has one. The problem is reported once. */
  async #canAnswer(key: string): Promise<boolean> {
    const session = await this.#store.get(key);
    if (!session) return false;
    try {
      await this.#options.agentFor(session);
      this.#unanswerable.delete(key);
      return true;
    } catch (error) {
      if (!this.#unanswerable.has(key)) this.#report(key)(error);
      this.#unanswerable.add(key);
      return false;
    }
  }

  /** Tracks the calls that an entry waits for, and runs the parent if the turn has ended. */
  #noteEntry(key: string, { message, incoming, end, turn }: SessionEntry): void {
    if (message?.role === "tool") {
      this.#trackPending(
        key,
        message.results.filter((result) => result.status === "pending"),
      );
    }
    if (incoming?.result) this.#awaited.delete(incoming.result.callId);
    if (end) {
      void Promise.resolve(this.#store.get(key))
        .then((session) => session?.parent !== undefined && turn > 0 && this.#schedule(session.parent))
        .catch(this.#report(key));
    }
  }

  #trackPending(key: string, calls: readonly { callId: string }[]): void {
    for (const { callId } of calls) this.#awaited.set(callId, key);
  }

  async #collectLateResults(session: Session): Promise<void> {
    for (const call of session.pending) {
      const result = await this.#options.resultOf?.(session, call);
      if (result && result.status !== "pending") await this.#deliver(session.key, { ...result, callId: call.callId });
    }
  }

  async #deliver(key: string, result: ToolResult): Promise<void> {
    await this.#push(key, { id: lateResultId(result.callId), kind: "result", text: textOf(result.content), result });
  }

  async #isActive({ key, state }: Session): Promise<boolean> {
    if (this.#running.has(key) || state === "running" || state === "waiting") return true;
    return (await this.#store.waiting(key)) > 0;
  }

  async #stopOne(session: Session): Promise<boolean> {
    const { key, pending } = session;
    if (!(await this.#isActive(session))) return false;
    for (const { callId } of pending) this.#awaited.delete(callId);
    await this.#store.requestStop(key);
    // More than once: a turn may end by itself at the moment it is stopped, and then wait for something.
    for (let attempts = 0; attempts < MAX_STOP_ATTEMPTS; attempts++) {
      if (!this.#running.has(key)) this.#schedule(key);
      const running = this.#running.get(key);
      running?.controller.abort("it was stopped");
      await running?.done;
      if (!(await this.#isActive({ ...session, ...(await this.#store.get(key)) }))) break;
    }
    return true;
  }

  async #check(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const waiting = await this.#store.list({ state: "waiting", limit: 1_000 });
      for (const session of waiting) await this.#collectLateResults(session);
      for (const key of await this.#store.due()) this.#schedule(key);
    } catch (error) {
      this.#options.onProblem?.(`Sessions could not be checked: ${errorMessage(error)}`);
    }
    if (this.#isClosed || !this.#store.shared) return;
    this.#checkTimer = this.#clock.after(CHECK_INTERVAL_MS, () => void this.#check());
    this.#checkTimer.setRef(false);
  }

  /** Checks regularly whether another process wants the turn to stop. Returns a function that ends the checks. */
  #watchForStop(key: string, stop: () => void): () => void {
    if (!this.#store.shared) return () => {};
    let timer: Timer | undefined;
    const scheduleNext = (): void => {
      timer = this.#clock.after(STOP_CHECK_INTERVAL_MS, () => {
        void Promise.resolve(this.#store.isStopRequested(key)).then(
          (isRequested) => (isRequested ? stop() : scheduleNext()),
          scheduleNext,
        );
      });
      timer.setRef(false);
    };
    scheduleNext();
    return () => timer?.cancel();
  }

  /** The end of the turn that took the message, in any process; undefined if that takes too long. */
  async #awaitTurn(
    key: string,
    id: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<TurnEnd | undefined> {
    const deadline = this.#clock.monotonic() + waitMs;
    for (;;) {
      // Subscribe before reading the store, otherwise an end in between is missed.
      const left = deadline - this.#clock.monotonic();
      const abort = new AbortController();
      const anySignal = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
      const nextEvent = this.feed.next(key, Math.max(left, 0), anySignal);
      const end = await this.#store.endOf(key, id);
      if (end || left <= 0 || signal?.aborted) {
        abort.abort();
        return end;
      }
      await nextEvent;
    }
  }

  #report(key: string): (error: unknown) => void {
    return (error) => this.#options.onProblem?.(`Session "${key}": ${errorMessage(error)}`);
  }
}

/** The result of sending a message. `accepted`: the caller did not wait, or the turn itself waits. */
export type SendOutcome =
  | { status: "ok"; reply: string; turn: TurnEnd }
  | { status: "accepted"; reply?: string }
  | { status: "timeout" }
  | { status: "error"; error: string; reply?: string };

function outcomeOf(end: TurnEnd | undefined): SendOutcome {
  if (!end) return { status: "timeout" };
  const reply = end.text || undefined;
  if (end.stop === "pending") return { status: "accepted", reply };
  if (end.stop === "done" || end.stop === "stopped") return { status: "ok", reply: end.text, turn: end };
  return { status: "error", error: end.error ?? `Its turn ended early (${end.stop}).`, reply };
}

/** Events of a session. Entries are stored; the others exist only in the process that runs the turn. */
export type SessionEvent =
  | { type: "entry"; entry: SessionEntry }
  | Extract<AgentEvent, { type: "text" | "reasoning" | "tool_update" | "tool_result" }>;

type Listener = (event: SessionEvent) => void;

/** How often a shared store is checked for entries of other processes. */
const POLL_MS = 400;

class SessionFeed {
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  emit(key: string, event: SessionEvent): void {
    for (const listener of this.#listeners.get(key) ?? []) listener(event);
  }

  /** The events after the entry `after`, until the signal aborts. Includes entries of other processes. */
  async *follow(
    key: string,
    { after = 0, signal }: { after?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<SessionEvent, void, undefined> {
    let seen = after;
    const queue: SessionEvent[] = [];
    // Subscribe before reading the store, otherwise events in between are lost.
    const unsubscribe = this.#subscribe(key, (event) => queue.push(event));
    try {
      while (!signal?.aborted) {
        for (const entry of await this.#store.history(key, { after: seen, limit: 500 })) {
          seen = entry.seq;
          yield { type: "entry", entry };
        }
        for (let event = queue.shift(); event; event = queue.shift()) {
          if (event.type !== "entry") yield event;
          else if (event.entry.seq === seen + 1) {
            seen++;
            yield event;
          }
        }
        if (queue.length === 0) await this.next(key, undefined, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  /** Resolves at the next event of the session, after `ms`, or when the signal aborts. */
  next(key: string, ms: number | undefined, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        unsubscribe();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const unsubscribe = this.#subscribe(key, done);
      const wait = this.#store.shared ? Math.min(ms ?? POLL_MS, POLL_MS) : ms;
      if (wait !== undefined) timer = this.#clock.after(wait, done);
      signal?.addEventListener("abort", done);
      if (signal?.aborted) done();
    });
  }

  #subscribe(key: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }
}

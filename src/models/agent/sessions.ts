import { randomUUID } from "node:crypto";
import type { Caller, CallMode, CallPolicy } from "../../core/call.ts";
import type { Clock, Timer } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import { toolError } from "../../core/error.ts";
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
  /** Throws, with what to do, where none can be had: no model is configured. */
  agentFor(session: Session): MaybePromise<Agent>;
  environments?: SessionEnvironmentStore;
  /** The result of a call that was made before, where it is known by now: of a pending one, or one that was cut off. */
  resultOf?(
    session: Session,
    call: Pick<PendingCall, "callId" | "name"> & Partial<PendingCall>,
  ): MaybePromise<ToolResult | undefined>;
  /** So much may wait for one session. */
  maxWaiting?: number;
  /** Told of what went wrong where nobody waits for it. */
  onProblem?(problem: string): void;
}

export interface NewSession {
  key?: string;
  label?: string;
  agent?: string;
  /** On whose behalf; the session's own key is added. */
  caller?: Partial<Caller>;
  /** Key of the session that spawns it. */
  parent?: string;
  toolNames?: readonly string[];
  policy?: readonly CallPolicy[];
  mode?: CallMode;
  environment?: Readonly<Record<string, string>>;
  /** The first thing that is said to it. */
  first?: Omit<Incoming, "at">;
}

export interface Sessions {
  readonly feed: SessionFeed;
  /** Where something is said to it at once, throws where there is no agent that could answer. */
  create(request: NewSession): Promise<Session>;
  get(key: string): MaybePromise<Session | undefined>;
  list(query?: SessionQuery): MaybePromise<Session[]>;
  history(key: string, query?: HistoryQuery): MaybePromise<SessionEntry[]>;
  waiting(key: string): MaybePromise<number>;
  /** Throws where there is no agent that could answer. The same id again is the same message. */
  send(
    key: string,
    item: Omit<Incoming, "at">,
    options?: { waitMs?: number; signal?: AbortSignal },
  ): Promise<SendOutcome>;
  /** The parent was told by other means how the turn ended that took this. */
  dropReport(key: string, id: string): Promise<void>;
  /** What a schedule or a program has to say; kept also where nobody can answer now. */
  wake(key: string, text: string, id?: string): Promise<void>;
  /** Ends its turn, and those of the sessions below it. How many were stopped. */
  stop(key: string, options?: { notifyParent?: boolean }): Promise<number>;
  /** A call has ended: a session may have waited for it. */
  onCallEnded(event: EventOf<"tool_call_completed" | "tool_call_failed">): void;
  /** Goes on with what was cut off, and looks from time to time for what others left to do. */
  start(): Promise<void>;
  /** Until no turn runs in this process. */
  settled(): Promise<void>;
  /** Turns under way are left where they are: they go on at the next start. */
  close(): Promise<void>;
}

const MAX_WAITING = 200;
const CHECK_INTERVAL_MS = 1_000;
const MAX_STOP_ATTEMPTS = 3;

/** Stored conversations: one turn of each at a time, whatever process runs it, and nothing said to them is lost. */
export function createSessions(options: SessionsOptions): Sessions {
  const { store, clock, agentFor, maxWaiting = MAX_WAITING, onProblem = () => {} } = options;
  const feed = createSessionFeed(store, clock);
  const running = new Map<string, { controller: AbortController; done: Promise<void>; again: boolean }>();
  /** Calls that sessions wait for, so that every other call's end costs a look into a map. */
  const awaited = new Map<string, string>();
  const unanswerable = new Set<string>();
  let looking: Timer | undefined;
  let isClosed = false;

  const sessions: Sessions = {
    feed,
    async create({ key = `ses_${randomUUID()}`, first, caller = {}, parent, ...request }) {
      const at = clock.now();
      const above = parent === undefined ? undefined : await store.get(parent);
      const session: Session = {
        key,
        parent,
        root: above?.root ?? parent ?? key,
        policy: [],
        environment: {},
        ...request,
        caller: { depth: 0, ...caller, session: key },
        state: "idle",
        turns: 0,
        pending: [],
        usage: { inputTokens: 0, outputTokens: 0 },
        createdAt: at,
        updatedAt: at,
      };
      if (first) await agentFor(session);
      if (!(await store.add(session, first && { ...first, at }))) {
        throw toolError("conflict", `There is a session "${key}" already`, { next: "Choose another key." });
      }
      if (first) schedule(key);
      return session;
    },
    get: (key) => store.get(key),
    list: (query) => store.list(query),
    history: (key, query) => store.history(key, query),
    waiting: (key) => store.waiting(key),
    async send(key, item, { waitMs = 0, signal } = {}) {
      const session = await requireSession(key);
      await agentFor(session);
      await push(key, item);
      if (waitMs <= 0) return { status: "accepted" };
      return outcomeOf(await awaitTurn({ key, id: item.id, waitMs, signal }, { store, feed, clock }));
    },
    async dropReport(key, id) {
      const { parent } = await requireSession(key);
      const taken = (await store.history(key)).find(({ incoming }) => incoming?.id === id);
      if (parent !== undefined && taken) await store.drop(parent, announcementId(key, taken.turn));
    },
    async wake(key, text, id = `wake ${randomUUID()}`) {
      await requireSession(key);
      await push(key, { id, kind: "wake", text });
    },
    async stop(key, { notifyParent = false } = {}) {
      const session = await requireSession(key);
      const { parent, label, turns } = session;
      if (notifyParent && parent !== undefined && (await isAtWork(session))) {
        const from = { session: key, label };
        await push(parent, { id: `stopped ${key} ${turns}`, kind: "announce", text: "It was stopped.", from });
      }
      const tree = await store.list({ root: session.root, limit: 10_000 });
      let stopped = 0;
      for (const one of [session, ...tree.filter((other) => isBelow(other, key))]) if (await stopOne(one)) stopped++;
      return stopped;
    },
    onCallEnded({ callId, caller, result }) {
      if (caller.session === undefined || awaited.get(callId) !== caller.session) return;
      void deliver(caller.session, result).catch(problem(caller.session));
    },
    async start() {
      for (const { key, pending } of await store.list({ state: "waiting", limit: 10_000 })) trackPending(key, pending);
      await look();
    },
    async settled() {
      while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done));
    },
    async close() {
      isClosed = true;
      looking?.cancel();
      for (const { controller } of running.values()) controller.abort(PROCESS_EXIT);
      await sessions.settled();
    },
  };
  return sessions;

  async function requireSession(key: string): Promise<Session> {
    const session = await store.get(key);
    if (session) return session;
    throw toolError("path_not_found", `There is no session "${key}"`, { next: "Look at the list of sessions." });
  }

  async function push(key: string, item: Omit<Incoming, "at">): Promise<void> {
    const outcome = await store.push(key, { ...item, at: clock.now() }, maxWaiting);
    if (outcome === "full") {
      throw toolError("busy", `${maxWaiting} messages wait for session "${key}" already`, {
        next: "Wait until it has answered some.",
      });
    }
    schedule(key);
  }

  /** Goes on with a session, unless it is gone on with: then once more after that. */
  function schedule(key: string): void {
    if (isClosed) return;
    const under = running.get(key);
    if (under) {
      under.again = true;
      return;
    }
    const controller = new AbortController();
    const entry = { controller, again: false, done: Promise.resolve() };
    running.set(key, entry);
    entry.done = drive(key, controller)
      .catch(problem(key))
      .then(() => {
        running.delete(key);
        if (entry.again) schedule(key);
      });
  }

  async function drive(key: string, controller: AbortController): Promise<void> {
    if (!controller.signal.aborted && !(await canAnswer(key))) return;
    const lease = await store.claim(key);
    if (!lease) return;
    const stopLooking = watchForStop({ store, clock }, key, () => controller.abort("it was stopped"));
    try {
      await driveSession(lease, {
        store,
        agentFor,
        environments: options.environments,
        signal: controller.signal,
        now: () => clock.now(),
        resultOf: (session, call) => options.resultOf?.(session, call),
        collectLateResults,
        emit: (event) => {
          if (event.type === "entry") note(key, event.entry);
          feed.emit(key, event);
        },
      });
    } finally {
      stopLooking();
      await store.release(lease, true);
    }
  }

  /** Without an agent nothing is taken: it waits for a process that has one. Told once. */
  async function canAnswer(key: string): Promise<boolean> {
    const session = await store.get(key);
    if (!session) return false;
    try {
      await agentFor(session);
      unanswerable.delete(key);
      return true;
    } catch (error) {
      if (!unanswerable.has(key)) problem(key)(error);
      unanswerable.add(key);
      return false;
    }
  }

  /** What an entry means for others: calls to wait for, and a parent that was told something. */
  function note(key: string, { message, incoming, end, turn }: SessionEntry): void {
    if (message?.role === "tool") {
      const pending = message.results.filter((result) => result.status === "pending");
      trackPending(key, pending);
    }
    if (incoming?.result) awaited.delete(incoming.result.callId);
    if (end) {
      void Promise.resolve(store.get(key))
        .then((session) => session?.parent !== undefined && turn > 0 && schedule(session.parent))
        .catch(problem(key));
    }
  }

  function trackPending(key: string, calls: readonly { callId: string }[]): void {
    for (const { callId } of calls) awaited.set(callId, key);
  }

  async function collectLateResults(session: Session): Promise<void> {
    for (const call of session.pending) {
      const result = await options.resultOf?.(session, call);
      if (result && result.status !== "pending") await deliver(session.key, { ...result, callId: call.callId });
    }
  }

  async function deliver(key: string, result: ToolResult): Promise<void> {
    await push(key, { id: lateResultId(result.callId), kind: "result", text: textOf(result.content), result });
  }

  async function isAtWork({ key, state }: Session): Promise<boolean> {
    return running.has(key) || state === "running" || state === "waiting" || (await store.waiting(key)) > 0;
  }

  async function stopOne(session: Session): Promise<boolean> {
    const { key, pending } = session;
    if (!(await isAtWork(session))) return false;
    for (const { callId } of pending) awaited.delete(callId);
    await store.requestStop(key);
    // More than once: a turn may end by itself in the moment in which it is stopped, and then goes on to wait.
    for (let tries = 0; tries < MAX_STOP_ATTEMPTS; tries++) {
      if (!running.has(key)) schedule(key);
      const under = running.get(key);
      under?.controller.abort("it was stopped");
      await under?.done;
      if (!(await isAtWork({ ...session, ...(await store.get(key)) }))) break;
    }
    return true;
  }

  async function look(): Promise<void> {
    if (isClosed) return;
    try {
      for (const session of await store.list({ state: "waiting", limit: 1_000 })) await collectLateResults(session);
      for (const key of await store.due()) schedule(key);
    } catch (error) {
      onProblem(`Sessions could not be looked at: ${(error as Error).message}`);
    }
    if (isClosed || !store.shared) return;
    looking = clock.after(CHECK_INTERVAL_MS, () => void look());
    looking.setRef(false);
  }

  function problem(key: string): (error: unknown) => void {
    return (error) => onProblem(`Session "${key}": ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What those who watch a session are told. Entries are kept; the rest is told only where the turn runs, while it runs. */
export type SessionEvent =
  | { type: "entry"; entry: SessionEntry }
  | Extract<AgentEvent, { type: "text" | "reasoning" | "tool_update" | "tool_result" }>;

interface SessionFeed {
  emit(key: string, event: SessionEvent): void;
  /** From the entry after `after` on, until the signal. What other processes add is found in the store. */
  follow(
    key: string,
    options?: { after?: number; signal?: AbortSignal },
  ): AsyncGenerator<SessionEvent, void, undefined>;
  /** Resolves at the next event of the session, or after `ms`. */
  next(key: string, ms: number | undefined, signal?: AbortSignal): Promise<void>;
}

type Listener = (event: SessionEvent) => void;

/** How often a store that others write to is looked at. */
const POLL_MS = 400;

function createSessionFeed(store: SessionStore, clock: Clock): SessionFeed {
  const listeners = new Map<string, Set<Listener>>();

  const listen = (key: string, listener: Listener): (() => void) => {
    const all = listeners.get(key) ?? new Set();
    listeners.set(key, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && listeners.get(key) === all) listeners.delete(key);
    };
  };

  const next: SessionFeed["next"] = (key, ms, signal) =>
    new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        stop();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const stop = listen(key, done);
      const wait = store.shared ? Math.min(ms ?? POLL_MS, POLL_MS) : ms;
      if (wait !== undefined) timer = clock.after(wait, done);
      signal?.addEventListener("abort", done);
      if (signal?.aborted) done();
    });

  return {
    next,
    emit(key, event) {
      for (const listener of listeners.get(key) ?? []) listener(event);
    },
    async *follow(key, { after = 0, signal } = {}) {
      let seen = after;
      const queue: SessionEvent[] = [];
      // Before the store is read, so that nothing falls between.
      const stop = listen(key, (event) => queue.push(event));
      try {
        while (!signal?.aborted) {
          for (const entry of await store.history(key, { after: seen, limit: 500 })) {
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
          if (queue.length === 0) await next(key, undefined, signal);
        }
      } finally {
        stop();
      }
    },
  };
}

/** What came of something that was said to a session. `accepted`: nobody waited, or it waits itself. */
export type SendOutcome =
  | { status: "ok"; reply: string; turn: TurnEnd }
  | { status: "accepted"; reply?: string }
  | { status: "timeout" }
  | { status: "error"; error: string; reply?: string };

interface Awaited {
  key: string;
  /** Of what was said. */
  id: string;
  waitMs: number;
  signal: AbortSignal | undefined;
}

/** The end of the turn that took what was said, whatever process runs it; nothing where that takes longer. */
async function awaitTurn(
  { key, id, waitMs, signal }: Awaited,
  { store, feed, clock }: { store: SessionStore; feed: SessionFeed; clock: Clock },
): Promise<TurnEnd | undefined> {
  const until = clock.monotonic() + waitMs;
  for (;;) {
    // Asked before the store is, so that an end in between is not waited for.
    const left = until - clock.monotonic();
    const abort = new AbortController();
    const news = feed.next(key, Math.max(left, 0), signal ? AbortSignal.any([signal, abort.signal]) : abort.signal);
    const end = await store.endOf(key, id);
    if (end || left <= 0 || signal?.aborted) {
      abort.abort();
      return end;
    }
    await news;
  }
}

function outcomeOf(end: TurnEnd | undefined): SendOutcome {
  if (!end) return { status: "timeout" };
  const reply = end.text === "" ? {} : { reply: end.text };
  if (end.stop === "pending") return { status: "accepted", ...reply };
  if (end.stop === "done" || end.stop === "stopped") return { status: "ok", reply: end.text, turn: end };
  return { status: "error", error: end.error ?? `Its turn ended early (${end.stop}).`, ...reply };
}

const WATCH_FOR_STOP_CHECK_INTERVAL_MS = 500;

/** Looks from time to time whether another process wants the turn to stop. Gives what ends the looking. */
function watchForStop(
  { store, clock }: { store: SessionStore; clock: Clock },
  key: string,
  stop: () => void,
): () => void {
  if (!store.shared) return () => {};
  let timer: Timer | undefined;
  const scheduleNext = (): void => {
    timer = clock.after(WATCH_FOR_STOP_CHECK_INTERVAL_MS, () => {
      void Promise.resolve(store.isStopRequested(key)).then(
        (isRequested) => (isRequested ? stop() : scheduleNext()),
        scheduleNext,
      );
    });
    timer.setRef(false);
  };
  scheduleNext();
  return () => timer?.cancel();
}

import type { Caller, CallMode, CallPolicy } from "../../core/call.ts";
import type { PendingResult, ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AgentStop, AgentUsage, Message } from "./agent.ts";

/**
 * `waiting`: for a person, a job or a client. `failed`: its last turn ended in an error; what is said to it next begins
 * another one, as with one that was `stopped`.
 */
export type SessionState = "idle" | "running" | "waiting" | "stopped" | "failed";

/** A stored conversation with an agent: who it acts for, what it may use, and where it stands. Plain JSON. */
export interface Session {
  /** Also the name under which taint, grants, environment and journal know it (`caller.session`). */
  key: string;
  /** A name for people and models; several sessions may have the same. */
  label?: string;
  /** The configured agent; the default one where absent. */
  agent?: string;
  /** The session that spawned it. */
  parent?: string;
  /** The outermost session above it, or itself. */
  root: string;
  /** On whose behalf its calls are made; `session` is its own key, `parent` whoever spawned it. */
  caller: Caller;
  /** The tools that it is held to; all of its agent where absent. */
  toolNames?: readonly string[];
  /** Each only narrows; those of its parents come first. */
  policy: readonly CallPolicy[];
  mode?: CallMode;
  /** What it has set for its commands. */
  environment: Readonly<Record<string, string>>;
  state: SessionState;
  /** How many there were; the last may be under way. */
  turns: number;
  /** Calls that were answered `pending` and have no result yet. */
  pending: readonly PendingCall[];
  usage: AgentUsage;
  /** What it said last, cut. */
  lastText?: string;
  /** Why its last turn failed. */
  error?: string;
  createdAt: number;
  updatedAt: number;
}

export interface PendingCall {
  callId: string;
  name: string;
  pending: PendingResult["pending"];
}

/** What waits for a session's next turn. Its id makes sure that it comes once, however often it is sent. */
export interface Incoming {
  id: string;
  /** `announce`: a child has ended. `wake`: a schedule. `result`: of a call that was answered `pending`. */
  kind: "message" | "announce" | "wake" | "result";
  text: string;
  from?: { user?: string; session?: string; label?: string };
  result?: ToolResult;
  at: number;
}

/** One line of a session's history. A turn's last one is its end. */
export interface SessionEntry {
  /** From 1, without gaps. */
  seq: number;
  turn: number;
  at: number;
  message?: Message;
  /** What the message came from, where it was not said by the model. */
  incoming?: Omit<Incoming, "text" | "at">;
  end?: TurnEnd;
}

export type EntryDraft = Omit<SessionEntry, "seq" | "turn" | "at">;

export interface TurnEnd {
  stop: AgentStop;
  /** What the agent said last. */
  text: string;
  steps: number;
  usage: AgentUsage;
  error?: string;
}

type SessionChanges = Partial<
  Pick<Session, "state" | "pending" | "usage" | "lastText" | "environment" | "label"> & { error: string | undefined }
>;

/** Whether a session is one that `key` spawned, or one of those did. */
export function isBelow({ caller, key: own }: Session, key: string): boolean {
  if (own === key) return false;
  for (let one: Caller | undefined = caller.parent; one; one = one.parent) if (one.session === key) return true;
  return false;
}

/** The right to go on with a session. Under one that was lost nothing is written, and undefined is given. */
export interface Lease {
  readonly key: string;
  readonly id: string;
}

export interface SessionQuery {
  parent?: string;
  root?: string;
  label?: string;
  state?: SessionState;
  limit?: number;
}

export interface HistoryQuery {
  /** Only what is later than this `seq`. */
  after?: number;
  /** The last so many of them. */
  last?: number;
  /** The first so many of them. */
  limit?: number;
}

export interface AppendOptions {
  changes?: SessionChanges;
  /** Put before another session together with the entries: both happen, or neither does. */
  announce?: { to: string; item: Incoming };
}

/** Conversations that outlive their process. Several processes may share them; one at a time goes on with each. */
export interface SessionStore {
  /** Whether others may change what is here. */
  readonly shared: boolean;
  /** False where the key is in use; with the first thing that is said to it. */
  add(session: Session, first?: Incoming): MaybePromise<boolean>;
  get(key: string): MaybePromise<Session | undefined>;
  /** Those that changed last come first. */
  list(query?: SessionQuery): MaybePromise<Session[]>;
  /** Never twice under one id, also after it was taken. */
  push(key: string, item: Incoming, max: number): MaybePromise<"added" | "known" | "full" | "missing">;
  /** Takes back what was not taken yet. */
  drop(key: string, id: string): MaybePromise<void>;
  /** How much waits for its next turn. */
  waiting(key: string): MaybePromise<number>;
  /** Undefined where somebody who is alive has it. */
  claim(key: string): MaybePromise<Lease | undefined>;
  /** Begins a turn with all that waits, as entries of the history; none where nothing waits. */
  take(lease: Lease, toEntry: (item: Incoming) => EntryDraft): MaybePromise<SessionEntry[] | undefined>;
  /** What a draft says that came in does not wait any more. */
  append(
    lease: Lease,
    drafts: readonly EntryDraft[],
    written?: AppendOptions,
  ): MaybePromise<SessionEntry[] | undefined>;
  /** False, and not given back, where something came in meanwhile. `anyway`: gives it back whatever there is. */
  release(lease: Lease, anyway?: boolean): MaybePromise<boolean>;
  /** Asks whoever goes on with it to stop; false where the session is not there. */
  requestStop(key: string): MaybePromise<boolean>;
  isStopRequested(key: string): MaybePromise<boolean>;
  history(key: string, query?: HistoryQuery): MaybePromise<SessionEntry[]>;
  /** How the turn ended that took this item; undefined while it has not. */
  endOf(key: string, id: string): MaybePromise<TurnEnd | undefined>;
  /** Sessions that nobody goes on with although something waits, or a turn was cut off. */
  due(): MaybePromise<string[]>;
}

interface StoredSession {
  session: Session;
  entries: SessionEntry[];
  inbox: Incoming[];
  lease: string | undefined;
  isStopRequested: boolean;
}

export class MemorySessionStore implements SessionStore {
  readonly shared = false;
  readonly #sessions = new Map<string, StoredSession>();
  readonly #now: () => number;
  #leases = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(session: Session, first?: Incoming): boolean {
    if (this.#sessions.has(session.key)) return false;
    const inbox = first ? [copy(first)] : [];
    this.#sessions.set(session.key, {
      session: copy(session),
      entries: [],
      inbox,
      lease: undefined,
      isStopRequested: false,
    });
    return true;
  }

  get(key: string): Session | undefined {
    const stored = this.#sessions.get(key);
    return stored && copy(stored.session);
  }

  list({ limit = 100, ...wanted }: SessionQuery = {}): Session[] {
    const filters = Object.entries(wanted).filter(([, value]) => value !== undefined);
    return [...this.#sessions.values()]
      .map(({ session }) => session)
      .filter((session) => filters.every(([name, value]) => session[name as keyof Session] === value))
      .sort((a, b) => b.updatedAt - a.updatedAt || (a.key < b.key ? 1 : -1))
      .slice(0, limit)
      .map(copy);
  }

  push(key: string, item: Incoming, max: number): "added" | "known" | "full" | "missing" {
    const stored = this.#sessions.get(key);
    if (!stored) return "missing";
    if (isKnown(stored, item.id)) return "known";
    if (stored.inbox.length >= max) return "full";
    stored.inbox.push(copy(item));
    return "added";
  }

  drop(key: string, id: string): void {
    const stored = this.#sessions.get(key);
    if (stored) stored.inbox = stored.inbox.filter((item) => item.id !== id);
  }

  waiting(key: string): number {
    return this.#sessions.get(key)?.inbox.length ?? 0;
  }

  claim(key: string): Lease | undefined {
    const stored = this.#sessions.get(key);
    if (!stored || stored.lease !== undefined) return undefined;
    stored.lease = `lease ${++this.#leases}`;
    return { key, id: stored.lease };
  }

  take(lease: Lease, toEntry: (item: Incoming) => EntryDraft): SessionEntry[] | undefined {
    const stored = this.#leased(lease);
    if (!stored) return undefined;
    if (stored.inbox.length === 0) return [];
    if (!isOpen(stored)) stored.session.turns++;
    stored.session.state = "running";
    return this.#write(stored, stored.inbox.splice(0).map(toEntry), {});
  }

  append(
    lease: Lease,
    drafts: readonly EntryDraft[],
    { changes = {}, announce }: AppendOptions = {},
  ): SessionEntry[] | undefined {
    const stored = this.#leased(lease);
    if (!stored) return undefined;
    const target = announce && this.#sessions.get(announce.to);
    if (target && !isKnown(target, announce.item.id)) target.inbox.push(copy(announce.item));
    for (const { incoming } of drafts) if (incoming) this.drop(lease.key, incoming.id);
    return this.#write(stored, drafts, changes);
  }

  release(lease: Lease, anyway = false): boolean {
    const stored = this.#sessions.get(lease.key);
    if (stored?.lease !== lease.id) return true;
    if (stored.inbox.length > 0 && !anyway) return false;
    stored.lease = undefined;
    stored.isStopRequested = false;
    return true;
  }

  requestStop(key: string): boolean {
    const stored = this.#sessions.get(key);
    if (stored) stored.isStopRequested = true;
    return stored !== undefined;
  }

  isStopRequested(key: string): boolean {
    return this.#sessions.get(key)?.isStopRequested ?? false;
  }

  history(key: string, { after = 0, last, limit }: HistoryQuery = {}): SessionEntry[] {
    const found = (this.#sessions.get(key)?.entries ?? []).filter(({ seq }) => seq > after);
    const newest = last === undefined ? found : found.slice(Math.max(found.length - last, 0));
    return newest.slice(0, limit ?? newest.length).map(copy);
  }

  endOf(key: string, id: string): TurnEnd | undefined {
    const entries = this.#sessions.get(key)?.entries ?? [];
    const taken = entries.find(({ incoming }) => incoming?.id === id);
    return taken && entries.find(({ turn, end }) => turn === taken.turn && end)?.end;
  }

  due(): string[] {
    return [...this.#sessions.values()]
      .filter(({ lease, inbox, entries }) => lease === undefined && (inbox.length > 0 || isOpen({ entries })))
      .map(({ session }) => session.key);
  }

  #leased({ key, id }: Lease): StoredSession | undefined {
    const stored = this.#sessions.get(key);
    return stored?.lease === id ? stored : undefined;
  }

  #write(stored: StoredSession, drafts: readonly EntryDraft[], changes: SessionChanges): SessionEntry[] {
    const at = this.#now();
    const added = drafts.map((draft, i) => ({
      ...copy(draft),
      seq: stored.entries.length + i + 1,
      turn: stored.session.turns,
      at,
    }));
    stored.entries.push(...added);
    stored.session = { ...stored.session, ...copy(changes), updatedAt: at } as Session;
    return added.map(copy);
  }
}

/** A turn has begun and has no end. */
function isOpen({ entries }: Pick<StoredSession, "entries">): boolean {
  const last = entries.at(-1);
  return last !== undefined && last.end === undefined;
}

function isKnown({ inbox, entries }: StoredSession, id: string): boolean {
  return inbox.some((item) => item.id === id) || entries.some(({ incoming }) => incoming?.id === id);
}

function copy<T>(value: T): T {
  return structuredClone(value);
}

import type {
  AppendOptions,
  EntryDraft,
  HistoryQuery,
  Incoming,
  Lease,
  Session,
  SessionChanges,
  SessionEntry,
  SessionQuery,
  SessionStore,
  TurnEnd,
} from "./session-store.ts";

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

  list({ limit = 100, ...query }: SessionQuery = {}): Session[] {
    const filters = Object.entries(query).filter(([, value]) => value !== undefined);
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

  release(lease: Lease, force = false): boolean {
    const stored = this.#sessions.get(lease.key);
    if (stored?.lease !== lease.id) return true;
    if (stored.inbox.length > 0 && !force) return false;
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

/** Whether the last turn has no end yet. */
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

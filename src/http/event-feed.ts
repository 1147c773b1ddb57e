import { FeedEntry, estimateLength } from "./feed-entry.ts";
import type { ToolEvent } from "../core/events.ts";
import type { EventMessage } from "./wire.ts";

export interface EventFilter {
  types?: ReadonlySet<string>;
  tool?: string;
  session?: string;
  call?: string;
}

export interface FeedOptions {
  maxEvents?: number;
  /** Of all kept events together, about. */
  maxCharacters?: number;
  /** Of one event; of a larger one the content is left out, and can be asked for. */
  maxEventSize?: number;
}

interface Reader {
  filter: EventFilter;
  deliver(entry: FeedEntry): void;
}

/**
 * Every event of the runtime, numbered, with the last ones kept for who was away. Ids are `start-number`: they grow also over
 * a restart, after which the old ones are answered with `reset`.
 */
export class EventFeed {
  readonly #start: number;
  readonly #options: Required<FeedOptions>;
  readonly #readers = new Set<Reader>();
  readonly #observers: ((event: ToolEvent, characters: number) => void)[] = [];
  /** A ring: entry `n` stands at `n % mostEvents`. */
  readonly #entries: (FeedEntry | undefined)[] = [];
  #oldest = 1;
  #last = 0;
  #characters = 0;

  constructor(startedAt: number, options: FeedOptions = {}) {
    this.#start = startedAt;
    this.#options = { maxEvents: 10_000, maxCharacters: 16 * 1024 * 1024, maxEventSize: 256 * 1024, ...options };
  }

  get lastId(): string {
    return this.#idOf(this.#last);
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Told of every event before its readers, with about the length of its JSON. */
  observe(observer: (event: ToolEvent, characters: number) => void): void {
    this.#observers.push(observer);
  }

  add(event: ToolEvent): void {
    const characters = estimateLength(event);
    for (const observer of this.#observers) observer(event, characters);
    const number = ++this.#last;
    const entry = new FeedEntry(this.#start, number, event.type, event, this.#options.maxEventSize, characters);
    this.#append(entry);
    for (const reader of this.#readers) if (matches(event, reader.filter)) reader.deliver(entry);
  }

  /** What was missed since `after`, then everything that comes; gives the function that ends it. */
  read(filter: EventFilter, after: string | undefined, deliver: (entry: FeedEntry) => void): () => void {
    const from = after === undefined ? this.#last : this.#numberOf(after);
    if (from === undefined || from + 1 < this.#oldest) deliver(this.#reset());
    else for (let number = from + 1; number <= this.#last; number++) this.#redeliver(number, filter, deliver);
    const reader: Reader = { filter, deliver };
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  /** The first message: under the id that was asked for, so that nothing is lost when the connection ends here. */
  hello(after: string | undefined, data: unknown): FeedEntry {
    const number = after === undefined ? undefined : this.#numberOf(after);
    return new FeedEntry(this.#start, number ?? this.#last, "hello", data);
  }

  /** A message that is no event, under the id that a reader may go on from. */
  createEntry(type: EventMessage["type"], data: unknown): FeedEntry {
    return new FeedEntry(this.#start, this.#last, type, data);
  }

  #redeliver(number: number, filter: EventFilter, deliver: (entry: FeedEntry) => void): void {
    const entry = this.#entries[number % this.#options.maxEvents];
    if (entry && matches(entry.data as ToolEvent, filter)) deliver(entry);
  }

  #reset(): FeedEntry {
    return this.createEntry("reset", { reason: "The events since then are no longer kept. Read the lists again." });
  }

  #append(entry: FeedEntry): void {
    const { maxEvents, maxCharacters } = this.#options;
    const slot = entry.number % maxEvents;
    const replaced = this.#entries[slot];
    if (replaced) this.#drop(replaced.number);
    this.#entries[slot] = entry;
    this.#characters += entry.characters;
    while (this.#characters > maxCharacters && this.#oldest < entry.number) this.#drop(this.#oldest);
  }

  #drop(number: number): void {
    const slot = number % this.#options.maxEvents;
    this.#characters -= this.#entries[slot]?.characters ?? 0;
    this.#entries[slot] = undefined;
    this.#oldest = number + 1;
  }

  #idOf(number: number): string {
    return `${this.#start}-${number}`;
  }

  /** Undefined for an id of another start, or one that was never given. */
  #numberOf(id: string): number | undefined {
    const match = /^(\d{1,16})-(\d{1,16})$/.exec(id);
    if (!match || Number(match[1]) !== this.#start) return undefined;
    const number = Number(match[2]);
    return number <= this.#last ? number : undefined;
  }
}

function matches(event: ToolEvent, { types, tool, session, call }: EventFilter): boolean {
  if (types && !types.has(event.type)) return false;
  if (tool !== undefined && event.toolName !== tool) return false;
  if (session !== undefined && !("caller" in event && event.caller.session === session)) return false;
  return call === undefined || ("callId" in event && (event.callId === call || event.parentId === call));
}

import { withDefaults } from "../../core/options.ts";
import type { EventMessage, EventQuery, events } from "../../contracts/events.ts";
import type { ToolEvent } from "../../core/events.ts";
import { hideAnswers, type ToolResult } from "../../core/result.ts";
import { hideSecrets, hideSecretShapesIn, hideSecretsIn } from "../../core/secrets/mask-secrets.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { FrameQueue } from "./frame-queue.ts";

export interface FeedOptions {
  /** Default: 10,000. */
  maxEvents?: number;
  /** Of all kept events together, estimated. Default: 16 Mi. */
  maxCharacters?: number;
  /** Of one event. A larger one is sent without its content. Default: 256 Ki. */
  maxEventSize?: number;
}

export type EventFilter = Omit<EventQuery, "after" | "types"> & { types?: readonly string[] };

/** Readers of the same events get the same list: its encoding can be kept. */
export type Deliver = (messages: readonly EventMessage[]) => void;

export interface EventReader {
  /** Delivers what has happened: call before `lastId` is sent to this reader. */
  flush(): void;
  stop(): void;
}

interface Reader {
  readonly filter: EventFilter;
  /** The same for the same filter. */
  readonly key: string;
  /** The number of the last event that it was offered. */
  position: number;
  readonly deliver: Deliver;
}

/** So many readers get each event at once. */
const MAX_IMMEDIATE = 8;
/**
 * With more, events are collected: one write to a connection takes about 15 µs, with one event or with a hundred. With this
 * pause per reader, writing takes a tenth of the time.
 */
const PAUSE_MS_PER_READER = 0.15;

/**
 * Every event of the runtime, numbered. The last ones are kept for readers that were away. Ids are `start-number`, so they
 * also grow over a restart; after one, a reader with an old id gets `reset`.
 */
export class EventFeed {
  readonly #start: number;
  readonly #options: Required<FeedOptions>;
  readonly #readers = new Set<Reader>();
  /** A ring: entry `n` is at `n % maxEvents`. */
  readonly #entries: (FeedEntry | undefined)[] = [];
  #oldest = 1;
  #last = 0;
  #characters = 0;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** Called before a reader is added. */
  onRead: (() => void) | undefined;

  constructor(startedAt: number, options: FeedOptions = {}) {
    this.#start = startedAt;
    this.#options = withDefaults(
      { maxEvents: 10_000, maxCharacters: 16 * 1024 * 1024, maxEventSize: 256 * 1024 },
      options,
    );
  }

  get lastId(): string {
    return this.#idOf(this.#last);
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** `characters` is the estimated length of its JSON. */
  add(event: ToolEvent, characters: number): void {
    const entry = new FeedEntry(this.#start, ++this.#last, event, characters, this.#options.maxEventSize);
    this.#append(entry);
    const count = this.#readers.size;
    if (count === 0 || this.#timer) return;
    if (count <= MAX_IMMEDIATE) return this.flush();
    const waitMs = this.#flushedAt + count * PAUSE_MS_PER_READER - performance.now();
    if (waitMs <= 0) return this.flush();
    this.#timer = setTimeout(() => this.flush(), waitMs);
    this.#timer.unref();
  }

  /** Delivers what readers have not got yet. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushedAt = performance.now();
    const lists = new Map<string, readonly EventMessage[]>();
    for (const reader of this.#readers) {
      const key = `${reader.position} ${reader.key}`;
      let messages = lists.get(key);
      if (!messages) lists.set(key, (messages = this.#after(reader.position, reader.filter)));
      reader.position = this.#last;
      if (messages.length > 0) reader.deliver(messages);
    }
  }

  /** Events were missed: readers with an earlier id get `reset`. */
  interrupt(): void {
    this.flush();
    while (this.#oldest <= this.#last) this.#drop(this.#oldest);
    this.#oldest = ++this.#last + 1;
    for (const reader of this.#readers) reader.position = this.#last;
  }

  /** `hello`, then the events after `after`, then the new ones. */
  read(filter: EventFilter, after: string | undefined, deliver: Deliver): EventReader {
    this.onRead?.();
    const from = after === undefined ? this.#last : this.#numberOf(after);
    // With the id that was requested, so a connection that ends here resumes without a gap.
    const hello: EventMessage = {
      id: this.#idOf(from ?? this.#last),
      type: "hello",
      data: { startedAt: this.#start },
    };
    deliver([hello, ...(from === undefined ? [this.#reset()] : this.#after(from, filter))]);
    const reader: Reader = { filter, key: JSON.stringify(filter), position: this.#last, deliver };
    this.#readers.add(reader);
    return {
      flush: () => {
        const messages = this.#after(reader.position, filter);
        reader.position = this.#last;
        if (messages.length > 0) deliver(messages);
      },
      stop: () => void this.#readers.delete(reader),
    };
  }

  /** Tells every reader the id that it can resume after, whatever its filter. */
  beat(at: number): void {
    this.flush();
    const messages: readonly EventMessage[] = [{ id: this.lastId, type: "heartbeat", data: { at } }];
    for (const reader of this.#readers) reader.deliver(messages);
  }

  /** The events after a number that match, or `reset` if some of them are no longer kept. */
  #after(position: number, filter: EventFilter): EventMessage[] {
    if (position + 1 < this.#oldest) return [this.#reset()];
    const messages: EventMessage[] = [];
    for (let number = position + 1; number <= this.#last; number++) {
      const entry = this.#entries[number % this.#options.maxEvents];
      if (entry && matches(entry.event, filter)) messages.push(entry.message);
    }
    return messages;
  }

  #reset(): EventMessage {
    const reason = "The events since then were deleted. Read the lists again.";
    return { id: this.lastId, type: "reset", data: { reason } };
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

  /** Undefined for an id of another start, and for a number that was not reached yet. */
  #numberOf(id: string): number | undefined {
    const match = /^(\d{1,16})-(\d{1,16})$/.exec(id);
    if (!match || Number(match[1]) !== this.#start) return undefined;
    const number = Number(match[2]);
    return number <= this.#last ? number : undefined;
  }
}

/** JSON has at most six characters for one of a string. */
const MAX_GROWTH = 6;

class FeedEntry {
  #message: EventMessage | undefined = undefined;

  constructor(
    private readonly start: number,
    readonly number: number,
    readonly event: ToolEvent,
    readonly characters: number,
    private readonly maxSize: number,
  ) {}

  /** One object for all readers: writers keep its encoding. Most events have no reader, so it is made on demand. */
  get message(): EventMessage {
    if (this.#message) return this.#message;
    const isLarge = this.characters * MAX_GROWTH > this.maxSize && JSON.stringify(this.event).length > this.maxSize;
    const data = withoutSecrets(isLarge ? withoutContent(this.event) : this.event);
    // Readers do not change it, and the schema's types are not readonly.
    return (this.#message = { id: `${this.start}-${this.number}`, type: data.type, data } as EventMessage);
  }
}

/** Who may read events need not be the caller: what tools and callers wrote is shown as in the audit log. */
function withoutSecrets(event: ToolEvent): ToolEvent {
  if ("input" in event) return { ...event, input: hideSecretsIn(event.input) };
  if ("update" in event) return { ...event, update: hideSecretShapesIn(event.update) };
  if ("error" in event) {
    return { ...event, result: hideSecretShapesIn(event.result), error: hideSecretShapesIn(event.error) };
  }
  if ("result" in event && event.result) return { ...event, result: hideSecretShapesIn(hideAnswers(event.result)) };
  return "reason" in event && event.reason ? { ...event, reason: hideSecrets(event.reason) } : event;
}

function withoutContent(event: ToolEvent): ToolEvent {
  if ("result" in event && event.result) return { ...event, result: withoutOutput(event.result) };
  if ("update" in event) return { ...event, update: { details: { cut: true } } };
  return "input" in event ? { ...event, input: { cut: true } } : event;
}

function withoutOutput({ details: _details, ...result }: ToolResult): ToolResult {
  return { ...result, content: [], metadata: { cut: true } } as ToolResult;
}

function matches(event: ToolEvent, { types, tool, session, call }: EventFilter): boolean {
  if (types && !types.includes(event.type)) return false;
  if (tool !== undefined && !("toolName" in event && event.toolName === tool)) return false;
  if (session !== undefined && sessionOf(event) !== session) return false;
  return call === undefined || ("callId" in event && (event.callId === call || event.parentId === call));
}

function sessionOf(event: ToolEvent): string | undefined {
  return "caller" in event ? event.caller.session : event.type === "grant_changed" ? event.session : undefined;
}

/** Of the fields that every event has. */
const COMMON_LENGTH = 250;

/** The approximate length of an event: only what tools and callers wrote is measured. */
export function lengthOf(event: ToolEvent): number {
  const given =
    "result" in event ? event.result : "input" in event ? event.input : "update" in event ? event.update : "";
  return COMMON_LENGTH + estimateLength(given);
}

/** With more values than this, the length is counted exactly: large events are rare. */
const MAX_VALUES = 200;

/** The approximate length of the JSON of plain data, without writing it: most events are never sent. */
export function estimateLength(data: unknown): number {
  const counted = { characters: 0, values: 0 };
  count(data, counted);
  return counted.values > MAX_VALUES ? JSON.stringify(data).length : counted.characters;
}

function count(value: unknown, counted: { characters: number; values: number }): void {
  if (typeof value === "string") counted.characters += value.length + 4;
  else if (typeof value !== "object" || value === null) counted.characters += 8;
  else if (++counted.values <= MAX_VALUES) {
    for (const key in value) {
      counted.characters += key.length + 4;
      count((value as Record<string, unknown>)[key], counted);
    }
  }
}

export function createEventsApi(feed: EventFeed): Handlers<typeof events> {
  return {
    subscribe({ query: { after, ...filter }, signal }) {
      const messages = new FrameQueue<EventMessage>(signal);
      const reader = feed.read(filter, after, (batch) => messages.pushAll(batch));
      signal.addEventListener("abort", reader.stop, { once: true });
      return messages;
    },
  };
}

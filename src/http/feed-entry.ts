import { Buffer } from "node:buffer";
import type { ToolEvent } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { EventMessage } from "./wire.ts";

/** A message as it is sent: written when it is first read, and once, however many read it. */
export class FeedEntry {
  #stream: Buffer | undefined = undefined;
  #message: string | undefined = undefined;
  #json: string | undefined = undefined;

  constructor(
    private readonly start: number,
    readonly number: number,
    readonly type: EventMessage["type"],
    /** The event itself, or what is said instead of one. */
    readonly data: unknown,
    private readonly largest = Infinity,
    /** About how long it is. */
    readonly characters = 0,
  ) {}

  get id(): string {
    return `${this.start}-${this.number}`;
  }

  get json(): string {
    if (this.#json !== undefined) return this.#json;
    const json = JSON.stringify(this.data);
    return (this.#json = json.length > this.largest ? JSON.stringify(withoutContent(this.data as ToolEvent)) : json);
  }

  /** As a server-sent event. JSON has no line breaks of its own. */
  get stream(): Buffer {
    return (this.#stream ??= Buffer.from(`id: ${this.id}\nevent: ${this.type}\ndata: ${this.json}\n\n`));
  }

  /** As a message of the WebSocket. */
  get message(): string {
    return (this.#message ??= `{"id":"${this.id}","type":"${this.type}","data":${this.json}}`);
  }
}

function withoutContent(event: ToolEvent): ToolEvent {
  if ("result" in event) return { ...event, result: cut(event.result) };
  if ("update" in event) return { ...event, update: { details: { cut: true } } };
  return "input" in event ? { ...event, input: { cut: true } } : event;
}

function cut(result: ToolResult): ToolResult {
  const { details: _details, ...rest } = result;
  return { ...rest, content: [], metadata: { cut: true } } as ToolResult;
}

/** Beyond so many values it is counted exactly: what is large is rare. */
const MAX_VALUES = 200;

/** About the length of the JSON of plain data, without writing it: most events are never read. */
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

import { parseJson } from "../../core/parse-json.ts";
import { isObject } from "../../schema/json-schema.ts";
import { readJson } from "../text/json-reader.ts";
import { isSpace, Source } from "../text/text-source.ts";
import type { ShownNames } from "./define-tools.ts";

export interface ParsedArguments {
  /** The very text where it has no one meaning: the gate refuses it, and says what is wrong. */
  input: unknown;
  repairs: string[];
}

/** Arguments as providers write them, JSON as text. Only what has one meaning is mended; a text that broke off has none. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { input: {}, repairs: [] };
  const strict = tryParse(text);
  if (strict) return { input: strict.value, repairs: [] };
  const mended = mend(text);
  const parsed = mended && tryParse(mended.json);
  return parsed ? { input: parsed.value, repairs: mended.repairs } : { input: text, repairs: [] };
}

/** Undefined also for what is JSON but not accepted, such as a key that stands twice. */
function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}

const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/;

function mend(text: string): { json: string; repairs: string[] } | undefined {
  const repairs = new Set<string>();
  const fenced = FENCE.exec(text)?.[1];
  if (fenced !== undefined) repairs.add("a code fence around the arguments was removed");
  const source = new Source();
  source.feed(fenced ?? text);
  source.ended = true;
  let json = "";
  const reader = {
    source,
    dialect: {},
    repair: (what: string) => void repairs.add(what),
    write: (piece: string) => void (json += piece),
  };
  try {
    const reading = readJson(reader, "object");
    // The whole text is there, so that the reader never waits.
    if (!reading.next().done) return undefined;
  } catch {
    return undefined;
  }
  source.take(source.spanOf(isSpace));
  const rest = source.take(source.left).trim();
  if (rest !== "" && !/^[\]}\s]+$/.test(rest)) return undefined;
  if (rest !== "") repairs.add("closing brackets too many were removed");
  return { json, repairs: [...repairs] };
}

/** A call that a model asked for through its provider; `executeMany` takes a list of them as it is. */
export interface ModelCall {
  /** The provider's own, or one that was made up because the provider has none. */
  id: string;
  name: string;
  /** Text where the arguments could not be read: the gate refuses it, and says what is wrong. */
  input: unknown;
  /** What was mended before the arguments could be read. */
  repairs?: string[];
  /** The call in the provider's messages, where that differs; results are written to it. */
  shown?: { id?: string; name?: string };
}

/** What reading takes: the names that the definitions were given. */
export interface ReadOptions {
  names?: ShownNames;
}

export interface RawCall {
  id?: unknown;
  name?: unknown;
  /** Text, or data where the provider parses it. */
  arguments?: unknown;
}

/** The calls of one reply. An id that is missing, or that two of them share, is replaced by a unique one. */
export function toModelCalls(raw: readonly RawCall[], { names }: ReadOptions = {}): ModelCall[] {
  const used = new Set<string>();
  return raw.map((each) => {
    const shownId = typeof each.id === "string" ? each.id : "";
    const shownName = typeof each.name === "string" ? each.name : "";
    const isOwn = shownId !== "" && !used.has(shownId);
    const id = isOwn ? shownId : `call_${crypto.randomUUID()}`;
    used.add(id);
    const real = names?.get(shownName);
    const name = real?.name ?? shownName;
    const { input, repairs } =
      typeof each.arguments === "string"
        ? parseArguments(each.arguments)
        : { input: each.arguments ?? {}, repairs: [] as string[] };
    return {
      id,
      name,
      input: real?.parameters ? restoreNames(input, real.parameters) : input,
      repairs: repairs.length > 0 ? repairs : undefined,
      ...(isOwn && name === shownName
        ? {}
        : { shown: { id: isOwn ? undefined : shownId, name: name === shownName ? undefined : shownName } }),
    };
  });
}

export function restoreNames(input: unknown, parameters: ReadonlyMap<string, string>): unknown {
  if (!isObject(input)) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [parameters.get(key) ?? key, value]));
}

/** Collects the calls of a streamed reply; `calls()` may be asked at any time, and is complete when the stream is. */
export interface CallReader<Event> {
  push(event: Event): void;
  calls(): ModelCall[];
}

/** The growing parts of a stream, by the place that the provider gives them. */
export class RawCalls {
  readonly #bySlot = new Map<string | number, { id?: string; name?: string; text: string; data?: unknown }>();
  #made: { version: number; calls: ModelCall[] } | undefined;
  #version = 0;

  constructor(readonly options: ReadOptions) {}

  at(slot: string | number): { id?: string; name?: string; text: string; data?: unknown } {
    this.#version++;
    let call = this.#bySlot.get(slot);
    if (!call) this.#bySlot.set(slot, (call = { text: "" }));
    return call;
  }

  get size(): number {
    return this.#bySlot.size;
  }

  /** The same ids each time, also those that are made up. */
  calls(): ModelCall[] {
    if (this.#made?.version !== this.#version) {
      const raw = [...this.#bySlot.values()].map(({ id, name, text, data }) => ({
        id,
        name,
        arguments: data !== undefined && text === "" ? data : text,
      }));
      const calls = toModelCalls(raw, this.options);
      this.#made?.calls.forEach((before, at) => {
        if (calls[at]?.shown?.id !== undefined && before.shown?.id !== undefined) calls[at]!.id = before.id;
      });
      this.#made = { version: this.#version, calls };
    }
    return this.#made.calls;
  }
}

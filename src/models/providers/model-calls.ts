import { attempt } from "../../core/error.ts";
import { parseJson } from "../../core/parse-json.ts";
import { isObject } from "../../schema/json-schema.ts";
import { readJson } from "../text/json-reader.ts";
import { isSpace, Source } from "../text/text-source.ts";
import type { ShownNames } from "./define-tools.ts";

interface ParsedArguments {
  /** The original text if it is ambiguous: the gate rejects it and reports the problem. */
  input: unknown;
  repairs: string[];
}

/** Parses arguments that a provider sends as JSON text. Repairs only what has one meaning; truncated text is not repaired. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { input: {}, repairs: [] };
  const strict = tryParse(text);
  if (strict) return { input: strict.value, repairs: [] };
  const repaired = repairArguments(text);
  const parsed = repaired && tryParse(repaired.json);
  return parsed ? { input: parsed.value, repairs: repaired.repairs } : { input: text, repairs: [] };
}

/** Returns undefined also for JSON that is not accepted, for example with a duplicate key. */
function tryParse(text: string): { value: unknown } | undefined {
  return attempt(() => ({ value: parseJson(text) }));
}

const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/;

function repairArguments(text: string): { json: string; repairs: string[] } | undefined {
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
    // The text is complete, so the reader never pauses.
    if (!reading.next().done) return undefined;
  } catch {
    return undefined;
  }
  source.take(source.spanOf(isSpace));
  const rest = source.take(source.left).trim();
  if (rest !== "" && !/^[\]}\s]+$/.test(rest)) return undefined;
  if (rest !== "") repairs.add("extra closing brackets were removed");
  return { json, repairs: [...repairs] };
}

/** A call that a model requested through its provider. `executeMany` takes a list of them. */
export interface ModelCall {
  /** The provider's id, or a generated one if it has none. */
  id: string;
  /** The tool's own name, not the one that was shown. */
  name: string;
  /** The original text if the arguments could not be parsed: the gate rejects it and reports the problem. */
  input: unknown;
  /** The repairs that were needed to parse the arguments. */
  repairs?: string[];
  /** The id and name in the provider's messages, if they differ. Results refer to these. */
  shown?: { id?: string; name?: string };
}

export interface ReadOptions {
  /** The names from the tool definitions. */
  names?: ShownNames;
}

interface RawCall {
  id?: unknown;
  name?: unknown;
  /** Text, or data if the provider parses it. */
  arguments?: unknown;
}

/** Converts the calls of one reply. A missing or duplicate id is replaced by a unique one. */
export function toModelCalls(raw: readonly RawCall[], { names }: ReadOptions = {}): ModelCall[] {
  const used = new Set<string>();
  return raw.map((each) => {
    const shownId = typeof each.id === "string" ? each.id : "";
    const shownName = typeof each.name === "string" ? each.name : "";
    const isUnique = shownId !== "" && !used.has(shownId);
    const id = isUnique ? shownId : `call_${crypto.randomUUID()}`;
    used.add(id);
    const original = names?.get(shownName);
    const name = original?.name ?? shownName;
    const { input, repairs }: ParsedArguments =
      typeof each.arguments === "string"
        ? parseArguments(each.arguments)
        : { input: each.arguments ?? {}, repairs: [] };
    const call: ModelCall = {
      id,
      name,
      input: original?.parameters ? restoreNames(input, original.parameters) : input,
      repairs: repairs.length > 0 ? repairs : undefined,
    };
    if (!isUnique || name !== shownName) {
      call.shown = { id: isUnique ? undefined : shownId, name: name === shownName ? undefined : shownName };
    }
    return call;
  });
}

export function restoreNames(input: unknown, parameters: ReadonlyMap<string, string>): unknown {
  if (!isObject(input)) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [parameters.get(key) ?? key, value]));
}

/** Collects the calls of a streamed reply. `calls()` works at any time and is complete at the end of the stream. */
export interface CallReader<Event> {
  /** Takes the next part of the stream. */
  push(event: Event): void;
  /** The calls that are complete so far. */
  calls(): ModelCall[];
}

interface StreamedCall {
  id?: string;
  name?: string;
  text: string;
  data?: unknown;
}

/** The calls of a stream while they arrive, by the slot that the provider assigns to each. */
export class StreamedCalls {
  readonly #bySlot = new Map<string | number, StreamedCall>();
  #cached: { version: number; calls: ModelCall[] } | undefined;
  #version = 0;

  constructor(readonly options: ReadOptions) {}

  at(slot: string | number): StreamedCall {
    this.#version++;
    let call = this.#bySlot.get(slot);
    if (!call) this.#bySlot.set(slot, (call = { text: "" }));
    return call;
  }

  get size(): number {
    return this.#bySlot.size;
  }

  /** Returns the same ids each time, also the generated ones. */
  calls(): ModelCall[] {
    if (this.#cached?.version !== this.#version) {
      const raw = [...this.#bySlot.values()].map(({ id, name, text, data }) => ({
        id,
        name,
        arguments: data !== undefined && text === "" ? data : text,
      }));
      const calls = toModelCalls(raw, this.options);
      const before = this.#cached?.calls ?? [];
      for (const [at, call] of calls.entries()) {
        const earlier = before[at];
        if (call.shown?.id !== undefined && earlier?.shown?.id !== undefined) call.id = earlier.id;
      }
      this.#cached = { version: this.#version, calls };
    }
    return this.#cached.calls;
  }
}

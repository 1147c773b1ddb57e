import { isObject } from "../../schema/json-schema.ts";
import type { ShownNames } from "./define-tools.ts";
import { parseArguments } from "./parse-arguments.ts";

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
      ...(repairs.length > 0 ? { repairs } : {}),
      ...(isOwn && name === shownName
        ? {}
        : { shown: { ...(isOwn ? {} : { id: shownId }), ...(name === shownName ? {} : { name: shownName }) } }),
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

/** Limits of one result. Text for the model may be longer here: it is shortened and spilled afterwards. */
const MAX_DEPTH = 64;
const MAX_NODES = 200_000;
const MAX_DETAIL_TEXT_LENGTH = 4 * 1024 * 1024;
export const MAX_CONTENT_TEXT_LENGTH = 64 * 1024 * 1024;

export interface PlainData {
  value: unknown;
  /** Lost or unreadable values with their paths: the tool broke its contract. */
  faults: string[];
  /** Values that only changed their form. */
  warnings: string[];
  /** Those of `faults` that are only a matter of size. */
  cuts: string[];
}

/** Any value as plain JSON data. Never throws: a cycle, a throwing getter or a gigabyte of text becomes a note. */
export function toPlainData(value: unknown, maxTextLength = MAX_DETAIL_TEXT_LENGTH): PlainData {
  const copier = new Copier(maxTextLength);
  const copy = isJsonPrimitive(value, maxTextLength) ? value : copier.copy(value, "", 0);
  return { value: copy, faults: copier.faults, warnings: copier.warnings, cuts: copier.cuts };
}

export function isJsonPrimitive(value: unknown, maxTextLength: number): value is string | number | boolean | null {
  if (value === null || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value === "string" && value.length <= maxTextLength;
}

class Copier {
  readonly faults: string[] = [];
  readonly warnings: string[] = [];
  readonly cuts: string[] = [];
  readonly #ancestors = new Set<object>();
  #nodes = 0;
  #textLeft: number;

  constructor(maxTextLength: number) {
    this.#textLeft = maxTextLength;
  }

  copy(value: unknown, location: string, depth: number): unknown {
    switch (typeof value) {
      case "string":
        return this.#copyText(value, location);
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) ? value : this.#warn(location, `${value} became null`);
      case "bigint":
        return this.#fault(location, "a BigInt became text", value.toString().slice(0, 1000));
      case "undefined":
        return undefined;
      case "object":
        return value === null ? null : this.#copyObject(value, location, depth);
      default:
        return this.#fault(location, `a ${typeof value} was left out`, undefined);
    }
  }

  #copyText(value: string, location: string): string {
    const room = this.#textLeft;
    this.#textLeft -= Math.min(value.length, room);
    if (value.length <= room) return value;
    return this.#cut(location, `${value.length} characters were cut to ${room}`, value.slice(0, room));
  }

  #copyObject(value: object, location: string, depth: number): unknown {
    if (this.#ancestors.has(value)) return this.#fault(location, "a cycle was cut", "[Circular]");
    if (depth >= MAX_DEPTH) return this.#cut(location, `nesting deeper than ${MAX_DEPTH} was cut`, "[Too deep]");
    if (++this.#nodes > MAX_NODES) return this.#cut(location, `more than ${MAX_NODES} values were cut`, "[Cut]");
    this.#ancestors.add(value);
    try {
      if (Array.isArray(value)) return this.#copyArray(value, location, depth);
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
      if (value instanceof Error) return { name: String(value.name), message: String(value.message) };
      if (value instanceof Map) return this.copy([...value], location, depth + 1);
      if (value instanceof Set) return this.copy([...value], location, depth + 1);
      if (value instanceof URL || value instanceof RegExp) return String(value);
      if (ArrayBuffer.isView(value)) return this.#fault(location, "bytes were left out", `[${value.byteLength} bytes]`);
      const { toJSON } = value as { toJSON?: unknown };
      if (typeof toJSON === "function") return this.copy(toJSON.call(value, ""), location, depth + 1);
      const tag = Object.prototype.toString.call(value).slice(8, -1);
      // A promise, a generator, a Response: a copy of its fields would be empty and look like an answer.
      if (tag !== "Object" && Object.keys(value).length === 0) {
        return this.#fault(location, `a ${tag} was left out`, undefined);
      }
      return this.#copyFields(value, location, depth);
    } catch (error) {
      const why = error instanceof Error ? error.message : "it threw";
      return this.#fault(location, `a value could not be read (${why.slice(0, 200)})`, null);
    } finally {
      this.#ancestors.delete(value);
    }
  }

  #copyArray(value: readonly unknown[], location: string, depth: number): unknown[] {
    const copy: unknown[] = [];
    for (let i = 0; i < value.length; i++) {
      if (this.#nodes > MAX_NODES) {
        this.#cut(location, `${value.length - i} items were cut`, undefined);
        break;
      }
      this.#nodes++;
      copy.push(this.copy(value[i], `${location}[${i}]`, depth + 1) ?? null);
    }
    return copy;
  }

  #copyFields(value: object, location: string, depth: number): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    const keys = Object.keys(value);
    for (const [i, key] of keys.entries()) {
      if (++this.#nodes > MAX_NODES || (this.#textLeft -= key.length) < 0) {
        this.#textLeft = Math.max(0, this.#textLeft);
        this.#cut(location, `${keys.length - i} fields were cut`, undefined);
        break;
      }
      if (key === "__proto__") {
        this.#fault(location, "a __proto__ key was left out", undefined);
        continue;
      }
      const inner = location ? `${location}.${key}` : key;
      let field: unknown;
      try {
        field = this.copy((value as Record<string, unknown>)[key], inner, depth + 1);
      } catch {
        field = this.#fault(inner, "it could not be read", null);
      }
      if (field !== undefined) copy[key] = field;
    }
    return copy;
  }

  #fault<T>(location: string, what: string, instead: T): T {
    if (this.faults.length < 20) this.faults.push(`${location || "output"}: ${what}`);
    return instead;
  }

  #cut<T>(location: string, what: string, instead: T): T {
    if (this.faults.length < 20) this.cuts.push(`${location || "output"}: ${what}`);
    return this.#fault(location, what, instead);
  }

  #warn(location: string, what: string): null {
    if (this.warnings.length < 20) this.warnings.push(`${location || "output"}: ${what}`);
    return null;
  }
}

/** One text for equal data, independent of key order; for fingerprints and cache keys. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? writeList(value) : writeObject(value);
  if (typeof value === "bigint") return `${value}n`;
  return JSON.stringify(value) ?? "null";
}

function writeList(list: Iterable<unknown>): string {
  let text = "";
  for (const item of list) text += text === "" ? canonicalJson(item) : `,${canonicalJson(item)}`;
  return `[${text}]`;
}

function writeObject(value: object): string {
  const { toJSON } = value as { toJSON?: () => unknown };
  if (typeof toJSON === "function") return canonicalJson(toJSON.call(value));
  // They have no fields: as plain objects they would all be equal.
  if (value instanceof Map) return `Map${writeList(value)}`;
  if (value instanceof Set) return `Set${writeList(value)}`;
  let text = "";
  // A hot path: plain loops, no intermediate lists.
  for (const key of Object.keys(value).sort()) {
    const field = (value as Record<string, unknown>)[key];
    if (field !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}

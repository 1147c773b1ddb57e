import { INPUT_LIMITS, notAccepted, tooLarge } from "./input-limits.ts";

/**
 * A bounded copy of an input: what was validated and approved cannot be changed afterwards by whoever passed it in.
 * Plain objects and lists are copied; other objects (a Date, a Buffer) are the schema's to judge and stay as they are.
 */
export function copyInput(value: unknown): unknown {
  return new InputCopier().copy(value, "", 0);
}

class InputCopier {
  #values = 0;
  #characters = 0;

  copy(value: unknown, place: string, depth: number): unknown {
    if (typeof value === "string") return this.#text(value, place);
    if (typeof value !== "object" || value === null) {
      if (typeof value === "number" && !Number.isFinite(value)) throw notAccepted(`${value} is no JSON number`, place);
      return value;
    }
    if (depth > INPUT_LIMITS.depth) throw tooLarge(`more than ${INPUT_LIMITS.depth} levels of nesting`);
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (let i = 0; i < value.length; i++) {
        this.#count();
        items.push(this.copy(value[i], `${place}[${i}]`, depth + 1));
      }
      return items;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return value;
    const fields: Record<string, unknown> = {};
    for (const key in value) {
      if (key === "__proto__") throw notAccepted('the key "__proto__" is not accepted', place);
      this.#count();
      fields[key] = this.copy((value as Record<string, unknown>)[key], place ? `${place}.${key}` : key, depth + 1);
    }
    return fields;
  }

  #text(value: string, place: string): string {
    this.#characters += value.length;
    if (this.#characters > INPUT_LIMITS.characters) {
      throw tooLarge(`more than ${INPUT_LIMITS.characters} characters of text`);
    }
    if (!value.isWellFormed()) throw notAccepted("the text holds half of a surrogate pair", place);
    return value;
  }

  #count(): void {
    if (++this.#values > INPUT_LIMITS.values) throw tooLarge(`more than ${INPUT_LIMITS.values} values`);
  }
}

import { ToolError } from "../core/error.ts";
import { INPUT_LIMITS, notAccepted, tooLarge } from "../core/input-limits.ts";

// A copy is made in one go, so that its counters can stand here and no call has to allocate them.
let values = 0;
let characters = 0;

/**
 * A bounded copy of an input: what was validated and approved cannot be changed afterwards by whoever passed it in.
 * Plain objects and lists are copied, and so is the input itself whatever its class; other objects inside it (a Date, a
 * Buffer) are the schema's to judge and stay as they are.
 */
export function copyInput(value: unknown): unknown {
  values = 0;
  characters = 0;
  try {
    return copy(value, "", 0);
  } catch (thrown) {
    // A getter or a trap of the caller's object.
    throw thrown instanceof ToolError ? thrown : notAccepted("the input could not be read", "");
  }
}

function copy(value: unknown, name: string, depth: number): unknown {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw notAccepted(`${value} is no JSON number`, name);
    return value;
  }
  if (typeof value === "string") return copyText(value, name);
  if (typeof value !== "object" || value === null) return value;
  if (depth > INPUT_LIMITS.depth) throw tooLarge(`more than ${INPUT_LIMITS.depth} levels of nesting`);
  return Array.isArray(value) ? copyList(value, name, depth) : copyFields(value, name, depth);
}

function copyList(list: readonly unknown[], name: string, depth: number): unknown[] {
  const items: unknown[] = [];
  for (let i = 0; i < list.length; i++) {
    count();
    items.push(copy(list[i], name, depth + 1));
  }
  return items;
}

function copyFields(object: object, name: string, depth: number): object {
  if (!isPlain(object)) {
    if (depth > 0) return object;
    // The input itself is always ours; but nothing would be left of a Map.
    if (tagOf(object) !== "[object Object]") throw notAccepted(`the input must be an object of parameters`, name);
  }
  // A clone keeps the object's hidden shape; filling an empty object key by key costs several times as much.
  const fields: Record<string, unknown> = { ...object };
  for (const key in fields) {
    if (key === "__proto__") throw notAccepted('the key "__proto__" is not accepted', name);
    count();
    copyText(key, name);
    const field = fields[key];
    if (typeof field === "string" || typeof field === "object" || typeof field === "number") {
      const copied = copy(field, key, depth + 1);
      if (copied !== field) fields[key] = copied;
    }
  }
  return fields;
}

/** Also one of another realm, such as a vm context. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function tagOf(object: object): string {
  return Object.prototype.toString.call(object);
}

function copyText(text: string, name: string): string {
  characters += text.length;
  if (characters > INPUT_LIMITS.characters) throw tooLarge(`more than ${INPUT_LIMITS.characters} characters of text`);
  if (!text.isWellFormed()) throw notAccepted("the text holds half of a surrogate pair", name);
  return text;
}

function count(): void {
  if (++values > INPUT_LIMITS.values) throw tooLarge(`more than ${INPUT_LIMITS.values} values`);
}

import { type Call, note } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { INPUT_LIMITS, notAccepted, parseJson, tooLarge } from "../core/parse-json.ts";
import { isObject, type JsonSchema, type JsonType } from "../schema/json-schema.ts";
import { admitsType, schemaAt, typeOfValue, typesOf } from "../schema/schema-properties.ts";
import { pathOf, pathText, type SchemaIssue } from "../schema/schema.ts";

/**
 * Repairs unambiguous mistakes at the places that the schema reports. The input is our own copy and is changed in
 * place. The caller must validate again: a repair is a guess. `isText`: the values were written as text.
 */
export function repairInput(
  input: Record<string, unknown>,
  issues: readonly SchemaIssue[],
  { schema, isText }: { schema: JsonSchema; isText: boolean },
): string[] {
  const repairs: string[] = [];
  const paths = new Map(issues.map((issue) => [pathText(pathOf(issue)), pathOf(issue)]));
  for (const [pathKey, path] of paths) {
    const target = locate(input, path);
    if (!target) continue;
    const { holder, key } = target;
    const wanted = schemaAt(schema, path as readonly (string | number)[]);
    if (!wanted) continue;
    const types = typesOf(schema, wanted);
    const repaired = (isText && path.length === 1 && asWritten(holder[key], types)) || repair(holder[key], types);
    // An item of a list cannot be removed: the later items would move.
    if (!repaired || (repaired.absent && Array.isArray(holder))) continue;
    if (repaired.absent) delete holder[key];
    else holder[key] = repaired.value;
    repairs.push(`${pathKey}: ${repaired.what}`);
  }
  return repairs;
}

type Holder = Record<PropertyKey, unknown>;

function locate(input: Holder, path: readonly PropertyKey[]): { holder: Holder; key: PropertyKey } | undefined {
  const key = path.at(-1);
  if (key === undefined) return undefined;
  let holder: unknown = input;
  for (const part of path.slice(0, -1)) {
    if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, part)) return undefined;
    holder = (holder as Holder)[part];
  }
  if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return { holder: holder as Holder, key };
}

type Repaired = { value: unknown; what: string; absent?: boolean };

/** A number that a text format guessed, where the schema wants the text. */
function asWritten(value: unknown, types: ReadonlySet<JsonType>): Repaired | undefined {
  if (!types.has("string") || (typeof value !== "number" && typeof value !== "boolean")) return undefined;
  return { value: String(value), what: `${String(value)} was read as text` };
}

function repair(value: unknown, types: ReadonlySet<JsonType>): Repaired | undefined {
  if (admitsType(types, typeOfValue(value))) return undefined;
  if (value === null) return { value: undefined, absent: true, what: "null was treated as missing" };
  if (typeof value === "string") {
    const parsed = repairText(value, types);
    if (parsed) return parsed;
    // The beginning of a truncated list is not its only item.
    if (/^\s*[[{]/.test(value)) return undefined;
  }
  if (types.has("array") && !Array.isArray(value)) {
    return { value: [value], what: "a single value was read as a list of one" };
  }
  return undefined;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function repairText(value: string, types: ReadonlySet<JsonType>): Repaired | undefined {
  const text = value.trim();
  if ((types.has("number") || types.has("integer")) && NUMBER.test(text)) {
    const number = Number(text);
    if (Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))) {
      return { value: number, what: `the text ${JSON.stringify(text.slice(0, 40))} was read as a number` };
    }
  }
  const flag = text.toLowerCase();
  if (types.has("boolean") && (flag === "true" || flag === "false")) {
    return { value: flag === "true", what: `the text ${JSON.stringify(text)} was read as ${flag}` };
  }
  if ((types.has("object") && text.startsWith("{")) || (types.has("array") && text.startsWith("["))) {
    try {
      return { value: copyInput(parseJson(text)), what: "JSON that was encoded twice was decoded" };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** Copies an input, text or data, into a bounded object. */
export function acceptInput(call: Call): Record<string, unknown> {
  const { input } = call;
  return objectOf(copyInput(typeof input === "string" ? parseInput(call, input) : input));
}

function parseInput(call: Call, text: string): unknown {
  // Models send this for a tool without parameters.
  if (text.trim() === "") return {};
  const parsed = parseJson(text);
  if (typeof parsed !== "string") return parsed;
  // An input is always an object, so this is unambiguous.
  note(call, "repairs", ["the input was JSON encoded twice"]);
  return parseJson(parsed);
}

function objectOf(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  const got = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  throw notAccepted(`the input must be an object of parameters, got ${value === undefined ? "nothing" : got}`, "");
}

// Copying is synchronous, so all calls can share these counters.
let values = 0;
let characters = 0;

/**
 * A bounded copy of an input: the caller cannot change it after validation and approval.
 * Plain objects and lists are copied, and so is the input itself, also if it is an instance of a class; other objects inside it (a Date, a
 * Buffer) stay as they are; the schema checks them.
 */
function copyInput(value: unknown): unknown {
  values = 0;
  characters = 0;
  try {
    return copy(value, "", 0);
  } catch (thrown) {
    // A getter or a proxy trap of the caller's object threw.
    throw thrown instanceof ToolError ? thrown : notAccepted("the input could not be read", "");
  }
}

function copy(value: unknown, name: string, depth: number): unknown {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw notAccepted(`${value} is not a JSON number`, name);
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
    // The input itself is always copied; a copy of a Map would be empty.
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
  if (!text.isWellFormed()) throw notAccepted("the text contains half of a surrogate pair", name);
  return text;
}

function count(): void {
  if (++values > INPUT_LIMITS.values) throw tooLarge(`more than ${INPUT_LIMITS.values} values`);
}

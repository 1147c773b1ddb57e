import type { Call } from "../core/call.ts";
import { attempt, ToolError } from "../core/error.ts";
import { INPUT_LIMITS, notAccepted, parseJson, tooLarge, withoutTrailingCommas } from "../core/parse-json.ts";
import { calledName } from "../core/tool-catalog.ts";
import type { AnyTool } from "../core/tool.ts";
import { isObject, type JsonSchema, type JsonType } from "../schema/json-schema.ts";
import { admitsType, partsOf, propertiesOf, schemaAt, typeOfValue, typesOf } from "../schema/schema-properties.ts";
import { pathOf, pathText, type SchemaIssue } from "../schema/schema.ts";

/** One way to read an input: our own copy of it, and the repairs that led to it. */
export interface Reading {
  input: Record<string, unknown>;
  repairs: string[];
}

/** Repairs unambiguous mistakes in place where the schema reports them; validate again. `isText`: values were text. */
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
    const written = isText && path.length === 1 ? asWritten(holder[key], types) : undefined;
    const repaired = written ?? repair(holder[key], types) ?? repairCase(holder[key], schema, wanted);
    // An item of a list cannot be removed: the later items would move.
    if (!repaired || (repaired.absent && Array.isArray(holder))) continue;
    if (repaired.absent) delete holder[key];
    else holder[key] = repaired.value;
    repairs.push(`${pathKey}: ${repaired.what}`);
  }
  return repairs;
}

/** A parameter that the schema does not declare. */
export interface UnknownParameter {
  path: readonly PropertyKey[];
  /** The parameters that are declared there. */
  known: readonly string[];
}

/** Renames parameters that differ in case or separators from one declared one: all, or none if two would be equal. */
export function repairKeys(
  input: Record<string, unknown>,
  unknown: readonly UnknownParameter[],
  canonical: ReadonlyMap<string, string> = new Map(),
): string[] {
  const renames: { holder: Holder; from: string; to: string; at: string }[] = [];
  for (const { path, known } of unknown) {
    const holder = locate(input, path)?.holder;
    const from = String(path.at(-1));
    const alike = [...known, ...canonical.keys()].filter((name) => isAlike(name, from));
    const meant = new Set(alike.map((name) => (known.includes(name) ? name : (canonical.get(name) ?? name))));
    const [to] = meant;
    const isTaken = (name: string): boolean => renames.some((other) => other.holder === holder && other.to === name);
    if (!holder || to === undefined || meant.size > 1 || Object.hasOwn(holder, to) || isTaken(to)) return [];
    renames.push({ holder, from, to, at: pathText(path) });
  }
  for (const { holder, from, to } of renames) {
    holder[to] = holder[from];
    delete holder[from];
  }
  return renames.map(({ at, to }) => `${at}: read as "${to}"`);
}

/** Whether two names differ only in case, or in how they separate words: `old_string`, `oldString`, `Old-String`. */
function isAlike(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase() || words(left) === words(right);
}

function words(name: string): string {
  return name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .trim()
    .replaceAll(/[\s-]/g, "_")
    .toLowerCase();
}

/** What models put around the parameters: the field of a call that has them, or the keyword of the schema. */
const WRAPPERS = /^(?:arguments|args|kwargs|input|tool_input|parameters|params|properties|function)$/;
/** The field of a call that names the tool. */
const NAMING = /^(?:name|tool|tool_name|function|function_name)$/;
/** What a whole call has beside its name and its parameters. */
const BESIDE: readonly string[] = ["type", "id", "call_id"];

/**
 * What an input has in one wrapper: `{"arguments": {…}}`, `{"read": {…}}`, `{"name": "read", "arguments": {…}}`. Undefined
 * if it has none, if a key of it may be a parameter of the tool, or if it names another tool. The caller must validate it.
 */
export function unwrapInput(tool: AnyTool, { input, repairs }: Reading, requestedName: string): Reading | undefined {
  // Under another name of the tool, parameters may mean something else.
  const namesTool = (name: unknown): boolean =>
    typeof name === "string" && isAlike(name, calledName(tool, requestedName));
  const keys = Object.keys(input);
  const naming = keys.filter((key) => NAMING.test(words(key)) && typeof input[key] === "string");
  const isCall = naming.length > 0 || isObject(input["function"]);
  const isSchema = input["type"] === "object" && Object.hasOwn(input, "properties");
  const wrappers = keys.filter(
    (key) => !naming.includes(key) && !(isCall && BESIDE.includes(key)) && !(isSchema && key === "type"),
  );
  const [wrapper] = wrappers;
  if (wrapper === undefined || wrappers.length > 1 || !naming.every((key) => namesTool(input[key]))) return undefined;
  if (!WRAPPERS.test(words(wrapper)) && !namesTool(wrapper)) return undefined;
  if (keys.some((key) => isParameter(tool, key, key === wrapper))) return undefined;
  const inner = innerObject(input[wrapper]);
  return inner && { input: inner, repairs: [...repairs, `${wrapper}: read as the input itself`] };
}

/** Also an alias of a parameter; but one of a text cannot have what a wrapper has. */
function isParameter(tool: AnyTool, key: string, isWrapper: boolean): boolean {
  const schema = tool.parameters.jsonSchema;
  const declared = propertiesOf(schema, schema);
  if ([...declared.keys()].some((name) => isAlike(name, key))) return true;
  const property = declared.get(tool.parameterAliases.get(key) ?? "");
  if (!property) return false;
  const types = typesOf(schema, property);
  return !isWrapper || types.has("object") || types.has("array");
}

function innerObject(value: unknown): Record<string, unknown> | undefined {
  if (isObject(value)) return value;
  if (Array.isArray(value)) return value.length === 1 ? innerObject(value[0]) : undefined;
  if (typeof value !== "string" || !value.trim().startsWith("{")) return undefined;
  return attempt(() => objectOf(copyInput(parseLeniently(value, []))));
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
  // "a, b" may be one item or two.
  const isListed = typeof value === "string" && /[,\n]/.test(value.replaceAll(/\{[^{}]*\}/g, ""));
  if (types.has("array") && !Array.isArray(value) && !isListed) {
    return { value: [value], what: "a single value was read as a list of one" };
  }
  return undefined;
}

/** A value that differs from exactly one of the listed ones, in case or in how words are separated. */
function repairCase(value: unknown, root: JsonSchema, wanted: JsonSchema): Repaired | undefined {
  if (typeof value !== "string") return undefined;
  const written = value.trim().replace(/^(["'])(.*)\1$/, "$2");
  const listed = new Set<string>();
  for (const part of partsOf(root, wanted)) {
    for (const choice of [part["const"], part["enum"]].flat()) if (typeof choice === "string") listed.add(choice);
  }
  const [meant, ...others] = [...listed].filter((choice) => isAlike(choice, written));
  if (meant === undefined || others.length > 0 || meant === value) return undefined;
  return { value: meant, what: `${JSON.stringify(value.slice(0, 40))} was read as ${JSON.stringify(meant)}` };
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
  if (types.has("array") ? /^[[{]/.test(text) : types.has("object") && text.startsWith("{")) {
    try {
      const decoded = copyInput(parseLeniently(text, []));
      return {
        value: isObject(decoded) && !types.has("object") ? [decoded] : decoded,
        what: "JSON that was encoded twice was decoded",
      };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** Copies an input, text or data, into a bounded object. */
export function acceptInput({ input }: Call): Reading {
  const repairs: string[] = [];
  const value = copyInput(typeof input === "string" ? parseInput(input, repairs) : input);
  // An input is always an object, so these are unambiguous.
  if (!Array.isArray(value) || value.length !== 1 || !isObject(value[0])) return { input: objectOf(value), repairs };
  return { input: value[0], repairs: [...repairs, "the list around the input was removed"] };
}

function parseInput(text: string, repairs: string[]): unknown {
  // Models send this for a tool without parameters.
  if (text.trim() === "") return {};
  const parsed = parseLeniently(text, repairs);
  if (typeof parsed !== "string") return parsed;
  repairs.push("the input was JSON encoded twice");
  return parseLeniently(parsed, repairs);
}

function parseLeniently(text: string, repairs: string[]): unknown {
  try {
    return parseJson(text);
  } catch (thrown) {
    const plain = /^\s*```(?:json)?[ \t]*\n([^`]*)\n[ \t]*```\s*$/.exec(text)?.[1] ?? text;
    const repaired = withoutTrailingCommas(plain) ?? plain;
    if (repaired === text) throw thrown;
    const parsed = parseJson(repaired);
    if (plain !== text) repairs.push("the code block around the JSON was removed");
    if (repaired !== plain) repairs.push("a trailing comma was removed from the JSON");
    return parsed;
  }
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

import { typeOfValue } from "./find-property.ts";

/** One error as the validator reports it: what failed, where in the schema, where in the value. */
export interface CheckError {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

const MAX_LISTED = 20;
const MAX_SHOWN = 60;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "PT15M",
  email: "name@example.org",
  uri: "https://example.org/page",
  url: "https://example.org/page",
  uuid: "0f8fad5b-d9cb-469f-a165-70867728950e",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  hostname: "example.org",
};

/** What one failed keyword means, for the reader who has to send a better value. */
export function describeError({ keyword, params, message }: CheckError, found: unknown): string {
  const limit = String(params["limit"]);
  switch (keyword) {
    case "type":
      return `must be ${joinOr(typeNames(params["type"]))}, got ${nameType(found, params["type"] === "integer")}`;
    case "enum":
      return `must be ${listValues(params["allowedValues"] as unknown[])}, got ${showValue(found)}`;
    case "const":
      return `must be ${showValue(params["allowedValue"])}, got ${showValue(found)}`;
    case "minimum":
      return `must be at least ${limit}, got ${showValue(found)}`;
    case "maximum":
      return `must be at most ${limit}, got ${showValue(found)}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}, got ${showValue(found)}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}, got ${showValue(found)}`;
    case "multipleOf":
      return `must be a multiple of ${String(params["multipleOf"])}, got ${showValue(found)}`;
    case "minLength":
      return `must have at least ${plural(params["limit"], "character")}, has ${countOf(found)}`;
    case "maxLength":
      return `must have at most ${plural(params["limit"], "character")}, has ${countOf(found)}`;
    case "minItems":
      return `must have at least ${plural(params["limit"], "item")}, has ${countOf(found)}`;
    case "maxItems":
      return `must have at most ${plural(params["limit"], "item")}, has ${countOf(found)}`;
    case "minProperties":
      return `must have at least ${limit} ${limit === "1" ? "property" : "properties"}, has ${countOf(found)}`;
    case "maxProperties":
      return `must have at most ${limit} ${limit === "1" ? "property" : "properties"}, has ${countOf(found)}`;
    case "uniqueItems":
      return "must not contain the same item twice";
    case "pattern":
      return `must match the pattern ${String(params["pattern"])}, got ${showValue(found)}`;
    case "format":
      return describeFormat(String(params["format"]), found);
    case "contains":
      return "must contain an item of the kind that its schema asks for";
    case "dependentRequired":
    case "dependencies":
      return `needs ${quoteAll(params["dependencies"])} too, because "${String(params["property"])}" is given`;
    case "boolean":
      return "is not allowed here";
    case "not":
      return `must not be what its schema excludes, got ${showValue(found)}`;
    case "oneOf":
      return "matches several of the allowed forms, but must match exactly one";
    case "~refine":
      return String(params["message"]);
    default:
      return message;
  }
}

export function typeNames(type: unknown): string[] {
  return [type].flat().map((each) => TYPE_NAMES[String(each)] ?? String(each));
}

/** The type that a value has; or the number itself, where its type alone would not show what is wrong. */
export function nameType(value: unknown, showNumber = false): string {
  if (typeof value === "number") return showNumber || !Number.isFinite(value) ? String(value) : "number";
  return typeOfValue(value) ?? typeof value;
}

export function listValues(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_LISTED).map(showValue).join(", ");
  const more = values.length - MAX_LISTED;
  if (values.length === 1) return shown;
  return more > 0 ? `one of ${shown} and ${more} more` : `one of ${shown}`;
}

function showValue(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean" && value !== null) {
    return typeOfValue(value) ?? typeof value;
  }
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

export function joinOr(parts: readonly string[]): string {
  const distinct = [...new Set(parts)];
  const last = distinct.at(-1) ?? "";
  return distinct.length < 2 ? last : `${distinct.slice(0, -1).join(", ")} or ${last}`;
}

function describeFormat(format: string, found: unknown): string {
  const example = Object.hasOwn(FORMAT_EXAMPLES, format) ? `, such as ${FORMAT_EXAMPLES[format]}` : "";
  return `must have the format ${format}${example}; got ${showValue(found)}`;
}

function countOf(value: unknown): number {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value)) return value.length;
  return Object.keys(value as object).length;
}

function plural(count: unknown, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function quoteAll(names: unknown): string {
  return (Array.isArray(names) ? names : [names]).map((name) => `"${String(name)}"`).join(", ");
}

import { compileJsonSchema } from "../../schema/compile-json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { itemAt, partsOf, propertiesOf, typesOf } from "../../schema/schema-properties.ts";

/** The input in a text that shows only the form of a call. */
export const INPUT_FORM: Readonly<Record<string, unknown>> = { parameter_name: "value" };

/** An example input, from examples, defaults, choices or small values. Undefined if none satisfies the schema. */
export function exampleInput(schema: JsonSchema): Record<string, unknown> | undefined {
  const input = exampleObject({ root: schema, schema, name: "", depth: 0 });
  try {
    const { check, errors } = compileJsonSchema(schema);
    if (check(input)) return input;
    for (const { instancePath } of errors(input, MAX_ERRORS)) delete input[instancePath.split("/")[1] ?? ""];
    return check(input) ? input : undefined;
  } catch {
    // A definition that is not a tool may have a schema with mistakes.
    return input;
  }
}

const MAX_ERRORS = 20;

interface Place {
  root: JsonSchema;
  schema: JsonSchema;
  /** Of the parameter, or of the list that the value is in. */
  name: string;
  depth: number;
}

/** Deeper values are left empty. */
const MAX_DEPTH = 4;
const MAX_ITEMS = 10;

/** The required parameters, and at the top those with a value of their own in the schema. If there is none, the first. */
function exampleObject({ root, schema, depth }: Place): Record<string, unknown> {
  const required = new Set([...partsOf(root, schema)].flatMap((part) => namesIn(part["required"])));
  const input: Record<string, unknown> = {};
  const properties = [...propertiesOf(root, schema)].filter(([name]) => name !== "__proto__");
  const isShown = ([name, property]: [string, JsonSchema]): boolean =>
    required.has(name) || (depth === 0 && declaredValue([...partsOf(root, property)]) !== undefined);
  const shown = properties.filter(isShown);
  for (const [name, property] of shown.length > 0 || depth > 0 ? shown : properties.slice(0, 1)) {
    const value = exampleValue({ root, schema: property, name, depth: depth + 1 });
    if (value !== undefined) input[name] = value;
  }
  return input;
}

function exampleValue(place: Place): unknown {
  const { root, schema, name, depth } = place;
  const parts = [...partsOf(root, schema)];
  const declared =
    declaredValue(parts) ?? parts.flatMap((part) => listIn(part["enum"])).find((value) => value !== null);
  if (declared !== undefined) return declared;
  const types = typesOf(root, schema);
  if (types.has("string")) return exampleText(parts, name);
  if (types.has("integer") || types.has("number")) return exampleNumber(parts);
  if (types.has("boolean")) return true;
  if (depth > MAX_DEPTH) return types.has("array") ? [] : types.has("object") ? {} : null;
  if (types.has("array")) return exampleList(place);
  return types.has("object") ? exampleObject(place) : null;
}

/** The example, default or constant of the schema. */
function declaredValue(parts: readonly JsonSchema[]): unknown {
  return parts
    .flatMap(({ examples, example, default: byDefault, const: constant }) => [
      ...listIn(examples),
      ...[example, byDefault, constant],
    ])
    .find((value) => value !== undefined && value !== null);
}

function exampleList({ root, schema, name, depth }: Place): unknown[] {
  const min = Math.max(1, ...[...partsOf(root, schema)].map((part) => numberIn(part["minItems"]) ?? 1));
  const values = Array.from({ length: Math.min(min, MAX_ITEMS) }, (_, at) => {
    const item = itemAt(root, schema, at);
    return item && exampleValue({ root, schema: item, name, depth: depth + 1 });
  });
  return values.filter((value) => value !== undefined && value !== null);
}

/** Values of the formats of JSON Schema. */
const TEXTS: ReadonlyMap<unknown, string> = new Map([
  ["date", "2026-01-31"],
  ["date-time", "2026-01-31T12:00:00Z"],
  ["time", "12:00:00Z"],
  ["duration", "PT1H"],
  ["email", "ada@example.com"],
  ["hostname", "example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/"],
  ["uuid", "3f2b8c1e-5d4a-4b6f-9c7d-0a1b2c3d4e5f"],
]);

// oxfmt-ignore
/** Values of common parameters, by the last word of the name. `query` is missing: its example is a documented text. */
const NAMED_TEXTS: ReadonlyMap<string, string> = new Map([
  ["path", "src/main.ts"], ["file", "src/main.ts"], ["filename", "main.ts"], ["folder", "src"], ["directory", "src"],
  ["dir", "src"], ["cwd", "src"], ["question", "What is the weather in Paris?"],
  ["prompt", "Describe the weather in Paris."], ["url", "https://example.com/"], ["uri", "https://example.com/"],
  ["command", "ls -l"], ["cmd", "ls -l"], ["pattern", "TODO"], ["regex", "TODO"], ["glob", "**/*.ts"],
  ["code", "print(1)"], ["language", "en"], ["name", "Ada"], ["title", "Weekly report"], ["subject", "Weekly report"],
  ["email", "ada@example.com"], ["city", "Paris"], ["location", "Paris"], ["country", "FR"], ["currency", "EUR"],
  ["timezone", "Europe/Paris"], ["date", "2026-01-31"], ["time", "12:00"], ["id", "42"],
]);

function exampleText(parts: readonly JsonSchema[], name: string): string {
  const format = parts.map((part) => TEXTS.get(part["format"])).find((text) => text !== undefined);
  const max = Math.min(...parts.map((part) => numberIn(part["maxLength"]) ?? Number.POSITIVE_INFINITY));
  const word = /[A-Z]?[a-z]+s?$/.exec(name)?.[0].toLowerCase() ?? "";
  const named = NAMED_TEXTS.get(word) ?? NAMED_TEXTS.get(word.replace(/s$/, ""));
  return format ?? (named ?? `your_${name}_here`).slice(0, max);
}

/** 1 if the limits allow it, otherwise the limit that is nearest to it. Schemas of integers often have limits of 2^53. */
function exampleNumber(parts: readonly JsonSchema[]): number {
  let value = 1;
  for (const part of parts) {
    const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = part;
    const step = numberIn(multipleOf) ?? 1;
    const low = numberIn(minimum) ?? (numberIn(exclusiveMinimum) ?? Number.NEGATIVE_INFINITY) + step;
    const high = numberIn(maximum) ?? (numberIn(exclusiveMaximum) ?? Number.POSITIVE_INFINITY) - step;
    value = Math.min(Math.max(value, low), high);
    if (multipleOf !== undefined) value = Math.ceil(value / step) * step;
  }
  return value;
}

const numberIn = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const namesIn = (value: unknown): string[] => listIn(value).filter((name) => typeof name === "string");

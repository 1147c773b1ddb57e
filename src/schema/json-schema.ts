/** A JSON Schema 2020-12 document, as plain data. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

export const JSON_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export function isJsonType(value: unknown): value is JsonType {
  return (JSON_TYPES as readonly unknown[]).includes(value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const ANYTHING: JsonSchema = Object.freeze({});
const NOTHING: JsonSchema = Object.freeze({ not: ANYTHING });

/** A boolean schema as the object that means the same; undefined where `value` is no schema. */
export function asSchema(value: unknown): JsonSchema | undefined {
  if (value === true) return ANYTHING;
  if (value === false) return NOTHING;
  return isObject(value) ? value : undefined;
}

/** Where JSON Schema (drafts 07 to 2020-12) keeps further schemas. */
const SCHEMA_KEYWORDS = [
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "contentSchema",
] as const;
export const SCHEMA_LIST_KEYWORDS = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;
export const SCHEMA_MAP_KEYWORDS = [
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
] as const;

/** Calls `visit` for each direct subschema; what stands where a schema belongs but is none is passed too. */
export function eachSubschema(schema: JsonSchema, visit: (sub: unknown, path: readonly string[]) => void): void {
  for (const keyword of SCHEMA_KEYWORDS) {
    const sub = schema[keyword];
    if (keyword === "items" && Array.isArray(sub)) sub.forEach((item, at) => visit(item, [keyword, String(at)]));
    else if (sub !== undefined) visit(sub, [keyword]);
  }
  for (const keyword of SCHEMA_LIST_KEYWORDS) {
    const list = schema[keyword];
    if (Array.isArray(list)) list.forEach((item, at) => visit(item, [keyword, String(at)]));
  }
  for (const keyword of SCHEMA_MAP_KEYWORDS) {
    const map = schema[keyword];
    if (!isObject(map)) continue;
    for (const name of Object.keys(map)) {
      const isNameList = keyword === "dependencies" && Array.isArray(map[name]);
      if (!isNameList) visit(map[name], [keyword, name]);
    }
  }
}

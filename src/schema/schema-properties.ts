import { asSchema, followRef, isJsonType, isObject, type JsonSchema, type JsonType } from "./json-schema.ts";
import type { SchemaIssue } from "./schema.ts";

// Properties and types of a JSON Schema, across `$ref`, `allOf`, `anyOf`, `oneOf` and `if`/`then`/`else`. The results
// describe what values may look like. Only `validate` decides whether a value is valid.

const ALL_TYPES: readonly JsonType[] = ["string", "number", "boolean", "array", "object", "null"];

type Properties = Map<string, JsonSchema>;
const propertiesByRoot = new WeakMap<JsonSchema, WeakMap<JsonSchema, Properties>>();

/** Every declared property. One that is declared several times gets a combined schema. */
export function propertiesOf(root: JsonSchema, schema: JsonSchema): ReadonlyMap<string, JsonSchema> {
  let bySchema = propertiesByRoot.get(root);
  if (bySchema === undefined) propertiesByRoot.set(root, (bySchema = new WeakMap()));
  let properties = bySchema.get(schema);
  if (properties === undefined) bySchema.set(schema, (properties = collectProperties(root, schema, new Map())));
  return properties;
}

/** Whether further properties are explicitly allowed: without `additionalProperties` they are not. */
export function admitsUnknown(root: JsonSchema, schema: JsonSchema): boolean {
  let listsProperties = false;
  let closes = false;
  for (const part of partsOf(root, schema)) {
    for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
      const rest = part[keyword];
      if (rest === false) closes = true;
      else if (rest === true || isObject(rest)) return true;
    }
    if (isObject(part["patternProperties"]) && Object.keys(part["patternProperties"]).length > 0) return true;
    if (isObject(part["properties"])) listsProperties = true;
  }
  return !listsProperties && !closes && typesOf(root, schema).has("object");
}

/** The JSON types that a value may have. `number` includes integers; `integer` means that only integers are allowed. */
export function typesOf(root: JsonSchema, schema: JsonSchema): Set<JsonType> {
  return collectTypes(root, schema, new Map());
}

/** The schema of the value at `path`, or undefined if there is none. */
export function schemaAt(root: JsonSchema, path: NonNullable<SchemaIssue["path"]>): JsonSchema | undefined {
  let current: JsonSchema | undefined = root;
  for (const segment of path) {
    if (current === undefined) return undefined;
    const key: PropertyKey = typeof segment === "object" ? segment.key : segment;
    current = typeof key === "number" ? itemAt(root, current, key) : memberAt(root, current, String(key));
  }
  return current;
}

export function typeOfValue(value: unknown): JsonType | undefined {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  const type: string = typeof value;
  return isJsonType(type) ? type : undefined;
}

/** Whether a result of `typesOf` includes a type. */
export function admitsType(types: ReadonlySet<JsonType>, type: JsonType | undefined): boolean {
  return type !== undefined && (types.has(type) || (type === "integer" && types.has("number")));
}

function memberAt(root: JsonSchema, schema: JsonSchema, key: string): JsonSchema | undefined {
  const declared = propertiesOf(root, schema).get(key);
  if (declared !== undefined) return declared;
  for (const part of partsOf(root, schema)) {
    const patterns = isObject(part["patternProperties"]) ? Object.entries(part["patternProperties"]) : [];
    const match = patterns.find(([pattern]) => matches(pattern, key));
    const rest = asSchema(match?.[1] ?? part["additionalProperties"] ?? part["unevaluatedProperties"]);
    if (rest !== undefined) return rest;
  }
  return /^\d+$/.test(key) ? itemAt(root, schema, Number(key)) : undefined;
}

export function itemAt(root: JsonSchema, schema: JsonSchema, at: number): JsonSchema | undefined {
  let found: JsonSchema | undefined;
  for (const part of partsOf(root, schema)) {
    const { prefixItems, items, additionalItems, unevaluatedItems } = part;
    const tuple: unknown[] = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : (items ?? unevaluatedItems);
    const item = asSchema(at < tuple.length ? tuple[at] : rest);
    if (item !== undefined) found = combine("anyOf", found, item);
  }
  return found;
}

/** A schema and all schemas that apply to the same value, each once. */
export function partsOf(root: JsonSchema, schema: JsonSchema): Set<JsonSchema> {
  const parts = new Set<JsonSchema>([schema]);
  // The loop also visits the elements that are added during it.
  for (const part of parts) {
    const target = followRef(root, part);
    if (target !== undefined) parts.add(target);
    for (const keyword of ["allOf", "then", "else", "anyOf", "oneOf"]) {
      for (const sub of schemasIn(part[keyword])) parts.add(sub);
    }
    for (const sub of dependentSchemasOf(part)) parts.add(sub);
  }
  return parts;
}

/** The objects of a list. */
export function objectsIn(value: unknown): JsonSchema[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function schemasIn(value: unknown): JsonSchema[] {
  if (Array.isArray(value)) return value.map(asSchema).filter((schema) => schema !== undefined);
  const single = asSchema(value);
  return single === undefined ? [] : [single];
}

function dependentSchemasOf({ dependentSchemas }: JsonSchema): JsonSchema[] {
  return isObject(dependentSchemas) ? schemasIn(Object.values(dependentSchemas)) : [];
}

/** `done` ends recursion, and ensures that a schema is read once even if it is reached in many ways. */
function collectProperties(root: JsonSchema, schema: JsonSchema, done: Map<JsonSchema, Properties>): Properties {
  const before = done.get(schema);
  if (before !== undefined) return before;
  const found: Properties = new Map();
  done.set(schema, new Map());
  const own = isObject(schema["properties"]) ? schema["properties"] : {};
  for (const name of Object.keys(own)) found.set(name, asSchema(own[name]) ?? {});

  const all = [followRef(root, schema), ...schemasIn(schema["allOf"])].filter((part) => part !== undefined);
  for (const part of all) {
    for (const [name, sub] of collectProperties(root, part, done))
      found.set(name, combine("allOf", found.get(name), sub));
  }
  const choices = [
    schemasIn(schema["anyOf"]),
    schemasIn(schema["oneOf"]),
    [...schemasIn(schema["then"]), ...schemasIn(schema["else"])],
    dependentSchemasOf(schema),
  ];
  for (const choice of choices) {
    const either = new Map<string, JsonSchema>();
    for (const branch of choice) {
      for (const [name, sub] of collectProperties(root, branch, done)) {
        either.set(name, combine("anyOf", either.get(name), sub));
      }
    }
    for (const [name, sub] of either) found.set(name, combine("allOf", found.get(name), sub));
  }
  // A condition does not restrict properties, so it only adds those that are declared nowhere else.
  for (const condition of schemasIn(schema["if"])) {
    for (const name of collectProperties(root, condition, done).keys()) if (!found.has(name)) found.set(name, {});
  }
  done.set(schema, found);
  return found;
}

function combine(keyword: "allOf" | "anyOf", left: JsonSchema | undefined, right: JsonSchema): JsonSchema {
  if (left === undefined || left === right) return right;
  return { [keyword]: [left, right] };
}

function collectTypes(root: JsonSchema, schema: JsonSchema, done: Map<JsonSchema, Set<JsonType>>): Set<JsonType> {
  const before = done.get(schema);
  if (before !== undefined) return before;
  done.set(schema, new Set(ALL_TYPES));
  let types = new Set<JsonType>(ALL_TYPES);
  const { type, not } = schema;
  if (type !== undefined) types = overlap(types, new Set([type].flat().filter(isJsonType)));
  if ("const" in schema) types = overlap(types, typesOfValues([schema["const"]]));
  if (Array.isArray(schema["enum"])) types = overlap(types, typesOfValues(schema["enum"]));
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) types = new Set();
  const target = followRef(root, schema);
  for (const part of [...(target === undefined ? [] : [target]), ...schemasIn(schema["allOf"])]) {
    types = overlap(types, collectTypes(root, part, done));
  }
  for (const choice of [schema["anyOf"], schema["oneOf"]]) {
    if (!Array.isArray(choice)) continue;
    const either = new Set<JsonType>();
    for (const branch of schemasIn(choice)) for (const each of collectTypes(root, branch, done)) either.add(each);
    types = overlap(types, either);
  }
  done.set(schema, types);
  return types;
}

function typesOfValues(values: readonly unknown[]): Set<JsonType> {
  return new Set(values.map(typeOfValue).filter((type) => type !== undefined));
}

function overlap(left: Set<JsonType>, right: Set<JsonType>): Set<JsonType> {
  const both = new Set<JsonType>();
  for (const type of left) {
    if (admitsType(right, type)) both.add(type);
    else if (type === "number" && right.has("integer")) both.add("integer");
  }
  return both;
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, "u").test(key);
  } catch {
    return false;
  }
}

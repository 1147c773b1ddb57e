import { isObject, type JsonSchema, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS } from "../../schema/json-schema.ts";
import { refOf, resolveRef } from "../../schema/resolve-ref.ts";

/** What some client refuses, or takes for something else (`x-mcp-header` makes clients repeat a parameter in a header). */
const DROPPED = new Set(
  "$schema $id $anchor $dynamicAnchor $comment $vocabulary $defs definitions x-mcp-header".split(" "),
);
const MAPS: readonly string[] = SCHEMA_MAP_KEYWORDS;
const LISTS: readonly string[] = SCHEMA_LIST_KEYWORDS;
/** References may multiply what they lead to. */
const MOST_NODES = 5000;
const MOST_DEPTH = 40;

/**
 * A schema that every client can pass to its model: no references, an object at the root without alternatives. It may
 * allow more than the tool's own, by which the input is checked in any case.
 */
export function toPortableSchema(schema: JsonSchema): JsonSchema {
  const walk: Walk = { root: schema, nodes: 0, path: new Set() };
  const inlined = inline(schema, walk, 0) as JsonSchema;
  return flattenRoot(inlined);
}

interface Walk {
  readonly root: JsonSchema;
  nodes: number;
  /** The schemas that are being written: one that holds itself is cut there. */
  readonly path: Set<JsonSchema>;
}

function inline(value: unknown, walk: Walk, depth: number): unknown {
  if (!isObject(value)) return value;
  if (++walk.nodes > MOST_NODES || depth > MOST_DEPTH) return {};
  const target = refOf(value) === undefined ? value : resolveRef(walk.root, value);
  if (!target || walk.path.has(target)) return beside(value);
  walk.path.add(target);
  const written = { ...copy(target, walk, depth), ...(target === value ? {} : beside(value)) };
  walk.path.delete(target);
  return written;
}

function copy(schema: JsonSchema, walk: Walk, depth: number): JsonSchema {
  const result: JsonSchema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (!DROPPED.has(key)) result[key] = copyValue(key, value, walk, depth + 1);
  }
  return result;
}

/** `const`, `enum`, `default` and `examples` hold data, whatever it looks like. */
function copyValue(key: string, value: unknown, walk: Walk, depth: number): unknown {
  if (["const", "enum", "default", "examples"].includes(key)) return value;
  if (MAPS.includes(key) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inline(each, walk, depth)]));
  }
  if ((LISTS.includes(key) || key === "items") && Array.isArray(value)) {
    return value.map((each) => inline(each, walk, depth));
  }
  return inline(value, walk, depth);
}

/** What a reference says of itself. */
function beside(schema: JsonSchema): JsonSchema {
  const { description, title } = schema;
  return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
}

/** Alternatives at the root become one object that has the properties of all of them. */
function flattenRoot(schema: JsonSchema): JsonSchema {
  const { allOf, anyOf, oneOf, ...root } = schema;
  const all = branches(allOf);
  const any = [...branches(anyOf), ...branches(oneOf)];
  if (all.length + any.length === 0) return { ...schema, type: "object", properties: schema["properties"] ?? {} };
  const properties: Record<string, unknown> = {};
  for (const branch of [...all, ...any, root]) addProperties(properties, branch);
  const required = new Set([...requiredOf(root), ...all.flatMap(requiredOf)]);
  const [first, ...others] = any.map(requiredOf);
  for (const name of first ?? []) if (others.every((names) => names.includes(name))) required.add(name);
  const { additionalProperties: _, unevaluatedProperties: __, ...rest } = root;
  return { ...rest, type: "object", properties, ...(required.size > 0 ? { required: [...required] } : {}) };
}

function branches(value: unknown): JsonSchema[] {
  return Array.isArray(value) ? value.filter(isObject).map(flattenRoot) : [];
}

function addProperties(properties: Record<string, unknown>, branch: JsonSchema): void {
  if (!isObject(branch["properties"])) return;
  for (const [name, schema] of Object.entries(branch["properties"])) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(schema);
    const merged = isSame ? schema : { anyOf: [...alternatives(known), schema] };
    // `__proto__` is a name like any other.
    Object.defineProperty(properties, name, { value: merged, enumerable: true, writable: true, configurable: true });
  }
}

function alternatives(schema: unknown): unknown[] {
  const isUnion = isObject(schema) && Object.keys(schema).length === 1 && Array.isArray(schema["anyOf"]);
  return isUnion ? (schema["anyOf"] as unknown[]) : [schema];
}

function requiredOf(schema: JsonSchema): string[] {
  return Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
}

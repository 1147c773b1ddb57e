/** A JSON Schema 2020-12 document as plain data. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

export const JSON_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export function isJsonType(value: unknown): value is JsonType {
  return JSON_TYPES.some((type) => type === value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const ANYTHING: JsonSchema = Object.freeze({});
const NOTHING: JsonSchema = Object.freeze({ not: ANYTHING });

/** Converts a boolean schema to an equivalent object. Returns undefined if `value` is not a schema. */
export function asSchema(value: unknown): JsonSchema | undefined {
  if (value === true) return ANYTHING;
  if (value === false) return NOTHING;
  return isObject(value) ? value : undefined;
}

/** The keywords of JSON Schema (drafts 07 to 2020-12) that contain schemas. */
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

/** Calls `visit` for each direct subschema, also for invalid ones. */
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

/** The base address of schemas without `$id`. Any absolute address works. */
const ROOT_URI = "haft://schema/";

interface RefIndex {
  readonly byUri: Map<string, JsonSchema>;
  /** The base addresses of schemas below an `$id`. All others have that of the root. */
  readonly baseOf: Map<JsonSchema, string>;
}
const indexes = new WeakMap<JsonSchema, RefIndex>();

/**
 * Follows the `$ref` or `$dynamicRef` of a schema to its end inside `root`; a schema without one is returned unchanged.
 * Returns undefined for remote, dangling and circular references. Keywords next to the `$ref` are not merged.
 */
export function resolveRef(root: JsonSchema, schema: JsonSchema): JsonSchema | undefined {
  const seen = new Set<JsonSchema>();
  let current: JsonSchema | undefined = schema;
  while (current !== undefined && refOf(current) !== undefined) {
    if (seen.has(current)) return undefined;
    seen.add(current);
    current = followRef(root, current);
  }
  return current;
}

/** One step of `resolveRef`. */
export function followRef(root: JsonSchema, schema: JsonSchema): JsonSchema | undefined {
  const ref = refOf(schema);
  return ref === undefined ? undefined : findRef(root, schema, ref);
}

/** The schema inside `root` to which a reference in `schema` leads. */
export function findRef(root: JsonSchema, schema: JsonSchema, ref: string): JsonSchema | undefined {
  const index = indexOf(root);
  const uri = parseUri(ref, addressOf(root, schema));
  if (uri === undefined) return undefined;
  const resource = index.byUri.get(uri.address);
  if (uri.fragment === "") return resource;
  if (uri.fragment.startsWith("/")) return resource && asSchema(readPointer(resource, uri.fragment));
  return index.byUri.get(`${uri.address}#${uri.fragment}`) ?? index.byUri.get(`#${uri.fragment}`);
}

/** The address of the schema resource that `schema` belongs to. */
export function addressOf(root: JsonSchema, schema: JsonSchema): string {
  return indexOf(root).baseOf.get(schema) ?? baseOfRoot(root);
}

/** The schema with this `$dynamicAnchor` in the resource at `address`. */
export function findDynamicAnchor(root: JsonSchema, address: string, anchor: string): JsonSchema | undefined {
  const found = indexOf(root).byUri.get(`${address}#${anchor}`);
  return found?.["$dynamicAnchor"] === anchor ? found : undefined;
}

export function refOf(schema: JsonSchema): string | undefined {
  const ref = schema["$ref"] ?? schema["$dynamicRef"] ?? schema["$recursiveRef"];
  return typeof ref === "string" ? ref : undefined;
}

/** Whether a reference has an address that `root` does not contain. */
export function isRemoteRef(root: JsonSchema, ref: string): boolean {
  const uri = parseUri(ref, baseOfRoot(root));
  return uri !== undefined && !ref.startsWith("#") && !indexOf(root).byUri.has(uri.address);
}

function indexOf(root: JsonSchema): RefIndex {
  let index = indexes.get(root);
  if (index === undefined) indexes.set(root, (index = buildIndex(root)));
  return index;
}

function buildIndex(root: JsonSchema): RefIndex {
  const byUri = new Map<string, JsonSchema>([[ROOT_URI, root]]);
  const baseOf = new Map<JsonSchema, string>();
  const seen = new Set<JsonSchema>();
  const waiting: { schema: JsonSchema; base: string }[] = [{ schema: root, base: ROOT_URI }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { schema } = next;
    if (seen.has(schema)) continue;
    seen.add(schema);
    let { base } = next;
    const { $id, $anchor, $dynamicAnchor } = schema;
    // Draft 07 writes an anchor as `$id: "#name"`.
    const anchors = [
      $anchor,
      $dynamicAnchor,
      typeof $id === "string" && $id.startsWith("#") ? $id.slice(1) : undefined,
    ];
    if (typeof $id === "string" && !$id.startsWith("#")) {
      base = parseUri($id, base)?.address ?? base;
      if (!byUri.has(base)) byUri.set(base, schema);
    }
    if (base !== ROOT_URI) baseOf.set(schema, base);
    for (const anchor of anchors) {
      if (typeof anchor !== "string") continue;
      byUri.set(`${base}#${anchor}`, schema);
      if (anchor === $dynamicAnchor && !byUri.has(`#${anchor}`)) byUri.set(`#${anchor}`, schema);
    }
    const from = base;
    eachSubschema(schema, (sub) => {
      if (isObject(sub)) waiting.push({ schema: sub, base: from });
    });
  }
  return { byUri, baseOf };
}

function baseOfRoot(root: JsonSchema): string {
  const { $id } = root;
  return typeof $id === "string" && !$id.startsWith("#") ? (parseUri($id, ROOT_URI)?.address ?? ROOT_URI) : ROOT_URI;
}

function parseUri(ref: string, base: string): { address: string; fragment: string } | undefined {
  try {
    const url = new URL(ref, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    return { address: url.href, fragment };
  } catch {
    return undefined;
  }
}

function readPointer(start: unknown, pointer: string): unknown {
  let current = start;
  for (const key of parsePointer(pointer)) current = memberOf(current, key);
  return current;
}

/** The own property of an object or item of a list; undefined if there is none. */
export function memberOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return Object.hasOwn(value, key) ? value[Number(key)] : undefined;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The keys of a JSON Pointer such as `/a~1b/0`. */
export function parsePointer(pointer: string): string[] {
  if (pointer === "") return [];
  const keys = pointer.slice(1).split("/");
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function formatPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

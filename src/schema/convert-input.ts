import { isObject, followRef, type JsonSchema } from "./json-schema.ts";
import { admitsType, objectsIn, typeOfValue, typesOf } from "./schema-properties.ts";

// Values that JSON does not have. They are described as what JSON has instead, and made from that before validation.

/** A keyword of described schemas: the value that the library wants. Removed before anyone else sees the schema. */
const WANTED = "x-haft-value";

type Wanted = "date" | "bigint" | "map" | "set";

export const DATE: JsonSchema = { type: "string", format: "date-time", [WANTED]: "date" };
export const BIGINT: JsonSchema = { type: "integer", [WANTED]: "bigint" };

/** A list of keys with their values. */
export function describeMap(key: JsonSchema, value: JsonSchema): JsonSchema {
  const items = { type: "array", prefixItems: [key, value], minItems: 2, maxItems: 2 };
  return { type: "array", items, [WANTED]: "map" };
}

export function describeSet(items: JsonSchema): JsonSchema {
  return { type: "array", items, uniqueItems: true, [WANTED]: "set" };
}

/** Separates the described schema from what must be made of its values; `convert` is missing if nothing must. */
export function splitConversions(described: JsonSchema): {
  jsonSchema: JsonSchema;
  convert?: (value: unknown) => unknown;
} {
  let isFound = false;
  const jsonSchema = JSON.parse(JSON.stringify(described), (key, value: unknown) => {
    if (key !== WANTED) return value;
    isFound = true;
    return undefined;
  }) as JsonSchema;
  return isFound ? { jsonSchema, convert: (value) => convertValue(described, described, value) } : { jsonSchema };
}

/** Changed parts are copied. A value that does not fit stays as it is: the validation explains it. */
function convertValue(root: JsonSchema, schema: JsonSchema, value: unknown): unknown {
  const target = followRef(root, schema);
  if (target) return convertValue(root, target, value);
  const inner = convertInside(root, schema, value);
  switch (schema[WANTED] as Wanted | undefined) {
    case "date":
      return typeof inner === "string" ? toDate(inner) : inner;
    case "bigint":
      return Number.isSafeInteger(inner) || (typeof inner === "string" && /^-?\d+$/.test(inner))
        ? BigInt(inner as number | string)
        : inner;
    case "map":
      return Array.isArray(inner) && inner.every((pair) => Array.isArray(pair) && pair.length === 2)
        ? new Map(inner as [unknown, unknown][])
        : inner;
    case "set":
      return Array.isArray(inner) ? new Set(inner) : inner;
    case undefined:
      return inner;
  }
}

/** A day, or a time with its zone. Not `isFormat`, whose table would make every bundle larger. */
const DATE_TEXT =
  /^(\d{4}-\d\d-\d\d)(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

function toDate(text: string): unknown {
  // `new Date` also reads "1" and "May", makes 2 March of 30 February, and takes the zone of this machine.
  const day = DATE_TEXT.exec(text)?.[1];
  if (day === undefined || new Date(day).toJSON()?.slice(0, 10) !== day) return text;
  return new Date(text);
}

/** What to write instead of a text that no date was made of. Undefined for other values. */
export function dateHint(value: unknown): string | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d/.test(value) || toDate(value) !== value) return undefined;
  return "write a date that exists, such as 2026-01-31, or a time with its zone, such as 2026-01-31T12:00:00Z";
}

function convertInside(root: JsonSchema, schema: JsonSchema, value: unknown): unknown {
  let converted = value;
  for (const part of objectsIn(schema["allOf"])) converted = convertValue(root, part, converted);
  const branches = [...objectsIn(schema["anyOf"]), ...objectsIn(schema["oneOf"])];
  if (branches.length > 0) converted = convertByBranch(root, branches, converted);
  const { items, prefixItems, properties, additionalProperties } = schema;
  if (Array.isArray(converted)) {
    const first = objectsIn(prefixItems);
    return mapChanged(converted, (item, index) => {
      const sub = first[index] ?? items;
      return isObject(sub) ? convertValue(root, sub, item) : item;
    });
  }
  if (!isObject(converted) || Object.getPrototypeOf(converted) !== Object.prototype) return converted;
  const known = isObject(properties) ? properties : {};
  let copy: Record<string, unknown> | undefined;
  for (const [name, before] of Object.entries(converted)) {
    const sub = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    const after = isObject(sub) ? convertValue(root, sub, before) : before;
    if (after === before) continue;
    copy ??= { ...converted };
    copy[name] = after;
  }
  return copy ?? converted;
}

/** A text that may be a text stays one; only if no branch takes the value as it is, another makes something of it. */
function convertByBranch(root: JsonSchema, branches: readonly JsonSchema[], value: unknown): unknown {
  const type = typeOfValue(value);
  const fitting = branches.filter((branch) => admitsType(typesOf(root, branch), type));
  const plain = fitting.find((branch) => convertValue(root, branch, value) === value);
  if (plain || fitting.length === 0) return value;
  return convertValue(root, fitting[0] ?? {}, value);
}

function mapChanged(list: readonly unknown[], change: (item: unknown, index: number) => unknown): unknown {
  const changed = list.map(change);
  return changed.some((item, index) => item !== list[index]) ? changed : list;
}

import { admitsType, typeOfValue, typesOf } from "./find-property.ts";
import { asSchema, eachSubschema, isObject } from "./json-schema.ts";
import type { JsonSchema } from "./json-schema.ts";
import { followRef } from "./resolve-ref.ts";

export function hasDefaults(root: JsonSchema): boolean {
  let found = root["default"] !== undefined;
  eachSubschema(root, (sub) => {
    if (!found && isObject(sub)) found = hasDefaults(sub);
  });
  return found;
}

/** `value` with the declared defaults in place of what is absent; parts that change are copied, never written to. */
export function applyDefaults(root: JsonSchema, value: unknown): unknown {
  return fill(root, root, value);
}

function fill(root: JsonSchema, schema: JsonSchema, value: unknown): unknown {
  let filled = value;
  if (filled === undefined) {
    if (schema["default"] === undefined) return undefined;
    filled = structuredClone(schema["default"]);
  }
  if (typeof filled !== "object" || filled === null) return filled;
  const target = followRef(root, schema);
  if (target !== undefined) filled = fill(root, target, filled);
  for (const part of listOf(schema["allOf"])) filled = fill(root, part, filled);
  for (const choice of [schema["anyOf"], schema["oneOf"]]) {
    const branch = onlyBranchFor(root, listOf(choice), filled);
    if (branch !== undefined) filled = fill(root, branch, filled);
  }
  return Array.isArray(filled) ? fillItems(root, schema, filled) : fillProperties(root, schema, filled as object);
}

/** Where several branches could mean the value, none of their defaults is certain. */
function onlyBranchFor(root: JsonSchema, branches: JsonSchema[], value: unknown): JsonSchema | undefined {
  const type = typeOfValue(value);
  const candidates = branches.filter((branch) => admitsType(typesOf(root, branch), type));
  return candidates.length === 1 ? candidates[0] : undefined;
}

function fillProperties(root: JsonSchema, schema: JsonSchema, value: object): object {
  const properties = schema["properties"];
  if (!isObject(properties)) return value;
  const given = value as Record<string, unknown>;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(properties)) {
    const sub = asSchema(properties[name]);
    if (sub === undefined) continue;
    const before = Object.hasOwn(given, name) ? given[name] : undefined;
    const after = before === undefined ? defaultOf(root, sub) : fill(root, sub, before);
    if (after === before) continue;
    copy ??= { ...given };
    copy[name] = after;
  }
  return copy ?? value;
}

function defaultOf(root: JsonSchema, schema: JsonSchema): unknown {
  const seen = new Set<JsonSchema>();
  for (let next: JsonSchema | undefined = schema; next !== undefined && !seen.has(next); next = followRef(root, next)) {
    if (next["default"] !== undefined) return fill(root, next, undefined);
    seen.add(next);
  }
  return undefined;
}

function fillItems(root: JsonSchema, schema: JsonSchema, value: unknown[]): unknown[] {
  const { prefixItems, items, additionalItems } = schema;
  const tuple: unknown[] = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = asSchema(Array.isArray(items) ? additionalItems : items);
  if (tuple.length === 0 && rest === undefined) return value;
  let copy: unknown[] | undefined;
  for (let at = 0; at < value.length; at++) {
    const sub = at < tuple.length ? asSchema(tuple[at]) : rest;
    if (sub === undefined || value[at] === undefined) continue;
    const after = fill(root, sub, value[at]);
    if (after !== value[at]) (copy ??= [...value])[at] = after;
  }
  return copy ?? value;
}

function listOf(value: unknown): JsonSchema[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

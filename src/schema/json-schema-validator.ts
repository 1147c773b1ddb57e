import { type CompiledSchema, compileJsonSchema } from "./compile-json-schema.ts";
import { asSchema, eachSubschema, followRef, isObject, type JsonSchema } from "./json-schema.ts";
import { lintJsonSchema } from "./lint-json-schema.ts";
import { admitsType, objectsIn, typeOfValue, typesOf } from "./schema-properties.ts";
import { type Schema, type SchemaIssue, unreadable, type Validation } from "./schema.ts";
import { explainErrors } from "./validation-messages.ts";
import type { InferOutput, SchemaSource } from "./infer.ts";
import { provideEngine, readSchema } from "./read-schema.ts";

/** A list of a million wrong items must not become a million issues. */
const MAX_ERRORS = 100;

/** For `provideEngine`. */
export const jsonSchemaEngine = { lint: lintJsonSchema, makeValidator: jsonSchemaValidator };

/** Validates against a linted JSON Schema. Compiles it for the first value. */
export function jsonSchemaValidator(root: JsonSchema): (value: unknown) => Validation<unknown> {
  let compiled: CompiledSchema | undefined;
  let isFilled = false;
  return (value) => {
    if (!compiled) {
      compiled = compileJsonSchema(root);
      isFilled = hasDefaults(root);
    }
    try {
      const filled = isFilled ? applyDefaults(root, value) : value;
      return compiled.check(filled) ? { value: filled } : { issues: explain(root, filled, compiled) };
    } catch (cause) {
      return { issues: [unreadable(cause)] };
    }
  };
}

function explain(root: JsonSchema, value: unknown, compiled: CompiledSchema): SchemaIssue[] {
  const issues = explainErrors(root, value, compiled.errors(value, MAX_ERRORS));
  if (issues.length < MAX_ERRORS) return issues;
  return [...issues.slice(0, MAX_ERRORS), { message: "there may be more problems; these are the first", path: [] }];
}

function hasDefaults(root: JsonSchema): boolean {
  let found = root["default"] !== undefined;
  eachSubschema(root, (sub) => {
    if (!found && isObject(sub)) found = hasDefaults(sub);
  });
  return found;
}

/** Fills in declared defaults. Changed parts are copied, never modified. */
function applyDefaults(root: JsonSchema, value: unknown): unknown {
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
  for (const part of objectsIn(schema["allOf"])) filled = fill(root, part, filled);
  for (const choice of [schema["anyOf"], schema["oneOf"]]) {
    const branch = onlyBranchFor(root, objectsIn(choice), filled);
    if (branch !== undefined) filled = fill(root, branch, filled);
  }
  if (Array.isArray(filled)) return fillItems(root, schema, filled);
  return isObject(filled) ? fillProperties(root, schema, filled) : filled;
}

/** The only branch that accepts the type of the value. If there are several, no default is certain. */
function onlyBranchFor(root: JsonSchema, branches: JsonSchema[], value: unknown): JsonSchema | undefined {
  const type = typeOfValue(value);
  const candidates = branches.filter((branch) => admitsType(typesOf(root, branch), type));
  return candidates.length === 1 ? candidates[0] : undefined;
}

function fillProperties(root: JsonSchema, schema: JsonSchema, value: Record<string, unknown>): object {
  const properties = schema["properties"];
  if (!isObject(properties)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(properties)) {
    const sub = asSchema(properties[name]);
    if (sub === undefined) continue;
    const before = Object.hasOwn(value, name) ? value[name] : undefined;
    const after = before === undefined ? defaultOf(root, sub) : fill(root, sub, before);
    if (after === before) continue;
    copy ??= { ...value };
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

/** Converts a schema of any library to a Schema. Throws a TypeError if the source is not a schema. */
export function toSchema<const S extends SchemaSource>(source: S): Schema<InferOutput<S>> {
  provideEngine(jsonSchemaEngine);
  return readSchema(source);
}

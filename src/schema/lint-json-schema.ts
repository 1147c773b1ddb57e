import { isExponentialPattern } from "./exponential-regex.ts";
import {
  asSchema,
  eachSubschema,
  followRef,
  formatPointer,
  isJsonType,
  isObject,
  isRemoteRef,
  JSON_TYPES,
  type JsonSchema,
  refOf,
  SCHEMA_LIST_KEYWORDS,
  SCHEMA_MAP_KEYWORDS,
} from "./json-schema.ts";

export interface SchemaProblem {
  /** JSON Pointer into the schema, such as `#/properties/size/minimum`. */
  readonly path: string;
  readonly message: string;
  /** It has too many parts to be read. */
  readonly isTooLarge?: boolean;
}

const MAX_SCHEMA_DEPTH = 64;
const MAX_NODES = 20_000;
/** The maximum nesting of data: two levels per schema, and some for `const`, `enum` and `default`. */
const MAX_DATA_DEPTH = 200;

/** The limit of all searches for circular references together, because a hostile schema could take forever. */
const MAX_REF_STEPS = 100_000;

const COUNT_KEYWORDS = [
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
] as const;
const NUMBER_KEYWORDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;

/** Types of TypeBox that are not JSON, and their replacements. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  Date: 'Type.String({ format: "date-time" })',
  bigint: "Type.Integer() or Type.String()",
  RegExp: "Type.String({ pattern })",
  Uint8Array: 'Type.String({ contentEncoding: "base64" })',
  undefined: "Type.Optional(…) around the property's type",
  void: "Type.Null()",
};

type Report = (path: readonly string[], message: string, isTooLarge?: boolean) => void;

interface Lint {
  readonly root: JsonSchema;
  readonly report: Report;
  refSteps: number;
}

/** Finds the problems of a schema itself. With a broken schema the validator would accept or reject everything. */
export function lintJsonSchema(schema: unknown): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  const report: Report = (path, message, isTooLarge) =>
    problems.push({ path: `#${formatPointer(path)}`, message, ...(isTooLarge ? { isTooLarge } : {}) });
  if (!isObject(schema)) {
    report([], `must be an object, got ${schema === null ? "null" : typeof schema}`);
    return problems;
  }
  lintData(schema, report);
  // Only finite data is examined further.
  if (problems.length === 0) lintSchema({ root: schema, report, refSteps: 0 }, schema, []);
  return problems;
}

function lintData(root: JsonSchema, report: Report): void {
  const open = new Set<object>();
  let nodes = 0;
  const visit = (value: unknown, path: readonly string[]): boolean => {
    if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
      report(path, `must be plain JSON, got a ${typeof value}`);
      return true;
    }
    if (typeof value !== "object" || value === null) return true;
    if (!isPlain(value)) {
      report(path, "must be plain JSON, got an instance of a class (a schema of another library?)");
      return true;
    }
    if (open.has(value)) {
      report(path, 'refers to an object that contains it; use "$ref" for recursion');
      return true;
    }
    if (++nodes > MAX_NODES) {
      report([], `has more than ${MAX_NODES} nodes`, true);
      return false;
    }
    if (path.length > MAX_DATA_DEPTH) {
      report([], `is nested more than ${MAX_DATA_DEPTH} levels deep`, true);
      return false;
    }
    open.add(value);
    for (const [key, child] of Object.entries(value)) {
      if (key === "__proto__") report(path, 'must not have a key named "__proto__"');
      else if (!visit(child, [...path, key])) return false;
    }
    open.delete(value);
    return true;
  };
  visit(root, []);
}

function isPlain(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (Array.isArray(value) || prototype === null || prototype === Object.prototype) return true;
  // Plain objects of another realm, such as a vm context.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "hasOwnProperty");
}

function lintSchema(lint: Lint, schema: JsonSchema, path: readonly string[], depth = 0): boolean {
  const { report } = lint;
  if (depth > MAX_SCHEMA_DEPTH) {
    report([], `is nested more than ${MAX_SCHEMA_DEPTH} schemas deep`, true);
    return false;
  }
  lintType(schema, path, report);
  lintShapes(schema, path, report);
  lintLimits(schema, path, report);
  lintPatterns(schema, path, report);
  lintRef(lint, schema, path);
  lintTransform(schema, path, report);
  let shouldContinue = true;
  eachSubschema(schema, (sub, at) => {
    if (!shouldContinue || typeof sub === "boolean") return;
    if (isObject(sub)) shouldContinue = lintSchema(lint, sub, [...path, ...at], depth + 1);
    else report([...path, ...at], "must be a schema (an object, true or false)");
  });
  return shouldContinue;
}

function lintType({ type }: JsonSchema, path: readonly string[], report: Report): void {
  if (type === undefined) return;
  const names: unknown[] = Array.isArray(type) ? type : [type];
  if (names.length === 0) report([...path, "type"], "must name at least one type");
  for (const name of names) {
    if (isJsonType(name)) continue;
    const replacement = typeof name === "string" && Object.hasOwn(REPLACEMENTS, name) ? REPLACEMENTS[name] : undefined;
    const advice = replacement === undefined ? `the types are ${JSON_TYPES.join(", ")}` : `use ${replacement} instead`;
    report([...path, "type"], `${JSON.stringify(name)} is not a JSON type; ${advice}`);
  }
}

function lintShapes(schema: JsonSchema, path: readonly string[], report: Report): void {
  const { required, enum: allowed } = schema;
  if (required !== undefined && !isStringList(required)) {
    report([...path, "required"], "must be a list of property names, next to `properties`");
  }
  if (allowed !== undefined && (!Array.isArray(allowed) || allowed.length === 0)) {
    report([...path, "enum"], "must be a list with at least one value");
  }
  for (const keyword of SCHEMA_MAP_KEYWORDS) {
    if (schema[keyword] !== undefined && !isObject(schema[keyword])) report([...path, keyword], "must be an object");
  }
  for (const keyword of SCHEMA_LIST_KEYWORDS) {
    const list = schema[keyword];
    if (list !== undefined && (!Array.isArray(list) || list.length === 0)) {
      report([...path, keyword], "must be a list with at least one schema");
    }
  }
  const { dependentRequired, format } = schema;
  if (dependentRequired !== undefined) {
    const isValid = isObject(dependentRequired) && Object.values(dependentRequired).every(isStringList);
    if (!isValid) report([...path, "dependentRequired"], "must give a list of property names for each property");
  }
  if (format !== undefined && typeof format !== "string") report([...path, "format"], "must be a string");
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function lintLimits(schema: JsonSchema, path: readonly string[], report: Report): void {
  for (const keyword of COUNT_KEYWORDS) {
    const limit = schema[keyword];
    if (limit === undefined || (typeof limit === "number" && Number.isInteger(limit) && limit >= 0)) continue;
    report([...path, keyword], "must be a non-negative integer");
  }
  for (const keyword of NUMBER_KEYWORDS) {
    if (schema[keyword] !== undefined && !Number.isFinite(schema[keyword]))
      report([...path, keyword], "must be a number");
  }
  const step = schema["multipleOf"];
  if (step !== undefined && !(typeof step === "number" && Number.isFinite(step) && step > 0)) {
    report([...path, "multipleOf"], "must be a number above 0");
  }
}

function lintPatterns(schema: JsonSchema, path: readonly string[], report: Report): void {
  const { pattern, patternProperties } = schema;
  if (pattern !== undefined) lintPattern(pattern, [...path, "pattern"], report);
  if (!isObject(patternProperties)) return;
  for (const key of Object.keys(patternProperties)) lintPattern(key, [...path, "patternProperties", key], report);
}

function lintPattern(pattern: unknown, path: readonly string[], report: Report): void {
  if (typeof pattern !== "string") return report(path, "must be a regular expression, written as a string");
  try {
    new RegExp(pattern, "u");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return report(path, `is not a regular expression of JSON Schema (Unicode mode): ${reason}`);
  }
  if (isCostly(pattern)) {
    report(path, "may take exponential time: no part of a repeated group may match the same text in two ways");
  }
}

function isCostly(pattern: string): boolean {
  try {
    return isExponentialPattern(pattern);
  } catch {
    // Nested too deeply to be judged.
    return true;
  }
}

function lintRef(lint: Lint, schema: JsonSchema, path: readonly string[]): void {
  const { root, report } = lint;
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const ref = schema[keyword];
    if (ref === undefined) continue;
    const at = [...path, keyword];
    if (typeof ref !== "string") report(at, "must be a string");
    else if (followRef(root, { ...schema, $ref: ref }) !== undefined || followRef(root, schema) !== undefined) continue;
    else if (isRemoteRef(root, ref))
      report(at, `"${ref}" is not part of this schema; remote references are not loaded`);
    else report(at, `"${ref}" points to nothing in this schema`);
  }
  if (refOf(schema) !== undefined && loops(lint, schema)) {
    report([...path, "$ref"], "leads back to itself without a property or item in between");
  }
}

/** Whether validating a value against `schema` would validate the same value against `schema` again. */
function loops(lint: Lint, schema: JsonSchema): boolean {
  const seen = new Set<JsonSchema>();
  const waiting: JsonSchema[] = [schema];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (++lint.refSteps > MAX_REF_STEPS) {
      if (lint.refSteps === MAX_REF_STEPS + 1) lint.report([], "has references that are too complex to check");
      return false;
    }
    const { allOf, anyOf, oneOf, not, if: condition, then, else: otherwise } = next;
    const inPlace = [followRef(lint.root, next), allOf, anyOf, oneOf, not, condition, then, otherwise].flat();
    for (const value of inPlace) {
      const sub = asSchema(value);
      if (sub === schema) return true;
      if (sub === undefined || seen.has(sub)) continue;
      seen.add(sub);
      waiting.push(sub);
    }
  }
  return false;
}

/** TypeBox's decoding is not part of JSON Schema and is not run, so the tool would get undecoded input. */
function lintTransform(schema: JsonSchema, path: readonly string[], report: Report): void {
  const symbols = Object.getOwnPropertySymbols(schema);
  const transforms = "~codec" in schema || symbols.some((symbol) => symbol.description === "TypeBox.Transform");
  if (transforms)
    report(
      path,
      "has a TypeBox Transform or Codec, which is not run; declare the input's type and decode it in the tool",
    );
}

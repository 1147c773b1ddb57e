import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { errorMessage } from "../../core/error.ts";
import { judgePattern } from "../../schema/exponential-regex.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { lintJsonSchema } from "../../schema/lint-json-schema.ts";
import { formatIssues, type Schema } from "../../schema/schema.ts";
import { toSchema } from "../../schema/json-schema-validator.ts";
import { shownText } from "./tool-definition.ts";

const MAX_BYTES = 256 * 1024;
const MAX_TEXT_LENGTH = 1000;

/**
 * Converts a schema of a server, in any dialect, and makes its texts visible. Throws a TypeError with the reason if it
 * cannot be used: too deep, too large, external references (nothing is fetched), or a pattern that could hang.
 */
export function toUsableSchema(source: unknown): Schema {
  // First, because a schema that is too deep cannot be traversed.
  const problem = lintJsonSchema(source).find(({ isTooLarge }) => isTooLarge);
  if (problem) throw new TypeError(`The schema ${problem.message}.`);
  if (!isObject(source)) throw new TypeError("The schema is not an object.");
  if (JSON.stringify(source).length > MAX_BYTES) throw new TypeError(`The schema is longer than ${MAX_BYTES} bytes.`);
  return toSchema(upgradeSchema(source));
}

/** Converts draft 4 and later to 2020-12, and checks patterns. Keys of `properties` are names, not keywords. */
function upgradeSchema(schema: Readonly<Record<string, unknown>>): JsonSchema {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$schema" || key === "$comment") continue;
    result[key] = upgradeValue(key, value);
  }
  tupleAsPrefix(result);
  limitsAsNumbers(result);
  return result;
}

function upgrade(schema: unknown): unknown {
  return isObject(schema) ? upgradeSchema(schema) : schema;
}

function upgradeValue(key: string, value: unknown): unknown {
  if (key === "pattern" && typeof value === "string") return checkedPattern(value);
  if ((key === "description" || key === "title") && typeof value === "string") return shownText(value, MAX_TEXT_LENGTH);
  if (MAPS.has(key) && isObject(value)) {
    if (key === "patternProperties") Object.keys(value).forEach(checkedPattern);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, upgrade(each)]));
  }
  if (LISTS.has(key) && Array.isArray(value)) return value.map(upgrade);
  return SINGLES.has(key) ? upgrade(value) : value;
}

const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const SINGLES = new Set(
  "items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames not if then else".split(
    " ",
  ),
);

/** `items: [a, b]` of draft 2019 and earlier. */
function tupleAsPrefix(schema: Record<string, unknown>): void {
  const { items, additionalItems } = schema;
  if (!Array.isArray(items)) return;
  delete schema["items"];
  delete schema["additionalItems"];
  if (items.length > 0) schema["prefixItems"] = items;
  if (additionalItems !== undefined) schema["items"] = additionalItems;
}

/** `exclusiveMinimum: true` of draft 4. */
function limitsAsNumbers(schema: Record<string, unknown>): void {
  const limits = [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const;
  for (const [limit, exclusive] of limits) {
    if (typeof schema[exclusive] !== "boolean") continue;
    if (schema[exclusive]) {
      schema[exclusive] = schema[limit];
      delete schema[limit];
    } else delete schema[exclusive];
  }
}

const MAX_PATTERN_LENGTH = 2000;
const BACK_REFERENCE = /(?:^|[^\\])(?:\\\\)*\\(?:k<|[1-9])/;

/** Patterns of servers are untrusted, so patterns that cannot be judged are rejected too. */
function checkedPattern(pattern: string): string {
  const risk = riskOf(pattern);
  if (risk) throw new TypeError(`The pattern ${JSON.stringify(pattern.slice(0, 200))} ${risk}.`);
  return pattern;
}

function riskOf(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return `is longer than ${MAX_PATTERN_LENGTH} characters`;
  if (BACK_REFERENCE.test(pattern)) return "has a back reference, which could take forever";
  try {
    new RegExp(pattern, "u");
    return judgePattern(pattern) === "sound"
      ? undefined
      : "repeats a part that can match the same text in several ways: it could take forever";
  } catch (error) {
    return `is invalid (${errorMessage(error)})`;
  }
}

/** The validator for structured output in the SDK, with the same limits as for other schemas. */
export function schemaChecker(): jsonSchemaValidator {
  return {
    getValidator<T>(source: unknown) {
      const schema: Schema = toUsableSchema(source);
      return (value: unknown) => {
        const checked = schema.validate(value);
        if (checked instanceof Promise) throw new TypeError("A JSON Schema must be validated synchronously.");
        if (!checked.issues) return { valid: true as const, data: value as T, errorMessage: undefined };
        return { valid: false as const, data: undefined, errorMessage: formatIssues(checked.issues).join("; ") };
      };
    },
  };
}

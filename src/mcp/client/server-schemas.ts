import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { judgePattern } from "../../schema/exponential-regex.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { lintJsonSchema } from "../../schema/lint-json-schema.ts";
import { formatIssues, type Schema } from "../../schema/schema.ts";
import { toSchema } from "../../schema/to-schema.ts";
import { shownText } from "./tool-definition.ts";

const MAX_BYTES = 256 * 1024;
const MAX_TEXT_LENGTH = 1000;

/**
 * A server's schema as one that we validate with: of any dialect, its texts made visible. Throws a TypeError that says why
 * it cannot be used: too deep or too large, references to elsewhere (nothing is ever fetched), a pattern that could hang us.
 */
export function toUsableSchema(source: unknown): Schema {
  // First of all: what is too deep cannot even be walked.
  const [problem] = lintJsonSchema(source).filter(
    ({ message }) => message.includes("nested") || message.includes("nodes"),
  );
  if (problem) throw new TypeError(`The schema ${problem.message}.`);
  if (!isObject(source)) throw new TypeError("The schema is no object.");
  if (JSON.stringify(source).length > MAX_BYTES) throw new TypeError(`The schema is longer than ${MAX_BYTES} bytes.`);
  return toSchema(current(source) as JsonSchema);
}

/** Draft 4 and later said as 2020-12, and checked for patterns. Keys of `properties` are names, not keywords. */
function current(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$schema" || key === "$comment") continue;
    result[key] = currentValue(key, value);
  }
  tupleAsPrefix(result);
  limitsAsNumbers(result);
  return result;
}

function currentValue(key: string, value: unknown): unknown {
  if (key === "pattern" && typeof value === "string") return checkedPattern(value);
  if ((key === "description" || key === "title") && typeof value === "string") return shownText(value, MAX_TEXT_LENGTH);
  if (MAPS.has(key) && isObject(value)) {
    if (key === "patternProperties") Object.keys(value).forEach(checkedPattern);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, current(each)]));
  }
  if (LISTS.has(key) && Array.isArray(value)) return value.map(current);
  return SINGLES.has(key) ? current(value) : value;
}

const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const SINGLES = new Set(
  "items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames not if then else".split(
    " ",
  ),
);

/** `items: [a, b]` of draft 2019 and before. */
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
  for (const limit of ["minimum", "maximum"]) {
    const exclusive = `exclusive${limit[0]!.toUpperCase()}${limit.slice(1)}`;
    if (typeof schema[exclusive] !== "boolean") continue;
    if (schema[exclusive]) {
      schema[exclusive] = schema[limit];
      delete schema[limit];
    } else delete schema[exclusive];
  }
}

const MAX_PATTERN_LENGTH = 2000;
const BACK_REFERENCE = /(?:^|[^\\])(?:\\\\)*\\(?:k<|[1-9])/;

/** Of somebody else: what cannot be judged is refused as well. */
function checkedPattern(pattern: string): string {
  const risk = riskOf(pattern);
  if (risk) throw new TypeError(`The pattern ${JSON.stringify(pattern.slice(0, 200))} ${risk}.`);
  return pattern;
}

function riskOf(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return `is longer than ${MAX_PATTERN_LENGTH} characters`;
  if (BACK_REFERENCE.test(pattern)) return "refers back to what it matched, which could take for ever";
  try {
    new RegExp(pattern, "u");
    return judgePattern(pattern) === "sound"
      ? undefined
      : "repeats a part in which the same text can be matched in several ways: it could take for ever";
  } catch (error) {
    return `cannot be read (${(error as Error).message})`;
  }
}

/** What the SDK checks structured output with: the schema reader of every other tool, with its bounds. */
export function schemaChecker(): jsonSchemaValidator {
  return {
    getValidator<T>(source: unknown) {
      const schema: Schema = toUsableSchema(source);
      return (value: unknown) => {
        const checked = schema.validate(value);
        if (checked instanceof Promise) throw new TypeError("A JSON Schema is checked at once.");
        if (!checked.issues) return { valid: true as const, data: value as T, errorMessage: undefined };
        return { valid: false as const, data: undefined, errorMessage: formatIssues(checked.issues).join("; ") };
      };
    },
  };
}

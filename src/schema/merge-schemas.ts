import { isObject } from "./json-schema.ts";
import type { JsonSchema } from "./json-schema.ts";

/** Larger wins, smaller wins: what two limits mean together. */
const LOWER = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"]);
const UPPER = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"]);
const WORDS = new Set(["title", "description", "default", "examples", "$comment", "$id", "$schema", "$anchor"]);

/** Two schemas that both hold, as one. Where one cannot say both, the first stays, and it is told. */
export function mergeSchemas(first: JsonSchema, second: JsonSchema, lost: (what: string) => void): JsonSchema {
  const merged: JsonSchema = { ...first };
  for (const [keyword, value] of Object.entries(second)) {
    const before = merged[keyword];
    if (before === undefined) merged[keyword] = value;
    else if (JSON.stringify(before) !== JSON.stringify(value)) merged[keyword] = both(keyword, before, value, lost);
  }
  return merged;
}

function both(keyword: string, first: unknown, second: unknown, lost: (what: string) => void): unknown {
  if (LOWER.has(keyword)) return Math.max(Number(first), Number(second));
  if (UPPER.has(keyword)) return Math.min(Number(first), Number(second));
  if (WORDS.has(keyword)) return first;
  if (keyword === "properties" && isObject(first) && isObject(second)) return mergeProperties(first, second);
  if (keyword === "required") return [...new Set([first, second].flat())];
  if (keyword === "type" || keyword === "enum") return overlap([first].flat(), [second].flat(), first);
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") return closest(first, second);
  if (keyword === "items" && isObject(first) && isObject(second)) return { allOf: [first, second] };
  if (keyword === "$defs" || keyword === "definitions") return { ...(second as object), ...(first as object) };
  lost(`two different values of ${keyword} both hold; only the first is shown`);
  return first;
}

function mergeProperties(first: Record<string, unknown>, second: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...first };
  for (const [name, property] of Object.entries(second)) {
    merged[name] = Object.hasOwn(merged, name) ? { allOf: [merged[name], property] } : property;
  }
  return merged;
}

function overlap(first: unknown[], second: unknown[], otherwise: unknown): unknown {
  const has = (list: unknown[], value: unknown): boolean =>
    list.some((each) => JSON.stringify(each) === JSON.stringify(value)) ||
    (value === "integer" && list.includes("number"));
  const common = [
    ...first.filter((value) => has(second, value)),
    ...second.filter((value) => value === "integer" && !first.includes(value) && has(first, value)),
  ];
  if (common.length === 0) return otherwise;
  return Array.isArray(otherwise) ? common : common[0];
}

function closest(first: unknown, second: unknown): unknown {
  if (first === false || second === false) return false;
  if (first === true) return second;
  return second === true ? first : { allOf: [first, second] };
}

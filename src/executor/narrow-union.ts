import { propertiesOf } from "../schema/find-property.ts";
import { isObject, type JsonSchema } from "../schema/json-schema.ts";
import { resolveRef } from "../schema/resolve-ref.ts";

/** Unions in unions; deeper ones are taken as they are. */
const MAX_DEPTH = 8;

/**
 * Of alternatives that name themselves by a constant (`type: "move"`), only those that this value can be: a property of
 * another alternative is unknown to the one that was meant. Other schemas stay as they are.
 */
export function narrowUnion(root: JsonSchema, schema: JsonSchema, value: object, depth = 0): JsonSchema {
  const whole = "properties" in schema ? schema : (resolveRef(root, schema) ?? schema);
  const keyword = Array.isArray(whole["anyOf"]) ? "anyOf" : "oneOf";
  const alternatives = whole[keyword];
  if (!Array.isArray(alternatives) || depth >= MAX_DEPTH) return whole;
  const all = alternatives.filter(isObject).map((branch) => narrowUnion(root, branch, value, depth + 1));
  const meant = all.filter((branch) => !contradicts(root, branch, value));
  return meant.length === 0 ? whole : { ...whole, [keyword]: meant };
}

function contradicts(root: JsonSchema, branch: JsonSchema, value: object): boolean {
  for (const [name, property] of propertiesOf(root, branch)) {
    if (!Object.hasOwn(value, name)) continue;
    const allowed = "const" in property ? [property["const"]] : property["enum"];
    if (Array.isArray(allowed) && !allowed.includes((value as Record<string, unknown>)[name])) return true;
  }
  return false;
}

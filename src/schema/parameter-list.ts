import { isJsonType, isObject } from "./json-schema.ts";
import type { JsonSchema } from "./json-schema.ts";

/** One entry of the shortest way to declare a tool's input. */
export interface Parameter {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "array" | "object";
  readonly description?: string;
  /** Default: true, unless there is a `default`. */
  readonly required?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  /** JSON Schema of an array's items. */
  readonly items?: JsonSchema;
}

/** Throws a TypeError that lists everything that is wrong with the list. */
export function parameterListToJsonSchema(list: readonly unknown[]): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const problems: string[] = [];
  for (const [at, entry] of list.entries()) {
    const problem = problemOf(entry);
    if (problem !== undefined) {
      problems.push(`- parameter ${at}: ${problem}`);
      continue;
    }
    const parameter = entry as Parameter;
    if (Object.hasOwn(properties, parameter.name)) {
      problems.push(`- parameter ${at}: the name "${parameter.name}" is taken already`);
    }
    properties[parameter.name] = toProperty(parameter);
    if (parameter.required ?? parameter.default === undefined) required.push(parameter.name);
  }
  if (problems.length > 0) throw new TypeError(`This list of parameters cannot be used:\n${problems.join("\n")}`);
  return { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

function problemOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return "must be an object with at least a name and a type";
  const { name, type } = entry;
  if (typeof name !== "string" || name === "") return "must have a name";
  if (name === "__proto__") return "must not be named __proto__";
  if (!isJsonType(type) || type === "null") {
    return `"${name}" must have one of the types string, integer, number, boolean, array, object`;
  }
  if (entry["required"] !== undefined && typeof entry["required"] !== "boolean") {
    return `"${name}" has a "required" that is neither true nor false`;
  }
  return undefined;
}

function toProperty({ type, description, default: fallback, enum: allowed, items }: Parameter): JsonSchema {
  return {
    type,
    ...(description !== undefined && { description }),
    ...(allowed !== undefined && { enum: allowed }),
    ...(items !== undefined && { items }),
    ...(fallback !== undefined && { default: fallback }),
  };
}

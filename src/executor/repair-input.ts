import { pathOf, pathText } from "../core/schema-issue.ts";
import { admitsType, schemaAt, typeOfValue, typesOf } from "../schema/find-property.ts";
import type { JsonSchema, JsonType } from "../schema/json-schema.ts";
import type { SchemaIssue } from "../schema/schema.ts";
import { copyInput } from "./copy-input.ts";
import { parseJson } from "../core/parse-json.ts";

/**
 * Mends what has one meaning only, at the places the schema complains about. The input is our own copy and is changed in
 * place. Whoever calls validates again: a repair is a guess that the schema must confirm.
 */
export function repairInput(
  input: Record<string, unknown>,
  issues: readonly SchemaIssue[],
  schema: JsonSchema,
): string[] {
  const repairs: string[] = [];
  const paths = new Map(issues.map((issue) => [pathText(pathOf(issue)), pathOf(issue)]));
  for (const [pathKey, path] of paths) {
    const target = locate(input, path);
    if (!target) continue;
    const { holder, key } = target;
    const wanted = schemaAt(schema, path as readonly (string | number)[]);
    if (!wanted) continue;
    const mended = mend(holder[key], typesOf(schema, wanted));
    // An item of a list cannot be absent: those after it would change their places.
    if (!mended || (mended.absent && Array.isArray(holder))) continue;
    if (mended.absent) delete holder[key];
    else holder[key] = mended.value;
    repairs.push(`${pathKey}: ${mended.what}`);
  }
  return repairs;
}

type Holder = Record<PropertyKey, unknown>;

function locate(input: Holder, path: readonly PropertyKey[]): { holder: Holder; key: PropertyKey } | undefined {
  const key = path.at(-1);
  if (key === undefined) return undefined;
  let holder: unknown = input;
  for (const part of path.slice(0, -1)) {
    if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, part)) return undefined;
    holder = (holder as Holder)[part];
  }
  if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return { holder: holder as Holder, key };
}

type Mended = { value: unknown; what: string; absent?: boolean };

function mend(value: unknown, types: ReadonlySet<JsonType>): Mended | undefined {
  if (admitsType(types, typeOfValue(value))) return undefined;
  if (value === null) return { value: undefined, absent: true, what: "null was read as not given" };
  if (typeof value === "string") {
    const parsed = mendText(value, types);
    if (parsed) return parsed;
    // The beginning of a list that broke off is not its only item.
    if (/^\s*[[{]/.test(value)) return undefined;
  }
  if (types.has("array") && !Array.isArray(value)) {
    return { value: [value], what: "a single value was read as a list of one" };
  }
  return undefined;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function mendText(value: string, types: ReadonlySet<JsonType>): Mended | undefined {
  const text = value.trim();
  if ((types.has("number") || types.has("integer")) && NUMBER.test(text)) {
    const number = Number(text);
    if (Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))) {
      return { value: number, what: `the text ${JSON.stringify(text.slice(0, 40))} was read as a number` };
    }
  }
  const flag = text.toLowerCase();
  if (types.has("boolean") && (flag === "true" || flag === "false")) {
    return { value: flag === "true", what: `the text ${JSON.stringify(text)} was read as ${flag}` };
  }
  if ((types.has("object") && text.startsWith("{")) || (types.has("array") && text.startsWith("["))) {
    try {
      return { value: copyInput(parseJson(text)), what: "JSON that was encoded twice was decoded" };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

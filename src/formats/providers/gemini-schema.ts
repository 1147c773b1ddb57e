import { isObject } from "../../schema/json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

export type GeminiType = "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "NULL";

/** OpenAPI 3.0 as Gemini has it: one type a schema, null as `nullable`, counts as text. */
export interface GeminiSchema {
  type?: GeminiType;
  description?: string;
  title?: string;
  nullable?: boolean;
  enum?: string[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: string;
  maxLength?: string;
  minItems?: string;
  maxItems?: string;
  minProperties?: string;
  maxProperties?: string;
  items?: GeminiSchema;
  anyOf?: GeminiSchema[];
  properties?: Record<string, GeminiSchema>;
  required?: string[];
}

const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;

/** From a schema that was made portable by Gemini's rules. */
export function toGeminiSchema(schema: JsonSchema): GeminiSchema {
  const { type, items, anyOf, properties, required, ...rest } = schema;
  const types = type === undefined ? [] : [type].flat().map(String);
  const plainTypes = types.filter((each) => each !== "null");
  const written: GeminiSchema = { ...(rest as GeminiSchema) };
  for (const count of COUNTS) if (rest[count] !== undefined) written[count] = String(rest[count]);
  if (isObject(properties)) {
    const entries = Object.entries(properties as Record<string, JsonSchema>);
    if (entries.length > 0)
      written.properties = Object.fromEntries(entries.map(([name, each]) => [name, toGeminiSchema(each)]));
  }
  if (Array.isArray(required) && required.length > 0) written.required = required as string[];
  if (isObject(items)) written.items = withType(toGeminiSchema(items));
  if (types.includes("null")) written.nullable = true;
  if (plainTypes.length > 1) {
    // Each type takes with it what belongs to it; `items` alone is refused elsewhere.
    const { items: list, ...shared } = written;
    return {
      ...annotationsOf(shared),
      anyOf: plainTypes.map((each) => ({
        type: each.toUpperCase() as GeminiType,
        ...(each === "array" ? { items: list ?? { type: "STRING" } } : {}),
      })),
    };
  }
  const [only] = plainTypes;
  if (only !== undefined) written.type = only.toUpperCase() as GeminiType;
  else if (types.length === 1) written.type = "NULL";
  if (!Array.isArray(anyOf)) return written;
  const choices = (anyOf as JsonSchema[]).filter((choice) => choice["type"] !== "null").map(toGeminiSchema);
  if (choices.length < anyOf.length) written.nullable = true;
  const [choice] = choices;
  return choices.length === 1 && choice ? { ...choice, ...written } : { ...written, anyOf: choices.map(withType) };
}

function annotationsOf({ description, title, nullable }: GeminiSchema): GeminiSchema {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(nullable ? { nullable } : {}),
  };
}

/** Gemini wants a type for items; where anything goes, text says most. */
function withType(schema: GeminiSchema): GeminiSchema {
  return schema.type === undefined && schema.anyOf === undefined ? { type: "STRING", ...schema } : schema;
}

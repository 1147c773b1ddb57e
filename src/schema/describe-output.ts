import type { JsonSchema } from "./json-schema.ts";
import type { Schema } from "./schema.ts";

/** Describes `details` without checking them, so their type is still inferred from what the tool returns. */
export interface DescribedOutput extends Schema {
  readonly describesOnly: true;
}

/** The fields of an object. A name that ends with `?` is optional; with a type, the compiler checks names and marks. */
type Fields<T> = unknown extends T
  ? Readonly<Record<string, JsonSchema>>
  : { readonly [Key in keyof T & string as undefined extends T[Key] ? `${Key}?` : Key]-?: JsonSchema };

/** The output of a built-in tool. Not checked in each call: `test/mcp/output-schemas.test.ts` proves it. */
export function describeOutput<T = unknown>(fields: Fields<T>): DescribedOutput {
  return { jsonSchema: field.object<T>(fields), validate: (value) => ({ value }), describesOnly: true };
}

/** JSON Schema of one field. Other fields are always allowed in an object. */
export const field = {
  text: (description?: string): JsonSchema => typed("string", description),
  integer: (description?: string): JsonSchema => typed("integer", description),
  number: (description?: string): JsonSchema => typed("number", description),
  flag: (description?: string): JsonSchema => typed("boolean", description),
  any: (description?: string): JsonSchema => (description === undefined ? {} : { description }),
  list: (items: JsonSchema, description?: string): JsonSchema => ({ ...typed("array", description), items }),
  orNull: (schema: JsonSchema): JsonSchema => ({ ...schema, type: [schema["type"], "null"] }),
  object<T = unknown>(fields: Fields<T>, description?: string): JsonSchema {
    const entries = Object.entries<JsonSchema>(fields);
    const required = entries.map(([name]) => name).filter((name) => !name.endsWith("?"));
    const schema = typed("object", description);
    schema["properties"] = Object.fromEntries(entries.map(([name, each]) => [name.replace(/\?$/, ""), each]));
    if (required.length > 0) schema["required"] = required;
    return schema;
  },
};

function typed(type: string, description: string | undefined): JsonSchema {
  return description === undefined ? { type } : { type, description };
}

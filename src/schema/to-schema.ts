import type { InferOutput, SchemaSource } from "./infer.ts";
import { jsonSchemaEngine } from "./json-schema-validator.ts";
import { provideEngine, readSchema } from "./read-schema.ts";
import type { Schema } from "./schema.ts";

/** Converts a schema of any library to a Schema. Throws a TypeError if the source is not a schema. */
export function toSchema<const S extends SchemaSource>(source: S): Schema<InferOutput<S>> {
  provideEngine(jsonSchemaEngine);
  return readSchema(source);
}

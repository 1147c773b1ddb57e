import type { InferOutput, SchemaSource } from "./infer.ts";
import { jsonSchemaValidator } from "./json-schema-validator.ts";
import { provideValidator, readSchema } from "./read-schema.ts";
import type { Schema } from "./schema.ts";

/** Converts a schema of any library to a Schema. Throws a TypeError if the source is not a schema. */
export function toSchema<const S extends SchemaSource>(source: S): Schema<InferOutput<S>> {
  provideValidator(jsonSchemaValidator);
  return readSchema(source);
}

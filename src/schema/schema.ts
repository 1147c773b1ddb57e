import type { JsonSchema } from "./json-schema.ts";

/** One shape for every schema library: what validates is what describes. */
export interface Schema<T = unknown> {
  /** JSON Schema 2020-12 of what a caller passes in. Made at first use, then kept. */
  readonly jsonSchema: JsonSchema;
  /** Never throws for a bad value. A promise only where the schema itself is asynchronous or still loading. */
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}

/** The result shape of Standard Schema, so that libraries which speak it pass through unconverted. */
export type Validation<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

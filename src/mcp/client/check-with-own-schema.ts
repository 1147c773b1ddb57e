import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { formatIssues } from "../../core/schema-issue.ts";
import type { Schema } from "../../schema/schema.ts";
import { toUsableSchema } from "./usable-schema.ts";

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

import { z } from "zod";
import { configSchema } from "./config-schema.ts";

/** The schema for editors. Numbers and booleans may also be given by a variable, as `${PORT}`. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: "input",
    reused: "ref",
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      const { type, description: _description, ...rest } = jsonSchema;
      if (type !== "number" && type !== "integer" && type !== "boolean") return;
      for (const key of Object.keys(rest)) delete (jsonSchema as Record<string, unknown>)[key];
      delete jsonSchema.type;
      jsonSchema.anyOf = [
        { type, ...rest },
        { type: "string", pattern: String.raw`\$\{[A-Za-z_]\w*(:-[^}]*)?\}` },
      ];
    },
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of Haft",
    ...schema,
  };
}

import { propertiesOf, typesOf } from "../../schema/find-property.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** One input that shows how a tool is called: defaults where there are some, and a value of the right type elsewhere. */
export function exampleInput(schema: JsonSchema | undefined): Record<string, unknown> {
  if (!schema) return { parameter_name: "value" };
  const input: Record<string, unknown> = {};
  for (const [name, property] of propertiesOf(schema, schema)) {
    if (name !== "__proto__") input[name] = exampleValue(schema, property, name);
  }
  return input;
}

function exampleValue(root: JsonSchema, property: JsonSchema, name: string): unknown {
  const { default: byDefault, examples, enum: choices, const: constant } = property;
  if (byDefault !== undefined && byDefault !== null) return byDefault;
  if (constant !== undefined) return constant;
  if (Array.isArray(choices) && choices.length > 0) return choices[0];
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  const types = typesOf(root, property);
  if (types.has("string")) return `your_${name}_here`;
  if (types.has("integer") || types.has("number"))
    return typeof property["minimum"] === "number" ? property["minimum"] : 1;
  if (types.has("boolean")) return true;
  return types.has("array") ? [] : types.has("object") ? {} : null;
}

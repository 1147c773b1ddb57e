import type { AnyTool } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** The tools as TypeScript, as a program sees them. */
export function declareTools(tools: readonly AnyTool[]): string {
  return tools.map(declareTool).join("\n\n");
}

function declareTool(tool: AnyTool): string {
  const { parameters } = tool.getFunctionDeclaration();
  const lines = [tool.description.short, ...(tool.description.important ?? [])];
  const comment = `/** ${lines.join(" ").replaceAll("*/", "* /").replace(/\s+/g, " ")} */`;
  const name = /^[A-Za-z_$][\w$]*$/.test(tool.name) ? `tools.${tool.name}` : `tools[${JSON.stringify(tool.name)}]`;
  const output = tool.output ? typeOf(tool.output.jsonSchema, 0) : "unknown";
  return `${comment}\n${name}(input: ${typeOf(parameters, 0)}): Promise<${output}>`;
}

/** Deep schemas are shown as far as a reader follows them. */
const MAX_DEPTH = 6;

function typeOf(schema: JsonSchema | boolean | undefined, depth: number): string {
  if (typeof schema !== "object" || depth > MAX_DEPTH) return "unknown";
  if ("const" in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(" | ") || "never";
  const parts = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(parts)) return unique(parts.map((part) => typeOf(part as JsonSchema, depth + 1))).join(" | ");
  if (Array.isArray(schema.type)) {
    return unique(schema.type.map((type) => typeOf({ ...schema, type } as JsonSchema, depth))).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return arrayOf(typeOf(schema.items as JsonSchema, depth + 1));
    default:
      return objectOf(schema, depth);
  }
}

function objectOf(schema: JsonSchema, depth: number): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const required = new Set<string>((schema.required ?? []) as string[]);
  if (properties.length === 0) {
    const rest = schema.additionalProperties;
    if (typeof rest === "object") return `Record<string, ${typeOf(rest as JsonSchema, depth + 1)}>`;
    // A schema that says nothing of further parameters admits none.
    return schema.type === "object" ? (rest === true ? "Record<string, unknown>" : "{}") : "unknown";
  }
  const members = properties.map(([name, property]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const description =
      typeof property === "object" && property.description ? ` /* ${shorten(property.description)} */` : "";
    return `${key}${required.has(name) ? "" : "?"}: ${typeOf(property, depth + 1)}${description}`;
  });
  return `{ ${members.join("; ")} }`;
}

function arrayOf(item: string): string {
  return /[ |]/.test(item) ? `Array<${item}>` : `${item}[]`;
}

function literal(value: unknown): string {
  return JSON.stringify(value) ?? "unknown";
}

function unique(types: readonly string[]): string[] {
  return [...new Set(types)];
}

function shorten(text: unknown): string {
  const line = String(text).replaceAll("*/", "* /").replace(/\s+/g, " ");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

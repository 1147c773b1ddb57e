import type { JsonSchema } from "../schema/json-schema.ts";
import { descriptionText } from "./description.ts";
import type { AnyTool, DialectName } from "./tool.ts";

/** What a model is told of a tool. Providers' own shapes are made from this. */
export interface FunctionDeclaration {
  name: string;
  description: string;
  parameters: JsonSchema;
  strict?: boolean;
}

/** What a ToolCallContext keeps of a tool. */
export interface ToolCallDefinition {
  name: string;
  description: string;
  parameters: JsonSchema;
  output?: JsonSchema;
  async: boolean;
}

const declarations = new WeakMap<AnyTool, Map<string, FunctionDeclaration>>();

/** Converting a schema costs a hundred times a look-up, and models are told of the same tools at every step. */
export function declarationOf(tool: AnyTool, dialect: DialectName = ""): FunctionDeclaration {
  let known = declarations.get(tool);
  if (!known) declarations.set(tool, (known = new Map()));
  let declaration = known.get(dialect);
  if (!declaration) known.set(dialect, (declaration = declare(tool, dialect)));
  return declaration;
}

function declare(tool: AnyTool, dialectName: DialectName): FunctionDeclaration {
  const dialect = Object.hasOwn(tool.dialects, dialectName) ? tool.dialects[dialectName] : undefined;
  return Object.freeze({
    name: dialect?.name ?? tool.name,
    description: descriptionText(tool.description),
    parameters: dialect?.parameters
      ? renameProperties(tool.parameters.jsonSchema, dialect.parameters)
      : tool.parameters.jsonSchema,
    ...(tool.strict ? { strict: true } : {}),
  });
}

function renameProperties(schema: JsonSchema, names: Readonly<Record<string, string>>): JsonSchema {
  const shown = (name: string): string => (Object.hasOwn(names, name) ? names[name]! : name);
  const properties = schema["properties"];
  if (typeof properties !== "object" || properties === null) return schema;
  const required = schema["required"];
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [shown(name), value])),
    ...(Array.isArray(required) ? { required: required.map((name) => shown(String(name))) } : {}),
  };
}

export function callDefinitionOf(tool: AnyTool): ToolCallDefinition {
  const { name, description, parameters } = declarationOf(tool);
  return {
    name,
    description,
    parameters,
    ...(tool.output ? { output: tool.output.jsonSchema } : {}),
    async: tool.mode === "background",
  };
}

import { declarationOf } from "../../core/definition.ts";
import { type AnyTool, isTool } from "../../core/tool.ts";
import { propertiesOf, schemaAt, typesOf } from "../../schema/find-property.ts";
import type { JsonSchema, JsonType } from "../../schema/json-schema.ts";

/** A tool, or what a model is told of one. */
export type ToolLike = AnyTool | { name: string; description?: string; parameters?: JsonSchema };

/** What the tools say about the values that a text holds. */
export interface ToolTable {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** Undefined where nothing is known of the tool. */
  parametersOf(name: string): ReadonlySet<string> | undefined;
  schemaOf(name: string): JsonSchema | undefined;
  /** Undefined where the schema says nothing. */
  typesOf(name: string, parameter: string): ReadonlySet<JsonType> | undefined;
  /** The same of a value inside of a parameter. */
  typesAt(name: string, path: readonly (string | number)[]): ReadonlySet<JsonType> | undefined;
}

interface Entry {
  schema: JsonSchema;
  parameters: ReadonlySet<string>;
  aliases: ReadonlyMap<string, string>;
  types: Map<string, ReadonlySet<JsonType> | undefined>;
}

export function createToolTable(tools: Iterable<ToolLike> = []): ToolTable {
  const entries = new Map<string, Entry>();
  const names: string[] = [];
  for (const tool of tools) {
    const entry = entryOf(tool);
    const also = isTool(tool) ? tool.aliases : [];
    for (const name of [tool.name, ...also]) if (!entries.has(name)) entries.set(name, entry);
    names.push(tool.name, ...also);
  }
  return {
    names,
    has: (name) => entries.has(name),
    schemaOf: (name) => entries.get(name)?.schema,
    parametersOf: (name) => entries.get(name)?.parameters,
    typesOf(name, parameter) {
      const entry = entries.get(name);
      if (!entry) return undefined;
      const { types } = entry;
      if (!types.has(parameter)) types.set(parameter, declaredTypes(entry, entry.aliases.get(parameter) ?? parameter));
      return types.get(parameter);
    },
    typesAt(name, path) {
      const schema = entries.get(name)?.schema;
      const found = schema && schemaAt(schema, path);
      return found && declaredTypesOf(schema, found);
    },
  };
}

function entryOf(tool: ToolLike): Entry {
  const schema = parametersSchema(tool);
  const aliases: ReadonlyMap<string, string> = isTool(tool) ? tool.parameterAliases : new Map();
  const parameters = new Set([...propertiesOf(schema, schema).keys(), ...aliases.keys()]);
  return { schema, parameters, aliases, types: new Map() };
}

function parametersSchema(tool: ToolLike): JsonSchema {
  return isTool(tool) ? declarationOf(tool).parameters : (tool.parameters ?? {});
}

function declaredTypes({ schema }: Entry, parameter: string): ReadonlySet<JsonType> | undefined {
  const property = propertiesOf(schema, schema).get(parameter);
  if (!property) return undefined;
  return declaredTypesOf(schema, property);
}

function declaredTypesOf(root: JsonSchema, schema: JsonSchema): ReadonlySet<JsonType> | undefined {
  const types = typesOf(root, schema);
  // A schema that admits everything says as little as none.
  return types.has("string") && types.has("object") && types.has("number") ? undefined : types;
}

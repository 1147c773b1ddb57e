import { isObject, type JsonSchema } from "../schema/json-schema.ts";
import { propertiesOf } from "../schema/schema-properties.ts";
import { canonicalJson } from "./json.ts";
import type { AnyTool, DialectName, ToolDescription, ToolDialect } from "./tool.ts";

/** The definition of a tool for a model. Providers' formats are derived from it. */
export interface FunctionDeclaration {
  /** As shown to the model. */
  name: string;
  /** The whole description as text. */
  description: string;
  /** The input as JSON Schema. */
  parameters: JsonSchema;
  /** Whether the provider should enforce the schema. */
  strict?: boolean;
}

/** A tool's entry in a ToolCallContext. */
export interface ToolCallDefinition {
  /** Of the tool. */
  name: string;
  /** The whole description as text. */
  description: string;
  /** The input as JSON Schema. */
  parameters: JsonSchema;
  /** The result as JSON Schema. */
  output?: JsonSchema;
  /** Whether its results come later. */
  async: boolean;
}

const declarations = new WeakMap<AnyTool, Map<string, FunctionDeclaration>>();

/** Cached: a conversion takes a hundred times as long as a lookup, and models get the same tools at every step. */
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
    description: descriptionText(dialect ? dialectDescription(tool.description, dialect) : tool.description),
    parameters:
      dialect?.schema ??
      (dialect?.parameters
        ? renameProperties(tool.parameters.jsonSchema, dialect.parameters)
        : tool.parameters.jsonSchema),
    strict: tool.strict ? true : undefined,
  });
}

/** The examples of the tool with the names of the dialect; none if its parameters differ in more than their names. */
function dialectDescription(own: ToolDescription, { description, parameters = {}, schema }: ToolDialect) {
  if (description !== undefined) return toDescription(description);
  if (schema) return { ...own, examples: undefined };
  const rename = (input: unknown): unknown =>
    isObject(input)
      ? Object.fromEntries(Object.entries(input).map(([name, value]) => [parameters[name] ?? name, value]))
      : input;
  return { ...own, examples: own.examples?.map((example) => ({ ...example, input: rename(example.input) })) };
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
    output: tool.output?.jsonSchema,
    async: tool.mode === "background",
  };
}

export function toDescription(description: string | ToolDescription): ToolDescription {
  if (typeof description === "string") return { short: description };
  return { ...description };
}

/** The whole description as a model reads it. */
export function descriptionText(description: ToolDescription): string {
  const parts = [description.short];
  if (description.long) parts.push(description.long);
  if (description.usageNotes?.length) parts.push(["Usage notes:", ...description.usageNotes.map(bullet)].join("\n"));
  if (description.important?.length) parts.push(["Important:", ...description.important.map(bullet)].join("\n"));
  if (description.examples?.length) {
    const examples = description.examples.map(({ input, description: what }) =>
      bullet(`${JSON.stringify(input)}${what ? ` (${what})` : ""}`),
    );
    parts.push(["Examples:", ...examples].join("\n"));
  }
  return parts.join("\n\n");
}

function bullet(line: string): string {
  return `- ${line}`;
}

/** How parameters with other names were handled. */
export interface Renamed {
  /** Names that are not in any shown definition, and what they were read as. */
  repairs: string[];
  /** Parameters that cannot be used, such as one that was sent twice with different values. */
  problems: string[];
}

/** Whether calls of the tool may have other parameters than its schema. */
export function takesOtherNames(tool: AnyTool): boolean {
  return tool.parameterAliases.size > 0 || tool.convertInput !== undefined;
}

/** Replaces aliases, dialect names and parameters of other clients in the input itself. Dialects are no repair. */
export function renameParameters(tool: AnyTool, input: Record<string, unknown>, calledAs: string): Renamed {
  const renamed: Renamed = { repairs: [], problems: [] };
  const schema = tool.parameters.jsonSchema;
  for (const [alias, name] of tool.parameterAliases) {
    if (!Object.hasOwn(input, alias) || propertiesOf(schema, schema).has(alias)) continue;
    if (!Object.hasOwn(input, name)) input[name] = input[alias];
    else if (input[name] !== input[alias]) {
      renamed.problems.push(`${alias}: the same as "${name}", which was given too; send one of them`);
    }
    delete input[alias];
    const isShown = Object.values(tool.dialects).some(({ parameters }) => parameters?.[name] === alias);
    if (!isShown) renamed.repairs.push(`${alias}: read as "${name}"`);
  }
  const converted = tool.convertInput?.(input, calledAs);
  if (!converted) return renamed;
  return {
    repairs: [...renamed.repairs, ...converted.repairs],
    problems: [...renamed.problems, ...converted.problems],
  };
}

/** The dialect in which a call was written: the first with this name of the tool that shows all the sent parameters. */
export function findDialect(tool: AnyTool, calledAs: string, sent: Iterable<string> = []): DialectName | undefined {
  if (calledAs === tool.name) return undefined;
  const named = Object.keys(tool.dialects).filter((dialect) => tool.dialects[dialect]?.name === calledAs);
  const names = [...sent];
  const fits = named.find((dialect) => {
    const { parameters } = declarationOf(tool, dialect);
    return names.every((name) => propertiesOf(parameters, parameters).has(name));
  });
  return fits ?? named[0];
}

/** A tool's whole definition except its code, for hashes. */
function definitionParts(tool: AnyTool): readonly unknown[] {
  const { name, version, kind, origin, labels, mode, aliases, dependsOn, amount } = tool;
  const parts = [declarationOf(tool), name, version, kind, origin, labels, mode, aliases, dependsOn];
  return amount ? [...parts, amount] : parts;
}

const hashes = new WeakMap<AnyTool, string>();

/** A hash of the definition, for approvals and the audit log. `sha256` returns hex. */
export function definitionHash(tool: AnyTool, sha256: (text: string) => string): string {
  let hash = hashes.get(tool);
  if (hash === undefined) {
    hash = `sha256:${sha256(canonicalJson(definitionParts(tool)))}`;
    hashes.set(tool, hash);
  }
  return hash;
}

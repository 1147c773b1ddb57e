import { declarationOf } from "../../core/definition.ts";
import { type AnyTool, isTool } from "../../core/tool.ts";
import type { JsonSchema, JsonType } from "../../schema/json-schema.ts";
import { propertiesOf, schemaAt, typesOf } from "../../schema/schema-properties.ts";
import type { CallRecorder } from "./call-recorder.ts";
import type { Found, Reading, Source } from "./text-source.ts";

/** The formats in which models write calls as text. */
export const TEXT_FORMATS = [
  "xml",
  "hermes",
  "anthropic-xml",
  "anthropic-xml-legacy",
  "qwen3-coder",
  "seed-oss",
  "minicpm5-xml",
  "cline-xml",
  "glm",
  "deepseek-v3",
  "deepseek-v3.1",
  "deepseek-dsml",
  "kimi-k2",
  "kimi-k3",
  "minimax-m2",
  "minimax-m3",
  "mistral",
  "llama3-json",
  "llama4-pythonic",
  "lfm2-pythonic",
  "olmo3-pythonic",
  "harmony",
  "gemma4",
  "functiongemma",
  "granite",
  "phi4-mini",
  "jamba",
  "nemotron",
  "cohere",
  "internlm",
  "gigachat",
  "apertus",
  "json",
] as const;
export type TextFormatName = (typeof TEXT_FORMATS)[number];

/** What a section is read with. */
export interface CallReader {
  readonly source: Source;
  readonly calls: CallRecorder;
  readonly tools: ToolTable;
  pass(kind: "text" | "reasoning" | "skipped", piece: string): void;
  warn(what: string): void;
  /** The model's turn is over: text that still comes is no answer, for it has not seen a result yet. */
  endTurn(): void;
}

/** A kind of place where calls stand, from the marker that opens it to the one that closes it. */
export interface Section {
  readonly open: readonly string[];
  /** Where the marker opens nothing unless it begins a line. */
  readonly onLineStart?: boolean;
  /** In a fenced block of code the marker is an example. */
  readonly isProseInCode?: boolean;
  /** Stands before the marker, and takes it. A call that is tentative when it throws was none, and is text. */
  read(reader: CallReader, found: Found): Reading;
}

export interface TextFormat {
  readonly name: TextFormatName;
  sections(tools: ToolTable): readonly Section[];
  /** Pairs of markers that reasoning stands between; those that all formats know come on top. */
  readonly reasoning?: readonly (readonly [string, string])[];
  /** Markers of the turn that mean nothing by themselves. */
  readonly plumbing?: readonly string[];
  /** Calls can follow reasoning that the prompt opened and nothing closed. */
  readonly callEndsReasoning?: boolean;
  /** What to mind when writing it, for the model. */
  readonly notes?: readonly string[];
  /** The calls as a model should write them. */
  write(calls: readonly WrittenCall[]): string;
}

export interface WrittenCall {
  name: string;
  input: Readonly<Record<string, unknown>>;
}

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

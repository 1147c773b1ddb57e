import { declarationOf } from "../../core/definition.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import { type AnyTool, isTool } from "../../core/tool.ts";
import type { JsonSchema, JsonType } from "../../schema/json-schema.ts";
import { propertiesOf, schemaAt, typesOf } from "../../schema/schema-properties.ts";
import type { CallRecorder } from "./call-recorder.ts";
import type { FoundMarker, Reading, Source } from "./text-source.ts";

/** What readers of sections work with. */
export interface CallReader {
  readonly source: Source;
  readonly calls: CallRecorder;
  readonly tools: ToolTable;
  pass(kind: "text" | "reasoning" | "skipped", piece: string): void;
  warn(message: string): void;
  /** The model's turn is over. Later text is a made-up result, because the model has not seen one yet. */
  endTurn(): void;
}

/** A part of the text that contains calls, from its opening to its closing marker. */
export interface Section {
  readonly open: readonly string[];
  /** Markers that end a call. Outside a call they have no meaning and are not text. */
  readonly close?: readonly string[];
  /** Tags that end a call and also occur in other markup. They are left out only directly after a call. */
  readonly closeTags?: readonly string[];
  /** The marker opens the section only at the start of a line. */
  readonly onlyAtLineStart?: boolean;
  /** After text on the same line, what was read is a call only if it ends the line. Prose mentions calls. */
  readonly endsLineAfterText?: boolean;
  /** What was read is a call only if no text follows, or precedes and follows: with prose it is an example. */
  readonly isExampleWith?: "text after it" | "any text";
  /** Starts before the marker and takes it. If it throws while a call is tentative, the text was not a call. */
  read(reader: CallReader, found: SectionMarker): Reading;
}

export interface SectionMarker extends FoundMarker {
  isAtLineStart: boolean;
}

export interface TextFormat {
  readonly name: TextFormatName;
  sections(tools: ToolTable): readonly Section[];
  /** Its markers occur in plain prose or in other formats: `allSections` recognises them in one way for all. */
  readonly sharesMarkers?: boolean;
  /** Pairs of markers around reasoning, in addition to those of all formats. */
  readonly reasoning?: readonly (readonly [string, string])[];
  /** Control tokens without a meaning here; they are skipped. */
  readonly controlTokens?: readonly string[];
  /** A call ends reasoning that nothing closes, as in the chat template of the model. */
  readonly callEndsReasoning?: boolean;
  /** Real calls may be in fenced code blocks. In all other formats a call in a code block is an example. */
  readonly readsCodeBlocks?: boolean;
  /** Notes on the format for the model. */
  readonly notes?: readonly string[];
  /** Writes calls as a model should write them. */
  write(calls: readonly WrittenCall[]): string;
}

export interface WrittenCall {
  name: string;
  input: Readonly<Record<string, unknown>>;
}

/** A tool, or its definition as a model sees it. */
export type ToolLike = AnyTool | { name: string; description?: string; parameters?: JsonSchema };

/** The names and parameter types of the known tools. */
export interface ToolTable {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** Undefined if the tool is unknown. */
  parametersOf(name: string): ReadonlySet<string> | undefined;
  schemaOf(name: string): JsonSchema | undefined;
  /** Undefined if the schema does not restrict the type. */
  typesOf(name: string, parameter: string): ReadonlySet<JsonType> | undefined;
  /** Like `typesOf`, for a value inside a parameter. */
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
    const toolNames = isTool(tool) ? [tool.name, ...tool.aliases] : [tool.name];
    for (const name of toolNames) if (!entries.has(name)) entries.set(name, entry);
    names.push(...toolNames);
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
  const schema = isTool(tool) ? declarationOf(tool).parameters : (tool.parameters ?? {});
  const aliases: ReadonlyMap<string, string> = isTool(tool) ? tool.parameterAliases : new Map();
  const parameters = new Set([...propertiesOf(schema, schema).keys(), ...aliases.keys()]);
  return { schema, parameters, aliases, types: new Map() };
}

function declaredTypes({ schema }: Entry, parameter: string): ReadonlySet<JsonType> | undefined {
  const property = propertiesOf(schema, schema).get(parameter);
  if (!property) return undefined;
  return declaredTypesOf(schema, property);
}

function declaredTypesOf(root: JsonSchema, schema: JsonSchema): ReadonlySet<JsonType> | undefined {
  const types = typesOf(root, schema);
  // A schema that accepts everything does not restrict the type.
  return types.has("string") && types.has("object") && types.has("number") ? undefined : types;
}

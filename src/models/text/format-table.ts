import type { JsonSchema } from "../../schema/json-schema.ts";
import { propertiesOf, typesOf } from "../../schema/schema-properties.ts";
import { bareSection, pythonicSection } from "./bare-calls.ts";
import { fencedSection, JSON_FORMATS } from "./json-formats.ts";
import { clineSection, invokeSection, TAG_FORMATS } from "./tag-formats.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import type { Section, TextFormat, ToolTable } from "./text-format.ts";
import { atMarker, lookPastSpace, markerSet } from "./text-source.ts";
import { TOKEN_FORMATS } from "./token-formats.ts";
import { looseXmlSection, toolCallSection } from "./tool-call-section.ts";

const FORMATS: ReadonlyMap<TextFormatName, TextFormat> = new Map(
  [...TAG_FORMATS, ...JSON_FORMATS, ...TOKEN_FORMATS].map((format) => [format.name, format]),
);

export function textFormat(name: TextFormatName): TextFormat {
  const format = FORMATS.get(name);
  if (!format) throw new Error(`There is no text format "${name}".`);
  return format;
}

let sectionsWithoutTools: readonly Section[] | undefined;

/** The sections of every format, each marker once. Only the tags that are tool names depend on the tools. */
export function allSections(tools: ToolTable): readonly Section[] {
  sectionsWithoutTools ??= makeSections(tools);
  return tools.names.length === 0 ? sectionsWithoutTools : [...sectionsWithoutTools, clineSection(tools)];
}

function makeSections(tools: ToolTable): Section[] {
  const own = TEXT_FORMATS.map(textFormat)
    .filter(({ sharesMarkers }) => !sharesMarkers)
    .flatMap((format) => format.sections(tools));
  return [
    toolCallSection("xml", "hermes", "qwen3-coder", "glm", "anthropic-xml"),
    looseXmlSection,
    functionCallsSection(),
    ...textFormat("qwen3-coder").sections(tools),
    // Sections that start with a mere bracket or word are read below, with stricter rules.
    ...own.filter(({ open, onlyAtLineStart }) => !onlyAtLineStart && !open.includes("[")),
    fencedSection("known tools only"),
    bareSection({ json: "json", python: "llama4-pythonic", knownToolsOnly: true, onlyAtLineStart: true }),
  ];
}

/** Calls as tags and calls as Python share a wrapper. */
function functionCallsSection(): Section {
  const [open, close] = ["<function_calls>", "</function_calls>"];
  const pythonSection = pythonicSection({ format: "olmo3-pythonic", open: [open], close: [close] });
  const tag = markerSet(["<"]);
  return {
    open: [open],
    *read(reader, found) {
      const at = yield* lookPastSpace(reader.source, found.length);
      const section = (yield* atMarker(reader.source, tag, at)) ? invokeSection : pythonSection;
      yield* section.read(reader, found);
    },
  };
}

/** Explains to the model why a call could not be read and how to write it. */
export function explainMalformed(tools: ToolTable) {
  const examples = new Map<string, string>();
  return (reason: string, name: string, format: TextFormatName): string => {
    const tool = name !== "" && name.length <= 80 ? name : (tools.names[0] ?? "tool_name");
    const key = `${format} ${tool}`;
    let example = examples.get(key);
    if (example === undefined) {
      example = textFormat(format).write([{ name: tool, input: exampleInput(tools.schemaOf(tool)) }]);
      examples.set(key, example);
    }
    return `The tool call could not be read: ${reason}. Send it again, whole, in this form:\n${example}`;
  };
}

/** An example input for a tool: the default of each parameter, or a value of the right type. */
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

import { bareSection, pythonicSection } from "./bare-calls.ts";
import { exampleInput, INPUT_FORM } from "./example-input.ts";
import { FENCED_SECTIONS, JSON_FORMATS } from "./json-formats.ts";
import { clineSection, invokeSection, TAG_FORMATS } from "./tag-formats.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import type { Section, TextFormat, ToolTable } from "./text-format.ts";
import { atMarker, lookPastSpace, markerSet } from "./text-source.ts";
import { llama4Section, TOKEN_FORMATS } from "./token-formats.ts";
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
    ...FENCED_SECTIONS,
    llama4Section,
    {
      ...bareSection({ json: "json", python: "llama4-pythonic", knownToolsOnly: true, place: "line start" }),
      isExampleWith: "text after it",
    },
  ];
}

/** Calls as tags and calls as Python share a wrapper. */
function functionCallsSection(): Section {
  const [open, close] = ["<function_calls>", "</function_calls>"];
  const pythonSection = pythonicSection({ format: "olmo3-pythonic", open: [open], close: [close] });
  const tag = markerSet(["<"]);
  return {
    open: [open],
    close: [close],
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
      const schema = tools.schemaOf(tool);
      const input = (schema && exampleInput(schema)) ?? INPUT_FORM;
      example = textFormat(format).write([{ name: tool, input }]);
      examples.set(key, example);
    }
    return `The tool call could not be read: ${reason}. Send it again, whole, in this form:\n${example}`;
  };
}

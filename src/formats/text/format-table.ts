import { bareSection } from "./bare-section.ts";
import { fencedSection, JSON_FORMATS } from "./json-formats.ts";
import { markerSet } from "./marker-set.ts";
import { atMarker, lookPastSpace } from "./source.ts";
import { clineSection, TAG_FORMATS } from "./tag-formats.ts";
import { TEXT_FORMATS, type Section, type TextFormat, type TextFormatName } from "./text-format.ts";
import { TOKEN_FORMATS } from "./token-formats.ts";
import { toolCallSection } from "./tool-call-section.ts";
import type { ToolTable } from "./tool-table.ts";

const FORMATS: ReadonlyMap<TextFormatName, TextFormat> = new Map(
  [...TAG_FORMATS, ...JSON_FORMATS, ...TOKEN_FORMATS].map((format) => [format.name, format]),
);

export function textFormat(name: TextFormatName): TextFormat {
  return FORMATS.get(name)!;
}

/** What plain prose often has, or what several formats share, is recognised here in one way for all. */
const SHARED: ReadonlySet<TextFormatName> = new Set([
  "xml",
  "hermes",
  "qwen3-coder",
  "glm",
  "minicpm5-xml",
  "cline-xml",
  "json",
  "llama4-pythonic",
  "olmo3-pythonic",
  "anthropic-xml-legacy",
  "deepseek-v3",
]);

let fixed: readonly Section[] | undefined;

/** The sections of every format, each marker once. Only tags that are the names of tools differ from table to table. */
export function allSections(tools: ToolTable): readonly Section[] {
  fixed ??= makeSections(tools);
  return tools.names.length === 0 ? fixed : [...fixed, clineSection(tools)];
}

function makeSections(tools: ToolTable): Section[] {
  const own = TEXT_FORMATS.filter((name) => !SHARED.has(name)).flatMap((name) => textFormat(name).sections(tools));
  return [
    toolCallSection(["xml", "hermes", "qwen3-coder", "glm", "anthropic-xml"]),
    functionCallsSection(tools),
    ...textFormat("qwen3-coder").sections(tools),
    // What begins with no more than a bracket, or a word, is read below, and with more care.
    ...own.filter(({ open, onLineStart }) => !onLineStart && !open.includes("[")),
    fencedSection("known tools only"),
    bareSection({ json: "json", python: "llama4-pythonic", knownToolsOnly: true, onLineStart: true }),
  ];
}

/** Calls as tags and calls as Python share a wrapper. */
function functionCallsSection(tools: ToolTable): Section {
  const [tags] = textFormat("anthropic-xml").sections(tools);
  const [python] = textFormat("olmo3-pythonic").sections(tools);
  const tag = markerSet(["<"]);
  return {
    open: ["<function_calls>"],
    *read(reader, found) {
      const at = yield* lookPastSpace(reader.source, found.length);
      yield* ((yield* atMarker(reader.source, tag, at)) ? tags! : python!).read(reader, found);
    },
  };
}

import { bareSection } from "./bare-calls.ts";
import { notAToolName } from "./call-recorder.ts";
import { closeOrSkip, jsonSection, readArgumentsObject, readJsonCalls } from "./json-calls.ts";
import { OPEN_LIST, OPEN_OBJECT } from "./json-reader.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { CallReader, Section, TextFormat } from "./text-format.ts";
import { atMarker, attempt, markerSet, type Reading, skipSpace } from "./text-source.ts";
import { longcatSection, readShort, toolCallSection } from "./tool-call-section.ts";
import { nameAndArguments, writeEach, writeList } from "./write-calls.ts";

const OPEN = "[TOOL_CALLS]";
const ID = "[CALL_ID]";
const INPUT = "[ARGS]";
const OPENS = markerSet([OPEN]);
const MARKERS = markerSet([ID, INPUT]);

/** `[TOOL_CALLS]f[CALL_ID]id[ARGS]{…}` for each call, or `[TOOL_CALLS]` once before a JSON list. */
const MISTRAL_SECTION: Section = {
  open: [OPEN],
  *read(reader, found) {
    reader.source.take(found.length);
    reader.calls.open("mistral");
    yield* attempt(reader, readBody(reader), { before: [OPEN] });
    closeOrSkip(reader);
  },
};

function* readBody(reader: CallReader): Reading {
  const { source, calls } = reader;
  const code = yield* skipSpace(source);
  const isMarked = yield* atMarker(source, MARKERS);
  if ((code === OPEN_LIST || code === OPEN_OBJECT) && !isMarked) {
    return yield* readJsonCalls(reader, { format: "mistral", quotesUntil: OPENS });
  }
  const name = yield* readShort(reader, [ID, INPUT, "{", OPEN], "its name");
  if (/\s/.test(name)) throw notAToolName(name);
  calls.setName(name);
  if ((yield* atMarker(source, MARKERS))?.marker === ID) {
    source.take(ID.length);
    calls.setModelId(yield* readShort(reader, [INPUT, "{"], "its id"));
  }
  if ((yield* atMarker(source, MARKERS))?.marker === INPUT) source.take(INPUT.length);
  yield* readArgumentsObject(reader, { quotesUntil: OPENS });
}

const HERMES: TextFormat = {
  name: "hermes",
  sharesMarkers: true,
  sections: () => [toolCallSection("hermes")],
  write: writeEach((call) => `<tool_call>\n${JSON.stringify(nameAndArguments(call))}\n</tool_call>`),
};

const JSON_FENCE = "```json";
/** Only a format of calls has it. */
const CALL_FENCE = "```tool_call";

function fencedSection(open: readonly string[], tentative: true | "known tools only"): Section {
  return jsonSection({ format: "json", open, close: ["```"], onlyAtLineStart: true, tentative });
}

/** Without knowing the format: documentation has calls in fences too. */
export const FENCED_SECTIONS: readonly Section[] = [
  fencedSection([CALL_FENCE], "known tools only"),
  { ...fencedSection([JSON_FENCE], "known tools only"), isExampleWith: "any text" },
];

const JSON_TEXT: TextFormat = {
  name: "json",
  sharesMarkers: true,
  readsCodeBlocks: true,
  sections: () => [fencedSection([JSON_FENCE, CALL_FENCE], true), bareSection({ json: "json" })],
  write(calls) {
    const [first, ...rest] = calls.map(nameAndArguments);
    return JSON.stringify(rest.length === 0 ? first : [first, ...rest]);
  },
};

const LLAMA3: TextFormat = {
  name: "llama3-json",
  sections: () => [
    jsonSection({ format: "llama3-json", open: ["<|python_tag|>"] }),
    bareSection({ json: "llama3-json" }),
  ],
  controlTokens: ["<|eom_id|>", "<|eot_id|>"],
  write: writeEach(({ name, input }) => JSON.stringify({ name, parameters: input }), { between: "; " }),
};

const MISTRAL: TextFormat = {
  name: "mistral",
  sections: () => [MISTRAL_SECTION],
  reasoning: [["[THINK]", "[/THINK]"]],
  write: writeEach(({ name, input }) => `[TOOL_CALLS]${name}[ARGS]${JSON.stringify(input)}`, { between: "" }),
};

const GIGACHAT: TextFormat = {
  name: "gigachat",
  sections: () => [
    jsonSection({
      format: "gigachat",
      open: ["<|message_sep|>\n\nfunction call<|role_sep|>", "function call<|role_sep|>", "<|function_call|>"],
    }),
  ],
  controlTokens: ["<|message_sep|>"],
  write: writeEach((call) => `function call<|role_sep|>\n${JSON.stringify(nameAndArguments(call))}`),
};

const COHERE: TextFormat = {
  name: "cohere",
  sections: () => [jsonSection({ format: "cohere", open: ["<|START_ACTION|>"], close: ["<|END_ACTION|>"] })],
  reasoning: [["<|START_THINKING|>", "<|END_THINKING|>"]],
  controlTokens: [
    ...["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"],
    "<|END_OF_TURN_TOKEN|>",
  ],
  write: (calls) => {
    const list = calls.map(({ name, input }, at) => ({ tool_call_id: String(at), tool_name: name, parameters: input }));
    return `<|START_ACTION|>${JSON.stringify(list)}<|END_ACTION|>`;
  },
};

const APERTUS: TextFormat = {
  name: "apertus",
  sections: () => [
    jsonSection({ format: "apertus", keyIsName: true, open: ["<|tools_prefix|>"], close: ["<|tools_suffix|>"] }),
  ],
  reasoning: [["<|inner_prefix|>", "<|inner_suffix|>"]],
  write: writeList("<|tools_prefix|>", "<|tools_suffix|>", ({ name, input }) => ({ [name]: input })),
};

/** One list or one object between two markers. */
function listFormat(name: TextFormatName, open: string, close: string): TextFormat {
  return {
    name,
    sections: () => [jsonSection({ format: name, open: [open], close: [close] })],
    write: writeList(open, close),
  };
}

const GRANITE: TextFormat = {
  name: "granite",
  // Version 3.1 writes a tag, mostly without closing it.
  sections: () => [
    {
      ...jsonSection({ format: "granite", open: ["<|tool_call|>", "<function_call>", "<tool_call>"] }),
      close: ["</tool_call>", "</function_call>"],
    },
  ],
  write: writeList("<|tool_call|>", ""),
};

const PHI4_MINI: TextFormat = {
  name: "phi4-mini",
  // The bracket distinguishes it from Python's module of the same name.
  sections: () => [jsonSection({ format: "phi4-mini", open: ["functools["], keep: 1 })],
  write: writeList("functools", ""),
};

const INTERNLM: TextFormat = {
  name: "internlm",
  sections: () => [
    jsonSection({ format: "internlm", open: ["<|action_start|><|plugin|>"], close: ["<|action_end|>"] }),
  ],
  write: writeEach(
    ({ name, input }) => `<|action_start|><|plugin|>\n${JSON.stringify({ name, parameters: input })}\n<|action_end|>`,
  ),
};

const LONGCAT: TextFormat = {
  name: "longcat",
  sections: () => [longcatSection],
  write: writeEach((call) => `<longcat_tool_call>\n${JSON.stringify(nameAndArguments(call))}\n</longcat_tool_call>`),
};

export const JSON_FORMATS: readonly TextFormat[] = [
  HERMES,
  LONGCAT,
  JSON_TEXT,
  LLAMA3,
  MISTRAL,
  GIGACHAT,
  COHERE,
  APERTUS,
  PHI4_MINI,
  INTERNLM,
  GRANITE,
  listFormat("jamba", "<tool_calls>", "</tool_calls>"),
  listFormat("nemotron", "<TOOLCALL>", "</TOOLCALL>"),
];

import { bareSection, pythonicSection } from "./bare-calls.ts";
import { jsonReader, readArguments, readArgumentsObject, tooManyCalls } from "./json-calls.ts";
import { OPEN_OBJECT } from "./json-reader.ts";
import { INVOKE_SHAPE, readTagCall, type TagShape } from "./tag-calls.ts";
import { readTag } from "./tag-reader.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { CallReader, Section, TextFormat } from "./text-format.ts";
import {
  atMarker,
  attempt,
  cutOff,
  lookPastSpace,
  Malformed,
  markerSet,
  readEnd,
  type Reading,
  readUntil,
  readWithin,
  refuse,
  skipSpace,
  TOO_LONG,
} from "./text-source.ts";
import { readShort } from "./tool-call-section.ts";
import { gemmaLiteral, pythonCall, textOfValue, writeEach, writeTags } from "./write-calls.ts";

/** Calls between special tokens: a name, a separator and the arguments as JSON. */
interface TokenCalls {
  format: TextFormatName;
  begin: readonly string[];
  end: readonly string[];
  callBegin: readonly string[];
  callEnd: readonly string[];
  separator: readonly string[];
  /** The tool name from the text before the separator. */
  nameFrom(head: string): string;
  /** The format in which the name comes after the separator. */
  nameFollows?: TextFormatName;
  /** The end of the calls is the end of the turn. */
  endsTurn?: boolean;
  /** Calls as tags between the same tokens. */
  tags?: { shape: TagShape; head: string };
}

const FENCE = markerSet(["```json", "```"]);

function tokenSection(shape: TokenCalls): Section {
  const calls = markerSet(shape.callBegin);
  const ends = markerSet(shape.end);
  const separators = markerSet(shape.separator);
  return {
    open: [...shape.begin, ...shape.callBegin],
    close: [...shape.end, ...shape.callEnd, ...shape.separator],
    *read(reader, found) {
      const { source } = reader;
      const isWrapped = shape.begin.includes(found.marker);
      if (isWrapped) source.take(found.length);
      reader.calls.open(shape.format);
      for (let count = 0; ; count++) {
        if (isWrapped) yield* skipSpace(source);
        let at = yield* lookPastSpace(source, 0);
        // Step3 also separates calls with the token.
        const between = count > 0 && isWrapped ? yield* atMarker(source, separators, at) : undefined;
        if (between) at = yield* lookPastSpace(source, at + between.length);
        const call = yield* atMarker(source, calls, at);
        if (call) {
          source.take(at);
          if (count > 0) reader.calls.open(shape.format);
          source.take(call.length);
          yield* attempt(reader, readOne(reader, shape), {
            through: shape.callEnd,
            before: [...shape.callBegin, ...shape.end],
          });
          continue;
        }
        const end = yield* atMarker(source, ends, at);
        if (end) source.take(at + end.length);
        if (count === 0) {
          yield* attempt(reader, refuse("it contains no call"), { through: shape.end, before: shape.callBegin });
        } else if (isWrapped && !end && !reader.calls.isFailed) {
          reader.calls.repair(`the missing ${shape.end[0]} was added`);
        }
        reader.calls.close();
        if (end && shape.endsTurn) reader.endTurn();
        return;
      }
    },
  };
}

function* readOne(reader: CallReader, shape: TokenCalls): Reading {
  const { source, calls } = reader;
  if (calls.isFull) throw tooManyCalls();
  const { tags } = shape;
  const heads = tags ? [tags.head] : [];
  const head = yield* readShort(reader, [...shape.separator, ...shape.callEnd, ...heads], "its name");
  if (tags && (yield* atMarker(source, markerSet(heads)))) return yield* readTags(reader, shape, tags);
  const separator = yield* atMarker(source, markerSet(shape.separator));
  if (!separator) throw new Malformed(`${shape.separator[0]} is missing after its name`);
  source.take(separator.length);
  let name = shape.nameFrom(head);
  if (/^\d+$/.test(name) && !reader.tools.has(name)) {
    const [only, ...others] = reader.tools.names;
    if (only === undefined || others.length > 0) throw new Malformed("its id has no name of a tool");
    calls.repair(`its id names no tool: ${only} is the only one`);
    name = only;
  }
  if (head !== name) calls.setModelId(head);
  if (shape.nameFollows && head === "function" && (yield* skipSpace(source)) !== OPEN_OBJECT) {
    if (tags && (yield* atMarker(source, markerSet(heads)))) return yield* readTags(reader, shape, tags);
    calls.readAs(shape.nameFollows);
    name = yield* readShort(reader, ["\n", "```", "{", "<"], "its name");
    yield* skipSpace(source);
    if (tags && (yield* atMarker(source, markerSet(heads)))) return yield* readTags(reader, shape, tags);
  }
  calls.setName(name);
  yield* skipSpace(source);
  const fence = yield* atMarker(source, FENCE);
  if (fence) source.take(fence.length);
  yield* readArgumentsObject(reader, {
    ends: markerSet([...shape.callEnd, "```"]),
    quotesUntil: markerSet([...shape.callEnd, ...shape.callBegin]),
  });
  yield* skipSpace(source);
  if (fence && (yield* atMarker(source, FENCE))) source.take(3);
  yield* readEnd(reader, markerSet(shape.callEnd));
}

function* readTags(reader: CallReader, { callEnd }: TokenCalls, { shape }: { shape: TagShape }): Reading {
  reader.calls.readAs(shape.format);
  yield* readTagCall(reader, shape, yield* readTag(reader.source, shape.style));
  yield* readEnd(reader, markerSet(callEnd));
}

interface GemmaCalls {
  format: TextFormatName;
  open: string;
  close: string;
  /** The marker around strings. */
  quote: string;
}

const CALL = markerSet(["call:"]);

/** `call:f{city:<|"|>Oslo<|"|>,days:3}` between markers. */
function gemmaSection(shape: GemmaCalls): Section {
  return {
    open: [shape.open],
    close: [shape.close],
    *read(reader, found) {
      reader.source.take(found.length);
      reader.calls.open(shape.format);
      yield* attempt(reader, readBody(reader, shape), { through: [shape.close], before: [shape.open] });
      reader.calls.close();
    },
  };
}

function* readBody(reader: CallReader, { close, quote }: GemmaCalls): Reading {
  const { source, calls } = reader;
  const ends = markerSet([close]);
  yield* skipSpace(source);
  if (yield* atMarker(source, CALL)) source.take(CALL.longest);
  const name = yield* readShort(reader, ["{", "<", "\n"], "its name");
  if (source.peek(1) !== "{" || !/^[^\s<>()"'`]+$/.test(name)) throw new Malformed("it must contain call:name{…}");
  calls.setName(name);
  yield* readArguments(reader, jsonReader(reader, { quote, bareText: true, ends, quotesUntil: ends }));
  calls.finish();
  yield* readEnd(reader, ends);
}

const MESSAGE = "<|message|>";
const ENDS = ["<|call|>", "<|end|>", "<|return|>"];
const BEGINS = ["<|start|>", "<|channel|>"];
const CONTENT_END = markerSet([...ENDS, ...BEGINS]);

/** `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>`; other channels are text. */
const HARMONY_SECTION: Section = { open: BEGINS, read: readMessage };

/** The prompt ends inside the first header, so the text of a model may start in the middle of it. */
const HARMONY_FIRST_HEADER: Section = { open: ["to="], onlyAtLineStart: true, read: readMessage };

const MAX_HEADER_LENGTH = 400;
/** Messages to these are text. */
const ROLES: ReadonlySet<string> = new Set(["assistant", "user", "all"]);

function* readMessage(reader: CallReader): Reading {
  const { source, calls } = reader;
  let header = "";
  const stops = markerSet([MESSAGE, ...ENDS]);
  // No call is open yet: text that is too long for a header stays text.
  const found = yield* readWithin(source, stops, (piece) => void (header += piece), MAX_HEADER_LENGTH);
  if (found === TOO_LONG) throw new Malformed("it is too long for a header");
  // A header with two channels was begun anew.
  const [, ...begun] = header.split("<|channel|>");
  const recipient = /\bto=([^\s<]+)/.exec(begun.length > 1 ? begun.at(-1)! : header)?.[1];
  if (recipient !== undefined && (!ROLES.has(recipient) || reader.tools.has(recipient))) {
    calls.open("harmony");
    calls.setName(recipient.replace(/^functions\./, ""));
    yield* attempt(reader, readCall(reader), { through: ENDS, before: BEGINS });
    return calls.close();
  }
  if (found?.marker !== MESSAGE) {
    if (found) source.take(found.length);
    return reader.pass("skipped", source.takeMarked());
  }
  source.take(MESSAGE.length);
  reader.pass("skipped", source.takeMarked());
  const isReasoning = /^\s*analysis/.test(begun.at(-1) ?? "");
  const end = yield* readUntil(source, CONTENT_END, (piece) => {
    reader.pass(isReasoning ? "reasoning" : "text", piece);
    source.takeMarked();
  });
  if (end && ENDS.includes(end.marker)) source.take(end.length);
  reader.pass("skipped", source.takeMarked());
}

function* readCall(reader: CallReader): Reading {
  const { source, calls } = reader;
  if (!(yield* atMarker(source, markerSet([MESSAGE])))) throw cutOff(`before ${MESSAGE}`);
  source.take(MESSAGE.length);
  if (calls.isFull) throw tooManyCalls();
  yield* skipSpace(source);
  if (yield* atMarker(source, markerSet(ENDS))) calls.finish({});
  else yield* readArgumentsObject(reader, { ends: markerSet(ENDS), quotesUntil: CONTENT_END });
  yield* readEnd(reader, markerSet(ENDS));
}

/** Step3 writes calls as tags between the tokens of DeepSeek, with ASCII underscores. */
const STEP3_TAGS = {
  shape: { ...INVOKE_SHAPE, format: "step3", markup: "raw", untyped: "infer", ends: [] },
  head: "<steptml:invoke",
} as const;

/** Distilled models write the tokens with ASCII characters. */
function deepseekTokens(name: string): string[] {
  const plain = name.replaceAll("▁", "_");
  return [`<｜${name}｜>`, `<｜${plain}｜>`, `<|${name}|>`, `<|${plain}|>`];
}

function deepseek(name: TextFormatName, write: TextFormat["write"]): TextFormat {
  return {
    name,
    sections: () => [
      tokenSection({
        format: name,
        begin: deepseekTokens("tool▁calls▁begin"),
        end: deepseekTokens("tool▁calls▁end"),
        callBegin: deepseekTokens("tool▁call▁begin"),
        callEnd: deepseekTokens("tool▁call▁end"),
        separator: deepseekTokens("tool▁sep"),
        nameFrom: (head) => head,
        nameFollows: "deepseek-v3",
        endsTurn: true,
        tags: STEP3_TAGS,
      }),
    ],
    controlTokens: ["<｜end▁of▁sentence｜>"],
    write,
  };
}

const DEEPSEEK_AROUND = { before: "<｜tool▁calls▁begin｜>", after: "<｜tool▁calls▁end｜>" };

const DEEPSEEK_V3: TextFormat = {
  ...deepseek(
    "deepseek-v3",
    writeEach(
      ({ name, input }) =>
        `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${JSON.stringify(input)}\n\`\`\`<｜tool▁call▁end｜>`,
      DEEPSEEK_AROUND,
    ),
  ),
  sharesMarkers: true,
};

const DEEPSEEK_V31 = deepseek(
  "deepseek-v3.1",
  writeEach(
    ({ name, input }) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${JSON.stringify(input)}<｜tool▁call▁end｜>`,
    { ...DEEPSEEK_AROUND, between: "" },
  ),
);

const STEP3: TextFormat = {
  ...deepseek(
    "step3",
    writeEach(
      writeTags(
        (name) => `<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="${name}">`,
        (key, value) => `<steptml:parameter name="${key}">${textOfValue(value)}</steptml:parameter>`,
        () => "</steptml:invoke><｜tool_call_end｜>",
      ),
      { before: "<｜tool_calls_begin｜>", after: "<｜tool_calls_end｜>", between: "" },
    ),
  ),
  sharesMarkers: true,
};

const KIMI_K2: TextFormat = {
  name: "kimi-k2",
  sections: () => [
    tokenSection({
      format: "kimi-k2",
      begin: ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
      end: ["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
      callBegin: ["<|tool_call_begin|>"],
      callEnd: ["<|tool_call_end|>"],
      separator: ["<|tool_call_argument_begin|>"],
      nameFrom: (head) => head.replace(/^functions\./, "").replace(/:\d+$/, ""),
    }),
  ],
  callEndsReasoning: true,
  write: (calls) => {
    const each = calls.map(
      ({ name, input }, at) =>
        `<|tool_call_begin|>functions.${name}:${at}<|tool_call_argument_begin|>${JSON.stringify(input)}<|tool_call_end|>`,
    );
    return `<|tool_calls_section_begin|>${each.join("")}<|tool_calls_section_end|>`;
  },
};

const HARMONY: TextFormat = {
  name: "harmony",
  sections: () => [HARMONY_SECTION, HARMONY_FIRST_HEADER],
  controlTokens: ["<|end|>", "<|return|>", "<|call|>"],
  write: writeEach(
    ({ name, input }) =>
      `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${JSON.stringify(input)}<|call|>`,
    { between: "<|start|>assistant" },
  ),
};

function pythonic(name: TextFormatName, open: string, close: string, isList: boolean): TextFormat {
  return {
    name,
    sections: () => [pythonicSection({ format: name, open: [open], close: [close] })],
    controlTokens: ["<|im_end|>"],
    write: isList
      ? writeEach(pythonCall, { before: `${open}[`, after: `]${close}`, between: ", " })
      : writeEach(pythonCall, { before: open, after: close }),
  };
}

export const llama4Section = pythonicSection({
  format: "llama4-pythonic",
  open: ["<|python_start|>"],
  close: ["<|python_end|>"],
});

const LLAMA4: TextFormat = {
  name: "llama4-pythonic",
  sharesMarkers: true,
  sections: () => [llama4Section, bareSection({ python: "llama4-pythonic", place: "line start or end" })],
  controlTokens: ["<|eom|>", "<|eot|>"],
  write: writeEach(pythonCall, { before: "[", after: "]", between: ", " }),
};

function gemma(name: TextFormatName, open: string, close: string, quote: string): TextFormat {
  return {
    name,
    sections: () => [gemmaSection({ format: name, open, close, quote })],
    reasoning: [["<|channel>thought\n", "<channel|>"]],
    controlTokens: ["<turn|>", "<|channel>thought<channel|>"],
    write: writeEach(({ name: tool, input }) => `${open}call:${tool}${gemmaLiteral(input, quote)}${close}`, {
      between: "",
    }),
  };
}

export const TOKEN_FORMATS: readonly TextFormat[] = [
  DEEPSEEK_V3,
  DEEPSEEK_V31,
  STEP3,
  KIMI_K2,
  HARMONY,
  LLAMA4,
  pythonic("lfm2-pythonic", "<|tool_call_start|>", "<|tool_call_end|>", true),
  { ...pythonic("olmo3-pythonic", "<function_calls>", "</function_calls>", false), sharesMarkers: true },
  gemma("gemma4", "<|tool_call>", "<tool_call|>", '<|"|>'),
  gemma("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>"),
];

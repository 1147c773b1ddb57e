import { notAToolName } from "./call-recorder.ts";
import { readJsonCalls } from "./json-calls.ts";
import { OPEN_LIST, OPEN_OBJECT } from "./json-reader.ts";
import {
  createTagInput,
  FUNCTION_HEADS,
  FUNCTION_SHAPE,
  INVOKE_HEADS,
  INVOKE_SHAPE,
  readTagCall,
  readTagCalls,
  readTagRest,
  takePlainParameter,
  XML_SHAPE,
  XML_STYLE,
} from "./tag-calls.ts";
import { readRawValue, readTag, type Tag, type ValueEnds } from "./tag-reader.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { CallReader, Section } from "./text-format.ts";
import {
  atMarker,
  attempt,
  cutOff,
  lookPastSpace,
  Malformed,
  markerSet,
  readBounded,
  readEnd,
  type Reading,
  skipSpace,
  unexpected,
} from "./text-source.ts";
import { createTextValue } from "./text-values.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const ENDS = markerSet([CLOSE]);
const EITHER = markerSet([OPEN, CLOSE]);
const FUNCTION_OPENS = markerSet(FUNCTION_HEADS);
const INVOKE_OPENS = markerSet(INVOKE_HEADS);
const INVOKE_IN_TOOL_CALL = { ...INVOKE_SHAPE, ends: [CLOSE] };

/** The formats that share `<tool_call>`. The content of the tag shows which one it is. */
type ToolCallBody = Extract<TextFormatName, "xml" | "hermes" | "qwen3-coder" | "glm" | "anthropic-xml">;

/** Accepts the given formats; the first one is assumed until the content is known. */
export function toolCallSection(...bodies: readonly [ToolCallBody, ...ToolCallBody[]]): Section {
  return {
    open: [OPEN],
    close: [CLOSE],
    *read(reader, found) {
      reader.source.take(found.length);
      reader.calls.open(bodies[0]);
      yield* attempt(reader, readBody(reader, bodies), { through: [CLOSE], before: [OPEN] });
      reader.calls.close();
    },
  };
}

const LOOSE_OPENS = ["<tool_call ", "<TOOL_CALL>", "<TOOL_CALL "];

/** Calls of the format xml whose tag has attributes or is in capitals. Anything else that begins like one is text. */
export const looseXmlSection: Section = {
  open: LOOSE_OPENS,
  close: [CLOSE, "</TOOL_CALL>"],
  *read(reader) {
    const { source, calls } = reader;
    calls.open("xml", { tentative: true });
    const tag = yield* readTag(source, XML_STYLE);
    yield* skipSpace(source);
    const isNamed = tag.attributes.has(XML_SHAPE.nameAttribute);
    const beginsCall = yield* atMarker(source, isNamed ? markerSet(["<"]) : NAME_TAGS);
    if (tag.isEmpty || tag.value !== undefined || !beginsCall) throw new Malformed("it is not a call");
    calls.confirm();
    calls.repair(`<${tag.name}${tag.attributes.size > 0 ? " …" : ""}> was read as ${OPEN}`);
    const recovery = { through: [CLOSE, `</${tag.name}>`], before: [OPEN, ...LOOSE_OPENS] };
    yield* attempt(reader, readTagCall(reader, XML_SHAPE, tag), recovery);
    calls.close();
  },
};
const NAME_TAGS = markerSet(["<name>", "<tool_name>", "<NAME>", "<TOOL_NAME>"]);

function* readBody(reader: CallReader, bodies: readonly ToolCallBody[]): Reading {
  const { source, calls } = reader;
  const code = yield* skipSpace(source);
  const accepts = (body: ToolCallBody): boolean => bodies.includes(body);
  if (accepts("hermes") && (code === OPEN_OBJECT || code === OPEN_LIST)) {
    calls.readAs("hermes");
    yield* readJsonCalls(reader, { format: "hermes", ends: ENDS, quotesUntil: EITHER });
    return yield* readEnd(reader, ENDS);
  }
  if (accepts("qwen3-coder") && (yield* atMarker(source, FUNCTION_OPENS))) {
    calls.readAs("qwen3-coder");
    return yield* readTagCalls(reader, { shape: FUNCTION_SHAPE, heads: FUNCTION_HEADS, isWrapped: true });
  }
  if (accepts("anthropic-xml") && (yield* atMarker(source, INVOKE_OPENS))) {
    calls.readAs("anthropic-xml");
    return yield* readTagCalls(reader, { shape: INVOKE_IN_TOOL_CALL, heads: INVOKE_HEADS, isWrapped: true });
  }
  if (accepts("xml") && code === OPEN_TAG && !(yield* atMarker(source, ENDS))) {
    calls.readAs("xml");
    return yield* readXmlCall(reader);
  }
  if (accepts("glm")) {
    calls.readAs("glm");
    return yield* readPairCall(reader, GLM_TAGS);
  }
  throw yield* unexpected(source, "a call");
}

const OPEN_TAG = 60;

const HEAD = /<name>\s*([^\s<>&]{1,100})\s*<\/name>\s*<params>/y;
const TAIL = /<\/params>\s*<\/tool_call>/y;

function plainTag(name: string): Tag {
  return { name, local: name, value: undefined, attributes: new Map(), isClosing: false, isEmpty: false };
}
const CALL = plainTag("tool_call");
const GROUP = plainTag("params");

/** Reads a call after `<tool_call>`. Well-formed text that has arrived is taken at once, the rest step by step. */
function* readXmlCall(reader: CallReader): Reading {
  const { source, calls } = reader;
  const head = source.match(HEAD, 0);
  if (!head) return yield* readTagCall(reader, XML_SHAPE, CALL);
  const [text, name = ""] = head;
  source.take(text.length);
  calls.setName(name);
  const input = createTagInput(reader, XML_SHAPE.untyped);
  do source.skipSpace();
  while (takePlainParameter(reader, input, GROUP.name));
  const tail = source.match(TAIL, 0);
  if (tail) {
    source.take(tail[0].length);
    input.finish();
  } else yield* readTagRest({ reader, shape: XML_SHAPE, input, call: CALL, parent: GROUP });
}

/** The tags of calls whose arguments are pairs of a key and a value. */
interface PairTags {
  open: string;
  close: string;
  /** The names of the tags around a key and around a value. */
  key: string;
  value: string;
}

const GLM_TAGS: PairTags = { open: OPEN, close: CLOSE, key: "arg_key", value: "arg_value" };
const LONGCAT_TAGS: PairTags = {
  open: "<longcat_tool_call>",
  close: "</longcat_tool_call>",
  key: "longcat_arg_key",
  value: "longcat_arg_value",
};

/** LongCat writes the call as JSON or as pairs. */
export const longcatSection: Section = {
  open: [LONGCAT_TAGS.open],
  close: [LONGCAT_TAGS.close],
  *read(reader, found) {
    const { open, close } = LONGCAT_TAGS;
    reader.source.take(found.length);
    reader.calls.open("longcat");
    const code = yield* skipSpace(reader.source);
    const json = { format: "longcat", ends: markerSet([close]), quotesUntil: markerSet([open, close]) } as const;
    const isJson = code === OPEN_OBJECT || code === OPEN_LIST;
    const body = isJson ? readJsonCalls(reader, json) : readPairCall(reader, LONGCAT_TAGS);
    yield* attempt(reader, body, { through: [close], before: [open] });
    if (isJson && !reader.calls.isFailed) yield* readEnd(reader, json.ends);
    reader.calls.close();
  },
};

/** Reads `f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`, after the opening marker. */
function* readPairCall(reader: CallReader, tags: PairTags): Reading {
  const { source, calls } = reader;
  const { close } = tags;
  const key = markerSet([`<${tags.key}>`]);
  const keyEnd = markerSet([`</${tags.key}>`]);
  const value = markerSet([`<${tags.value}>`]);
  const name = yield* readShort(reader, [...key.markers, close, "<", "\n"], "its name");
  if (!/^[^\s<>{}()"'`]+$/.test(name)) throw notAToolName(name);
  calls.setName(tags === LONGCAT_TAGS ? name.replace(/^functions\./, "") : name);
  const input = createTagInput(reader, "json");
  const ends = valueEnds(tags);
  while ((yield* skipSpace(source)) !== -1 && (yield* atMarker(source, key))) {
    source.take(key.longest);
    const parameterName = yield* readShort(reader, keyEnd.markers, "a key");
    source.take(keyEnd.longest);
    yield* skipSpace(source);
    if (!(yield* atMarker(source, value))) {
      throw new Malformed(`<${tags.value}> is missing after the key ${parameterName}`);
    }
    source.take(value.longest);
    const parameter = input.begin(parameterName, undefined);
    parameter.end(yield* readRawValue(reader, ends, createTextValue("none", parameter.stream)));
  }
  // The model may have meant to write more parameters.
  if (source.code() === -1) throw cutOff(`before ${close}`);
  if (input.count() === 0 && !(yield* atMarker(source, markerSet([close])))) throw new Malformed(`${close} is missing`);
  input.finish();
  yield* readEnd(reader, markerSet([close]));
}

function valueEnds({ open, close, key, value }: PairTags): ValueEnds {
  const followers = markerSet([`<${key}>`, close, open]);
  return {
    close: `</${value}>`,
    parameterHeads: [],
    callHeads: [],
    callClose: close,
    mayEndAtCall: false,
    *follows(source, at) {
      const start = yield* lookPastSpace(source, at);
      return source.peek(1, start) === "" || (yield* atMarker(source, followers, start)) !== undefined;
    },
  };
}

/** Reads text of at most the length of a name, up to one of the markers. */
export function* readShort({ source }: CallReader, markers: readonly string[], what: string): Reading<string> {
  let text = "";
  yield* readBounded(source, markerSet(markers), { pass: (piece) => void (text += piece), limit: 400, what });
  return text.trim();
}

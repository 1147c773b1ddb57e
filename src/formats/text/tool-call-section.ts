import { unexpected } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { readJsonCalls } from "./read-json-calls.ts";
import { readPairCall } from "./read-pair-call.ts";
import { readSeedCall } from "./read-seed-call.ts";
import { attempt, readEnd } from "./recover.ts";
import { atMarker, type Reading, skipSpace } from "./source.ts";
import { FUNCTION_HEADS, FUNCTION_SHAPE, INVOKE_HEADS, INVOKE_SHAPE } from "./tag-shapes.ts";
import { readTagCalls } from "./tag-section.ts";
import type { CallReader, Section, TextFormatName } from "./text-format.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const ENDS = markerSet([CLOSE]);
const EITHER = markerSet([OPEN, CLOSE]);
const FUNCTION_OPENS = markerSet(FUNCTION_HEADS);
const INVOKE_OPENS = markerSet(INVOKE_HEADS);
const INVOKE_IN_TOOL_CALL = { ...INVOKE_SHAPE, ends: [CLOSE] };
/** The formats that share `<tool_call>`; what stands in it says which one it is. */
export type ToolCallBody = Extract<TextFormatName, "xml" | "hermes" | "qwen3-coder" | "glm" | "anthropic-xml">;

export function toolCallSection(bodies: readonly ToolCallBody[]): Section {
  return {
    open: [OPEN],
    *read(reader, found) {
      reader.source.take(found.length);
      reader.calls.open(bodies[0]!);
      yield* attempt(reader, readBody(reader, bodies), { through: [CLOSE], before: [OPEN] });
      reader.calls.close();
    },
  };
}

function* readBody(reader: CallReader, bodies: readonly ToolCallBody[]): Reading {
  const { source, calls } = reader;
  const code = yield* skipSpace(source);
  const may = (body: ToolCallBody): boolean => bodies.includes(body);
  if (may("hermes") && (code === OPEN_OBJECT || code === OPEN_LIST)) {
    calls.readAs("hermes");
    yield* readJsonCalls(reader, { format: "hermes", ends: ENDS, quotesUntil: EITHER });
    return yield* readEnd(reader, ENDS);
  }
  if (may("qwen3-coder") && (yield* atMarker(source, FUNCTION_OPENS))) {
    calls.readAs("qwen3-coder");
    return yield* readTagCalls(reader, { shape: FUNCTION_SHAPE, heads: FUNCTION_HEADS, isWrapped: true });
  }
  if (may("anthropic-xml") && (yield* atMarker(source, INVOKE_OPENS))) {
    calls.readAs("anthropic-xml");
    return yield* readTagCalls(reader, { shape: INVOKE_IN_TOOL_CALL, heads: INVOKE_HEADS, isWrapped: true });
  }
  if (may("xml") && code === OPEN_TAG && !(yield* atMarker(source, ENDS))) {
    calls.readAs("xml");
    return yield* readSeedCall(reader);
  }
  if (may("glm")) {
    calls.readAs("glm");
    return yield* readPairCall(reader, CLOSE);
  }
  throw yield* unexpected(source, "the call");
}

const OPEN_TAG = 60;
const OPEN_LIST = 91;
const OPEN_OBJECT = 123;

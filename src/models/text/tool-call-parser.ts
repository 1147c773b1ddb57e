import { nextCallId } from "../../core/call.ts";
import type { ToolFailure } from "../../core/error.ts";
import { createCallRecorder } from "./call-recorder.ts";
import { allSections, explainMalformed, textFormat } from "./format-table.ts";
import {
  type CallReader,
  createToolTable,
  type Section,
  TEXT_FORMATS,
  type TextFormatName,
  type ToolLike,
  type ToolTable,
} from "./text-format.ts";
import {
  awaitLength,
  type Found,
  Malformed,
  markerSet,
  type MarkerSet,
  type Reading,
  readUntil,
  Source,
} from "./text-source.ts";

export interface ToolCallParserOptions {
  /** `auto`, the default, knows each format by its markers. */
  format?: TextFormatName | "auto";
  /** They say of what type a value is, and which tags are tools. Without them values are text, or typed by their looks. */
  tools?: Iterable<ToolLike>;
  /** The prompt has opened the reasoning already, as many chat templates do. */
  startsInReasoning?: boolean;
  newId?: () => string;
}

export interface ToolCallParser {
  push(chunk: string): ToolCallEvent[];
  /** The text is complete: what was held back is decided. */
  end(): ToolCallEvent[];
  /** Everything so far, as `parseToolCalls` gives it. */
  readonly result: ParsedText;
}

/** Reads text while it comes. Whatever the chunks are, the result is the same. */
export function createToolCallParser(options: ToolCallParserOptions = {}): ToolCallParser {
  const { parser } = createParser(options, true);
  return parser;
}

/** A whole text at once. */
export function parseToolCalls(text: string, options: ToolCallParserOptions = {}): ParsedText {
  const { parser } = createParser(options, false);
  parser.push(text);
  parser.end();
  return parser.result;
}

/** The source too, so that tests can count what was read. */
export function createParser(
  { format = "auto", tools, startsInReasoning = false, newId = nextCallId }: ToolCallParserOptions,
  streams: boolean,
): { parser: ToolCallParser; source: Source } {
  const source = new Source();
  const table = createToolTable(tools);
  const result: ParsedText = { calls: [], text: "", reasoning: "", warnings: [] };
  let events: ToolCallEvent[] = [];
  let isTurnOver = false;

  const warn = (what: string): void => {
    if (result.warnings.length < MAX_WARNINGS && !result.warnings.includes(what)) result.warnings.push(what);
  };
  const emit = (event: ToolCallEvent): void => {
    if (event.type === "text") result.text += event.text;
    else if (event.type === "reasoning") result.reasoning += event.text;
    else if (event.type === "call_completed" || event.type === "call_failed") {
      const { call } = event;
      result.calls.push(call);
      for (const repair of call.repairs ?? []) warn(`${call.name || "a call"}: ${repair}`);
    }
    if (streams && !joins(events.at(-1), event)) events.push(event);
  };
  const reader: CallReader = {
    source,
    tools: table,
    calls: createCallRecorder({ source, emit, streams, newId, explain: explainMalformed(table) }),
    warn,
    pass(type, text) {
      if (text === "") return;
      const isLate = type === "text" && isTurnOver;
      if (isLate && text.trim() !== "") warn("Text behind the calls was left out: wait for their results first.");
      emit({ type: isLate ? "skipped" : type, text });
    },
    endTurn: () => void (isTurnOver = true),
  };
  const reading = readText(reader, createScanPlan(format, table), startsInReasoning);
  let isDone = false;
  const advance = (): ToolCallEvent[] => {
    if (!isDone) isDone = reading.next().done ?? false;
    const batch = events;
    events = [];
    return batch;
  };
  const parser: ToolCallParser = {
    push(chunk) {
      if (source.ended || chunk === "") return [];
      source.feed(chunk);
      return advance();
    },
    end() {
      source.ended = true;
      return advance();
    },
    result,
  };
  return { parser, source };
}

const MAX_WARNINGS = 100;

/** Whether the event only lengthens the one before it, which then says it all. */
function joins(last: ToolCallEvent | undefined, event: ToolCallEvent): boolean {
  if (last?.type === "call_arguments" && event.type === "call_arguments" && last.id === event.id) {
    last.delta += event.delta;
    return true;
  }
  if (!last || last.type !== event.type || !("text" in last) || !("text" in event)) return false;
  last.text += event.text;
  return true;
}

/** A call as a model wrote it. One with a `failure` is to be answered with it, and never run. */
export interface ParsedToolCall {
  /** Made up here, unique everywhere, unless the format has ids that are. */
  id: string;
  /** "" where none could be read. */
  name: string;
  input: Record<string, unknown>;
  /** The very text of it, markers included. */
  rawText: string;
  /** The format that it was read as. */
  format: TextFormatName;
  /** The id that the model wrote; models use the same one again in later turns. */
  modelId?: string;
  /** What was mended before the call could be read. */
  repairs?: string[];
  failure?: ToolFailure;
}

/**
 * What a text turns out to be, in its order. The texts of `text`, `reasoning` and `skipped` and the `rawText` of the calls
 * that were completed or failed are together the whole text.
 */
export type ToolCallEvent =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** Belongs to neither: tags around reasoning, wrappers without a call, what a model wrote after its turn. */
  | { type: "skipped"; text: string }
  /** The name comes once, whole, and before any argument. */
  | { type: "call_started"; id: string; index: number; name: string }
  /** JSON; all of a call's together are its input. Where a call fails, they are a beginning. */
  | { type: "call_arguments"; id: string; index: number; delta: string }
  | { type: "call_completed"; id: string; index: number; call: ParsedToolCall }
  | { type: "call_failed"; id: string; index: number; call: ParsedToolCall };

export interface ParsedText {
  calls: ParsedToolCall[];
  text: string;
  reasoning: string;
  /** For the model: every repair, and what else it should do otherwise next time. */
  warnings: string[];
}

/** Where in the text we are, as far as it matters for what a marker means. */
interface TextPosition {
  last: string;
  isLineBlank: boolean;
  isInFence: boolean;
}

/** A model's whole text: prose, reasoning and calls. */
function* readText(reader: CallReader, plan: ScanPlan, startsInReasoning: boolean): Reading {
  const { source } = reader;
  const position: TextPosition = { last: "", isLineBlank: true, isInFence: false };
  const passText = (piece: string): void => {
    reader.pass("text", piece);
    source.takeMarked();
    follow(position, piece);
  };
  if (startsInReasoning) yield* readReasoning(reader, plan.openReasoningEnds, plan);
  for (;;) {
    const found = yield* readUntil(source, plan.markers, passText);
    if (!found) return;
    const meaning = plan.meanings.get(found.marker)!;
    switch (meaning.type) {
      case "section":
        // In code and tables nearly all brackets are just brackets: for those, nothing is begun.
        if (meaning.section.onLineStart && !position.isLineBlank) passText(source.take(found.length));
        else yield* readSection(reader, { section: meaning.section, found, position, passText });
        break;
      case "reasoning":
        if (yield* isMention(reader, found, position)) passText(source.take(found.length));
        else {
          skip(reader, found);
          yield* readReasoning(reader, meaning.close, plan);
        }
        break;
      case "reasoning_end":
        reader.warn(`${found.marker} closes reasoning that was not opened in this text.`);
        skip(reader, found);
        break;
      case "plumbing":
        skip(reader, found);
        break;
      case "fence":
        if (position.isLineBlank) position.isInFence = !position.isInFence;
        passText(source.take(found.length));
        break;
    }
  }
}

interface SectionStart {
  section: Section;
  found: Found;
  position: TextPosition;
  passText(piece: string): void;
}

function* readSection(reader: CallReader, { section, found, position, passText }: SectionStart): Reading {
  const { source, calls } = reader;
  const release = (): void => {
    if (source.markedLength === 0) source.take(found.length);
    if (found.marker.startsWith("```") && position.isLineBlank) position.isInFence = !position.isInFence;
    passText(source.takeMarked());
  };
  if (calls.isFull) {
    reader.warn("The text has more calls than are read: the rest was taken as text. Make fewer calls at once.");
    return release();
  }
  if (section.isProseInCode && position.isInFence) return release();
  if (yield* isMention(reader, found, position)) return release();
  try {
    yield* section.read(reader, found);
  } catch (thrown) {
    if (!(thrown instanceof Malformed)) throw thrown;
    // Not certain to be a call, and now certain to be none.
    calls.discard();
    return release();
  }
  position.last = "";
  position.isLineBlank = true;
}

/** `<tool_call>` between backticks speaks about the marker. */
function* isMention({ source }: CallReader, found: Found, position: TextPosition): Reading<boolean> {
  if (position.last !== "`") return false;
  yield* awaitLength(source, found.length + 1);
  return source.peek(1, found.length) === "`";
}

/** Markers of calls mean nothing in here. */
function* readReasoning(reader: CallReader, ends: MarkerSet, plan: ScanPlan): Reading {
  const { source } = reader;
  const end = yield* readUntil(source, ends, (piece) => {
    reader.pass("reasoning", piece);
    source.takeMarked();
  });
  if (!end) reader.warn("The text ended inside of its reasoning: calls that stand there are not made.");
  else if (plan.reasoningEnds.markers.includes(end.marker)) skip(reader, end);
}

function skip(reader: CallReader, found: Found): void {
  reader.source.take(found.length);
  reader.pass("skipped", reader.source.takeMarked());
}

function follow(position: TextPosition, piece: string): void {
  if (piece === "") return;
  position.last = piece[piece.length - 1]!;
  const line = piece.lastIndexOf("\n");
  const tail = line === -1 ? piece : piece.slice(line + 1);
  position.isLineBlank = (line !== -1 || position.isLineBlank) && tail.trim() === "";
}

/** What text is searched for, and what each marker means. */
interface ScanPlan {
  readonly markers: MarkerSet;
  readonly meanings: ReadonlyMap<string, MarkerMeaning>;
  readonly reasoningEnds: MarkerSet;
  /** In reasoning that the prompt opened: what ends it, calls included where the format lets them. */
  readonly openReasoningEnds: MarkerSet;
}

export type MarkerMeaning =
  | { type: "section"; section: Section }
  | { type: "reasoning"; close: MarkerSet }
  | { type: "reasoning_end" }
  | { type: "plumbing" }
  | { type: "fence" };

const COMMON_REASONING: readonly (readonly [string, string])[] = [["<think>", "</think>"]];
function createScanPlan(format: TextFormatName | "auto", tools: ToolTable): ScanPlan {
  const formats = (format === "auto" ? TEXT_FORMATS : [format]).map(textFormat);
  const sections = format === "auto" ? allSections(tools) : textFormat(format).sections(tools);
  const reasoning = [...COMMON_REASONING, ...formats.flatMap((each) => each.reasoning ?? [])];
  const meanings = new Map<string, MarkerMeaning>();
  const add = (marker: string, meaning: MarkerMeaning): void => {
    if (!meanings.has(marker)) meanings.set(marker, meaning);
  };
  for (const section of sections) for (const marker of section.open) add(marker, { type: "section", section });
  for (const [open, close] of reasoning) add(open, { type: "reasoning", close: markerSet([close]) });
  for (const [, close] of reasoning) add(close, { type: "reasoning_end" });
  for (const marker of formats.flatMap((each) => each.plumbing ?? [])) add(marker, { type: "plumbing" });
  if (sections.some(({ isProseInCode }) => isProseInCode)) add("```", { type: "fence" });

  const closes = reasoning.map(([, close]) => close);
  const endsReasoning = formats.length === 1 && formats[0]!.callEndsReasoning;
  return {
    markers: markerSet([...meanings.keys()]),
    meanings,
    reasoningEnds: markerSet(closes),
    openReasoningEnds: markerSet(endsReasoning ? [...closes, ...sections.flatMap(({ open }) => open)] : closes),
  };
}

export interface XMLToolCall {
  name: string;
  params: Record<string, unknown>;
  rawText: string;
  /** Why it cannot be run. */
  failure?: ToolFailure;
}

/** Calls in the format `<tool_call><name>…</name><params>…</params></tool_call>` alone, with params under their first name. */
export const XMLToolCallParser = Object.freeze({
  parseToolCalls(text: string, options: Omit<ToolCallParserOptions, "format"> = {}): XMLToolCall[] {
    const { calls } = parseToolCalls(text, { ...options, format: "xml" });
    return calls.map(({ name, input, rawText, failure }) => ({
      name,
      params: input,
      rawText,
      failure,
    }));
  },
});

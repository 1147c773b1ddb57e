import { nextCallId } from "../../core/call.ts";
import type { ToolFailure } from "../../core/error.ts";
import { CallRecorder } from "./call-recorder.ts";
import { allSections, explainMalformed, textFormat } from "./format-table.ts";
import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import { type CallReader, createToolTable, type Section, type ToolLike, type ToolTable } from "./text-format.ts";
import {
  awaitLength,
  type FoundMarker,
  Malformed,
  markerSet,
  type MarkerSet,
  type Reading,
  readUntil,
  Source,
} from "./text-source.ts";

export interface ToolCallParserOptions {
  /** Default: `auto`, which recognises each format by its markers. */
  format?: TextFormatName | "auto";
  /** Give the types of values and the tags that are tools. Without tools, types are guessed from the text. */
  tools?: Iterable<ToolLike>;
  /** The prompt has already opened the reasoning, as many chat templates do. */
  startsInReasoning?: boolean;
  newId?: () => string;
}

/** Reads an answer while it is streamed. */
export interface ToolCallParser {
  /** Takes the next part of the text. */
  push(chunk: string): ToolCallEvent[];
  /** Ends the text and decides about what was held back. */
  end(): ToolCallEvent[];
  /** Everything so far, in the form that `parseToolCalls` returns. */
  readonly result: ParsedText;
}

/** Parses text while it streams in. The chunk boundaries do not change the result. */
export function createToolCallParser(options: ToolCallParserOptions = {}): ToolCallParser {
  return new TextParser(options);
}

/** Parses a complete text. */
export function parseToolCalls(text: string, options: ToolCallParserOptions = {}): ParsedText {
  const parser = new TextParser(options, { streams: false });
  parser.push(text);
  parser.end();
  return parser.result;
}

const MAX_WARNINGS = 100;

export class TextParser implements ToolCallParser {
  readonly source = new Source();
  readonly result: ParsedText = { calls: [], text: "", reasoning: "", warnings: [] };
  readonly #streams: boolean;
  readonly #reading: Reading;
  #events: ToolCallEvent[] = [];
  #isTurnOver = false;
  #isDone = false;

  constructor(
    { format = "auto", tools, startsInReasoning = false, newId = nextCallId }: ToolCallParserOptions,
    { streams = true }: { streams?: boolean } = {},
  ) {
    this.#streams = streams;
    const { source } = this;
    const table = createToolTable(tools);
    const reader: CallReader = {
      source,
      tools: table,
      calls: new CallRecorder({
        source,
        emit: (event) => this.#emit(event),
        streams,
        newId,
        explain: explainMalformed(table),
      }),
      warn: (message) => this.#warn(message),
      pass: (type, text) => this.#pass(type, text),
      endTurn: () => void (this.#isTurnOver = true),
    };
    this.#reading = readText(reader, createScanPlan(format, table), startsInReasoning);
  }

  push(chunk: string): ToolCallEvent[] {
    if (this.source.ended || chunk === "") return [];
    this.source.feed(chunk);
    return this.#advance();
  }

  end(): ToolCallEvent[] {
    this.source.ended = true;
    return this.#advance();
  }

  #advance(): ToolCallEvent[] {
    if (!this.#isDone) this.#isDone = this.#reading.next().done ?? false;
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #pass(type: "text" | "reasoning" | "skipped", text: string): void {
    if (text === "") return;
    const isLate = type === "text" && this.#isTurnOver;
    if (isLate && text.trim() !== "") this.#warn("Text after the calls was dropped: wait for their results first.");
    this.#emit({ type: isLate ? "skipped" : type, text });
  }

  #emit(event: ToolCallEvent): void {
    const { result } = this;
    if (event.type === "text") result.text += event.text;
    else if (event.type === "reasoning") result.reasoning += event.text;
    else if (event.type === "call_completed" || event.type === "call_failed") {
      const { call } = event;
      result.calls.push(call);
      for (const repair of call.repairs ?? []) this.#warn(`${call.name || "a call"}: ${repair}`);
    }
    if (this.#streams && !mergeInto(this.#events.at(-1), event)) this.#events.push(event);
  }

  #warn(message: string): void {
    const { warnings } = this.result;
    if (warnings.length < MAX_WARNINGS && !warnings.includes(message)) warnings.push(message);
  }
}

/** Appends the event to the previous one if both are of the same kind. */
function mergeInto(last: ToolCallEvent | undefined, event: ToolCallEvent): boolean {
  if (last?.type === "call_arguments" && event.type === "call_arguments" && last.id === event.id) {
    last.delta += event.delta;
    return true;
  }
  if (!last || last.type !== event.type || !("text" in last) || !("text" in event)) return false;
  last.text += event.text;
  return true;
}

/** A call as a model wrote it. A call with a `failure` must not run: reply with the failure. */
export interface ParsedToolCall {
  /** Generated here and globally unique. */
  id: string;
  /** "" if no name could be read. */
  name: string;
  /** The parameters as they were written; the tool's schema converts them. */
  input: Record<string, unknown>;
  /** The original text of the call with its markers. */
  rawText: string;
  /** The format that the call was read as. */
  format: TextFormatName;
  /** The id that the model wrote. Models reuse ids in later turns. */
  modelId?: string;
  /** The repairs that were needed to read the call. */
  repairs?: string[];
  /** Why the call cannot be run. */
  failure?: ToolFailure;
}

/**
 * The parts of a text, in order. The texts of `text`, `reasoning` and `skipped` events and the `rawText` of completed and
 * failed calls together make up the whole text.
 */
export type ToolCallEvent =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** Neither of them: tags around reasoning, wrappers without a call, text after the end of the turn. */
  | { type: "skipped"; text: string }
  /** Comes once per call, with the complete name, before any argument. */
  | { type: "call_started"; id: string; index: number; name: string }
  /** JSON. The deltas of a completed call add up to its input; those of a failed call are a prefix. */
  | { type: "call_arguments"; id: string; index: number; delta: string }
  | { type: "call_completed"; id: string; index: number; call: ParsedToolCall }
  | { type: "call_failed"; id: string; index: number; call: ParsedToolCall };

/** An answer of a model, taken apart. */
export interface ParsedText {
  /** The calls in it, in order. */
  calls: ParsedToolCall[];
  /** What is left for a person. */
  text: string;
  /** What the model thought. */
  reasoning: string;
  /** For the model: every repair, and what else it should do differently next time. */
  warnings: string[];
}

/** The state of the text before a marker, as far as it affects the marker's meaning. */
interface TextPosition {
  lastCharacter: string;
  isLineBlank: boolean;
  isInFence: boolean;
}

/** Reads the whole text of a model: prose, reasoning and calls. */
function* readText(reader: CallReader, plan: ScanPlan, startsInReasoning: boolean): Reading {
  const { source } = reader;
  const position: TextPosition = { lastCharacter: "", isLineBlank: true, isInFence: false };
  const passText = (piece: string): void => {
    reader.pass("text", piece);
    source.takeMarked();
    advancePosition(position, piece);
  };
  if (startsInReasoning) yield* readReasoning(reader, plan.openReasoningEnds, plan);
  for (;;) {
    const found = yield* readUntil(source, plan.markers, passText);
    if (!found) return;
    const meaning = plan.meanings.get(found.marker);
    switch (meaning?.type) {
      case "section":
        // A shortcut for code and tables, where nearly all brackets are plain text.
        if (meaning.section.onlyAtLineStart && !position.isLineBlank) passText(source.take(found.length));
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
      case "control_token":
        skip(reader, found);
        break;
      case "fence":
        if (position.isLineBlank) position.isInFence = !position.isInFence;
        passText(source.take(found.length));
        break;
      case undefined:
        passText(source.take(found.length));
        break;
    }
  }
}

interface SectionStart {
  section: Section;
  found: FoundMarker;
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
    reader.warn("The text has too many calls: the rest was read as text. Make fewer calls at once.");
    return release();
  }
  if (section.isTextInCode && position.isInFence) return release();
  if (yield* isMention(reader, found, position)) return release();
  try {
    yield* section.read(reader, found);
  } catch (thrown) {
    if (!(thrown instanceof Malformed)) throw thrown;
    // It was tentative and turned out not to be a call.
    calls.discard();
    return release();
  }
  position.lastCharacter = "";
  position.isLineBlank = true;
}

/** `<tool_call>` between backticks mentions the marker and does not open a call. */
function* isMention({ source }: CallReader, found: FoundMarker, position: TextPosition): Reading<boolean> {
  if (position.lastCharacter !== "`") return false;
  yield* awaitLength(source, found.length + 1);
  return source.peek(1, found.length) === "`";
}

/** Reads up to the end of the reasoning. Markers of calls have no meaning in it. */
function* readReasoning(reader: CallReader, ends: MarkerSet, plan: ScanPlan): Reading {
  const { source } = reader;
  const end = yield* readUntil(source, ends, (piece) => {
    reader.pass("reasoning", piece);
    source.takeMarked();
  });
  if (!end) reader.warn("The text ended inside its reasoning: calls in reasoning are not made.");
  else if (plan.reasoningEnds.markers.includes(end.marker)) skip(reader, end);
}

function skip(reader: CallReader, found: FoundMarker): void {
  reader.source.take(found.length);
  reader.pass("skipped", reader.source.takeMarked());
}

function advancePosition(position: TextPosition, piece: string): void {
  if (piece === "") return;
  position.lastCharacter = piece.slice(-1);
  const line = piece.lastIndexOf("\n");
  const tail = line === -1 ? piece : piece.slice(line + 1);
  position.isLineBlank = (line !== -1 || position.isLineBlank) && tail.trim() === "";
}

/** The markers to search for, and their meanings. */
interface ScanPlan {
  readonly markers: MarkerSet;
  readonly meanings: ReadonlyMap<string, MarkerMeaning>;
  readonly reasoningEnds: MarkerSet;
  /** What ends reasoning that the prompt opened; in some formats also a call. */
  readonly openReasoningEnds: MarkerSet;
}

type MarkerMeaning =
  | { type: "section"; section: Section }
  | { type: "reasoning"; close: MarkerSet }
  | { type: "reasoning_end" }
  | { type: "control_token" }
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
  for (const marker of formats.flatMap((each) => each.controlTokens ?? [])) add(marker, { type: "control_token" });
  if (sections.some(({ isTextInCode }) => isTextInCode)) add("```", { type: "fence" });

  const closes = reasoning.map(([, close]) => close);
  const endsReasoning = format !== "auto" && textFormat(format).callEndsReasoning;
  return {
    markers: markerSet([...meanings.keys()]),
    meanings,
    reasoningEnds: markerSet(closes),
    openReasoningEnds: markerSet(endsReasoning ? [...closes, ...sections.flatMap(({ open }) => open)] : closes),
  };
}

/** A call as the documents' parser gives it. */
export interface XMLToolCall {
  /** Of the tool. */
  name: string;
  /** For the tool. */
  params: Record<string, unknown>;
  /** The original text of the call. */
  rawText: string;
  /** Why the call cannot be run. */
  failure?: ToolFailure;
}

/** Parses calls in the format `<tool_call><name>…</name><params>…</params></tool_call>` only. */
export const XMLToolCallParser = Object.freeze({
  parseToolCalls(text: string, options: Omit<ToolCallParserOptions, "format"> = {}): XMLToolCall[] {
    const { calls } = parseToolCalls(text, { ...options, format: "xml" });
    return calls.map(({ name, input, rawText, failure }) => ({ name, params: input, rawText, failure }));
  },
});

import { nextCallId } from "../../core/call.ts";
import type { ToolFailure } from "../../core/error.ts";
import { CallRecorder } from "./call-recorder.ts";
import { explainMalformed } from "./format-table.ts";
import { markAsText, type TextFormatName } from "../../core/text-formats.ts";
import { readText, type TextReader } from "./read-text.ts";
import { createToolTable, type ToolLike } from "./text-format.ts";
import { type Reading, Source } from "./text-source.ts";

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
const isName = (text: string): boolean => /^[\p{L}_][\p{L}\p{N}_.:-]*$/u.test(text);

/** Events that are kept until it is certain what they are. */
interface HeldEvents {
  events: ToolCallEvent[];
  warnings: string[];
  /** The number of calls before them. */
  callCount: number;
}

interface ParserSettings {
  streams?: boolean;
  readsQuotes?: boolean;
  /** The tools are not known: every name may be a tool. */
  assumesTools?: boolean;
}

export class TextParser implements ToolCallParser {
  readonly source = new Source();
  readonly result: ParsedText = { calls: [], text: "", reasoning: "", warnings: [] };
  readonly #streams: boolean;
  readonly #calls: CallRecorder;
  readonly #reading: Reading;
  #events: ToolCallEvent[] = [];
  #held: HeldEvents | undefined;
  /** The text of all events, which may turn out to be reasoning. */
  #seen = "";
  #isTurnOver = false;
  #isDone = false;

  constructor(options: ToolCallParserOptions, settings: ParserSettings = {}) {
    const { streams = true, readsQuotes = false, assumesTools = false } = settings;
    const { format = "auto", tools, startsInReasoning = false, newId = nextCallId } = options;
    this.#streams = streams;
    const { source } = this;
    const known = createToolTable(tools);
    const table = assumesTools ? { ...known, has: isName } : known;
    this.#calls = new CallRecorder({
      source,
      emit: (event) => this.#emit(event),
      streams,
      newId,
      explain: explainMalformed(table),
    });
    const reader: TextReader = {
      source,
      tools: table,
      calls: this.#calls,
      warn: (message) => this.#warn(message),
      pass: (type, text) => this.#pass(type, text),
      endTurn: () => void (this.#isTurnOver = true),
      hold: () => void (this.#held = { events: [], warnings: [], callCount: this.#calls.count }),
      release: () => this.#release(),
      drop: () => this.#drop(),
      heldCalls: () => (this.#held?.events ?? []).flatMap((event) => ("call" in event ? [event.call] : [])),
      retract: () => this.#retract(),
      lineCount: () => this.#seen.split("\n").length,
      callsIn: (text) => namesOfCalls(text, { format, tools }),
    };
    this.#reading = readText(reader, { format, startsInReasoning, readsQuotes });
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
    if (this.#held) return void this.#held.events.push(event);
    const { result } = this;
    this.#seen += textOf(event);
    if (event.type === "text") result.text += event.text;
    else if (event.type === "reasoning") result.reasoning += event.text;
    else if (event.type === "call_completed" || event.type === "call_failed") {
      const { call } = event;
      if (call.format === "xml") markAsText(call.input);
      result.calls.push(call);
      for (const repair of call.repairs ?? []) this.#warn(`${call.name || "a call"}: ${repair}`);
    }
    if (this.#streams && !mergeInto(this.#events.at(-1), event)) this.#events.push(event);
  }

  #warn(message: string): void {
    if (this.#held) return void this.#held.warnings.push(message);
    const { warnings } = this.result;
    if (warnings.length < MAX_WARNINGS && !warnings.includes(message)) warnings.push(message);
  }

  #release(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const event of held?.events ?? []) this.#emit(event);
    for (const warning of held?.warnings ?? []) this.#warn(warning);
  }

  #drop(): string {
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#calls.count = held.callCount;
    return (held?.events ?? []).map(textOf).join("");
  }

  #retract(): string {
    if (this.#seen.trim() === "") return "";
    Object.assign(this.result, { calls: [], text: "", reasoning: this.#seen });
    this.#emit({ type: "retracted" });
    return this.#seen;
  }
}

/** The events of a text in which quoted calls are calls too. */
export function readQuotedText(
  text: string,
  options: ToolCallParserOptions & Pick<ParserSettings, "assumesTools">,
): ToolCallEvent[] {
  const { assumesTools } = options;
  const parser = new TextParser({ ...options, newId: () => "" }, { readsQuotes: true, assumesTools });
  return [...parser.push(text), ...parser.end()];
}

/** The names of the tools that the text calls. */
function namesOfCalls(text: string, options: ToolCallParserOptions): string[] {
  return readQuotedText(text, options).flatMap((event) => (event.type === "call_completed" ? [event.call.name] : []));
}

/** The part of the original text that the event stands for. */
function textOf(event: ToolCallEvent): string {
  return "text" in event ? event.text : "call" in event ? event.call.rawText : "";
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
  /** Neither of them: tags around reasoning, wrappers without a call, markers without a meaning, text after the end of the turn. */
  | { type: "skipped"; text: string }
  /** All text and calls before this event were reasoning: its opening tag is in the prompt. Take them back. */
  | { type: "retracted" }
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

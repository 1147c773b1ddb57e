import { nextCallId } from "../../core/call-id.ts";
import { createCallRecorder } from "./call-recorder.ts";
import { explainMalformed } from "./explain-malformed.ts";
import { readText } from "./read-text.ts";
import { createScanPlan } from "./scan-plan.ts";
import { Source } from "./source.ts";
import type { CallReader, TextFormatName } from "./text-format.ts";
import type { ParsedText, ToolCallEvent } from "./tool-call-event.ts";
import { createToolTable, type ToolLike } from "./tool-table.ts";

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

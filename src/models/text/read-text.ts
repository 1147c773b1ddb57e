import { TEXT_FORMATS, type TextFormatName } from "../../core/text-formats.ts";
import { allSections, textFormat } from "./format-table.ts";
import { MarkdownPosition } from "./markdown-position.ts";
import type { CallReader, Section, ToolTable } from "./text-format.ts";
import type { ParsedToolCall } from "./tool-call-parser.ts";
import {
  atMarker,
  awaitLength,
  COMMENT_END,
  type FoundMarker,
  lookPastSpace,
  Malformed,
  markerSet,
  type MarkerSet,
  type Reading,
  readUntil,
} from "./text-source.ts";

/** What the reader of a whole text works with. */
export interface TextReader extends CallReader {
  /** Keeps all events until `release` or `drop`. */
  hold(): void;
  release(): void;
  /** Forgets the events and returns their text. */
  drop(): string;
  /** The calls that are held. */
  heldCalls(): readonly ParsedToolCall[];
  /** Everything so far was reasoning. Returns it, or "" if there was only white space. */
  retract(): string;
  /** The number of lines so far. */
  lineCount(): number;
  /** The names of the tools that the text would call if it were not quoted. */
  callsIn(text: string): readonly string[];
}

export interface TextReading {
  format: TextFormatName | "auto";
  startsInReasoning: boolean;
  /** Calls in quoted text are calls. For text that is known to be a quotation. */
  readsQuotes: boolean;
}

/** Reads the whole text of a model: prose, reasoning and calls. */
export function* readText(reader: TextReader, options: TextReading): Reading {
  yield* new TextReadingState(reader, options).read();
}

/** How much reasoning is kept to find out whether it contains a call. */
const MAX_KEPT_REASONING = 64 * 1024;

class TextReadingState {
  readonly #reader: TextReader;
  readonly #plan: ScanPlan;
  readonly #position = new MarkdownPosition((kind, text, unclosedSince) => {
    const line = unclosedSince === undefined ? undefined : this.#reader.lineCount() - unclosedSince;
    this.#warnOfCallsIn(text, `a ${kind}${line === undefined ? "" : ` that begins in line ${line} and is not closed`}`);
  });
  readonly #startsInReasoning: boolean;
  readonly #readsQuotes: boolean;
  #hasReasoning: boolean;
  /** Calls in reasoning that nothing has closed yet. */
  #isHolding = false;
  #isAfterCall = false;
  /** The end of the text so far, without blanks. */
  #lastText = "";
  /** How many `<s>` of HTML are open. */
  #openStrikes = 0;

  constructor(reader: TextReader, { format, startsInReasoning, readsQuotes }: TextReading) {
    this.#reader = reader;
    this.#plan = scanPlan(format, reader.tools);
    this.#startsInReasoning = startsInReasoning;
    this.#hasReasoning = startsInReasoning;
    this.#readsQuotes = readsQuotes;
  }

  *read(): Reading {
    const { source } = this.#reader;
    if (this.#startsInReasoning) yield* this.#readReasoning(this.#plan.openReasoningEnds);
    for (;;) {
      const found = yield* readUntil(source, this.#plan.markers, this.#passText);
      if (!found) return this.#end();
      const meaning = this.#plan.meanings.get(found.marker);
      // A shortcut for code and tables, where nearly all brackets are plain text.
      const isText = meaning?.type === "section" && meaning.section.onlyAtLineStart && !this.#position.isLineBlank;
      if (meaning === undefined || isText) this.#passText(source.take(found.length));
      else if (!(yield* this.#passQuoted(found, meaning))) yield* this.#readMarker(found, meaning);
    }
  }

  *#readMarker(found: FoundMarker, meaning: MarkerMeaning): Reading {
    switch (meaning.type) {
      case "section":
        return yield* this.#readSection(meaning.section, found);
      case "reasoning":
        this.#endHold();
        this.#skip(found);
        return yield* this.#readReasoning(meaning.ends);
      case "reasoning_end":
        return this.#endReasoning(found);
      case "comment":
        return yield* this.#readComment(found);
      case "end_token":
        if (yield* this.#isEndToken(found)) return this.#skip(found);
        this.#openStrikes = Math.max(0, this.#openStrikes - 1);
        return this.#passText(this.#reader.source.take(found.length));
      case "strike":
        this.#openStrikes++;
        return this.#passText(this.#reader.source.take(found.length));
      case "call_end":
        if (this.#reader.calls.isFull || (meaning.isTag && !this.#isAfterCall)) {
          return this.#passText(this.#reader.source.take(found.length));
        }
        this.#reader.warn(`${found.marker} ends no call and was left out.`);
        return this.#skip(found);
      case "control_token":
        if (yield* this.#isInSentence(found)) return this.#passText(this.#reader.source.take(found.length));
        return this.#skip(found);
    }
  }

  readonly #passText = (piece: string): void => {
    this.#reader.pass("text", piece);
    this.#reader.source.takeMarked();
    this.#position.add(piece);
    this.#isAfterCall &&= piece.trim() === "";
    this.#lastText = piece.trimEnd().at(-1) ?? this.#lastText;
  };

  #skip(found: FoundMarker): void {
    this.#reader.source.take(found.length);
    this.#reader.pass("skipped", this.#reader.source.takeMarked());
  }

  #end(): void {
    this.#endHold();
    this.#position.end();
  }

  *#readSection(section: Section, found: FoundMarker): Reading {
    const { source, calls, warn } = this.#reader;
    if (calls.isFull) {
      warn("The text has too many calls: the rest was read as text. Make fewer calls at once.");
      return this.#passText(source.take(found.length));
    }
    const isInLine = section.endsLineAfterText === true && !this.#position.isLineBlank;
    const end = this.#readsQuotes || !section.isExampleWith ? "line" : "text";
    if ((isInLine && !this.#position.mayBeginCall) || (end === "text" && this.#isInExample(section))) {
      return this.#passText(source.take(found.length));
    }
    const isHeld = isInLine || end === "text";
    if (!(yield* isHeld ? this.#readHeld(section, found, end) : this.#tryRead(section, found))) return;
    this.#position.passCall();
    this.#isAfterCall = true;
  }

  /** False if it was not a call and was passed on as text. */
  *#tryRead(section: Section, found: FoundMarker): Reading<boolean> {
    try {
      yield* section.read(this.#reader, { ...found, isAtLineStart: this.#position.isLineBlank });
      return true;
    } catch (thrown) {
      if (!(thrown instanceof Malformed)) throw thrown;
      // It was tentative and turned out not to be a call.
      this.#reader.calls.discard();
      const { source } = this.#reader;
      if (source.markedLength === 0) source.take(found.length);
      this.#passText(source.takeMarked());
      return false;
    }
  }

  /** Before it there is text, or a bracket of the data that it is a part of. */
  #isInExample({ isExampleWith }: Section): boolean {
    if (isExampleWith === "any text" && (this.#lastText !== "" || this.#isAfterCall)) return true;
    return /[[{(,=]/.test(this.#lastText);
  }

  /** Reads a call that counts only if it ends the line, or the text. It is held until that is certain. */
  *#readHeld(section: Section, found: FoundMarker, end: "line" | "text"): Reading<boolean> {
    const reader = this.#reader;
    reader.hold();
    if (!(yield* this.#tryRead(section, found))) {
      reader.release();
      return false;
    }
    // A call that is cut off with the text is reported.
    const isWhole = end === "text" || reader.heldCalls().every(({ failure }) => !failure);
    const isCall = isWhole && (yield* this.#isAtEnd(end));
    const names = new Set(reader.heldCalls().map(({ name }) => name));
    if (isCall) reader.release();
    else this.#passText(reader.drop());
    for (const name of isCall || end === "line" ? [] : names) {
      reader.warn(`The call of ${name} was not made, because text follows it. Make a call at the end of the text.`);
    }
    return isCall;
  }

  /** Only blanks and end tokens follow on the line, or in the text. Takes nothing. */
  *#isAtEnd(end: "line" | "text"): Reading<boolean> {
    const { source } = this.#reader;
    const at = yield* lookPastSpace(source, 0);
    if (source.peek(1, at) === "" || (end === "line" && source.peek(at).includes("\n"))) return true;
    const next = yield* atMarker(source, this.#plan.markers, at);
    const type = next && this.#plan.meanings.get(next.marker)?.type;
    // A bracket alone may begin other data.
    const isNextCall = end === "text" && type === "section" && (next?.length ?? 0) > 1;
    return isNextCall || type === "control_token" || type === "end_token";
  }

  /** `</s>` is also a tag of HTML. It ends the text only after a call or as the last thing of the text, without `<s>`. */
  *#isEndToken(found: FoundMarker): Reading<boolean> {
    if (this.#isAfterCall) return true;
    if (this.#openStrikes > 0) return false;
    const at = yield* lookPastSpace(this.#reader.source, found.length);
    return this.#reader.source.peek(1, at) === "" && this.#reader.source.ended;
  }

  /** Text precedes and follows the token on its line, so the text is about the token. */
  *#isInSentence(found: FoundMarker): Reading<boolean> {
    const { source } = this.#reader;
    if (this.#position.isLineBlank) return false;
    const at = yield* lookPastSpace(source, found.length);
    if (source.peek(1, at) === "" || source.peek(at).includes("\n")) return false;
    return (yield* atMarker(source, this.#plan.markers, at)) === undefined;
  }

  /** Passes the marker on as text if it is quoted, with the rest of the inline code around it. */
  *#passQuoted(found: FoundMarker, meaning: MarkerMeaning): Reading<boolean> {
    if (this.#readsQuotes) return false;
    const { source } = this.#reader;
    const position = this.#position;
    const kind = position.block;
    const isRead = kind === "code block" && (this.#plan.readsCodeBlocks || position.closeFenceHere());
    // A line after a block quote may belong to it. Only a marker shows that a call begins here.
    const isBareInQuote = position.isAfterQuote && found.length === 1;
    if ((kind && !isRead) || isBareInQuote) {
      if (meaning.type === "section") position.noteMarker();
      this.#passText(source.take(found.length));
      return true;
    }
    const length = yield* this.#inlineCodeLength(position, found, meaning);
    if (length === 0) return false;
    const text = source.take(length);
    this.#passText(text);
    if (meaning.type === "section") this.#warnOfCallsIn(text, "inline code");
    return true;
  }

  /** The length of the inline code from here on, with the closing backticks; 0 if there is none around this place. */
  *#inlineCodeLength(position: MarkdownPosition, found: FoundMarker, meaning: MarkerMeaning): Reading<number> {
    for (const run of position.openRuns()) {
      if (position.unclosed.has(run)) continue;
      const length = yield* findClosingRun(this.#reader, run, found, endsOf(meaning));
      if (length > 0) return length;
      position.unclosed.add(run);
    }
    return 0;
  }

  /** At the start of a line a comment goes on to `-->` or to the end of the text, otherwise to `-->` in its paragraph. */
  *#readComment(found: FoundMarker): Reading {
    const { source, pass } = this.#reader;
    const position = this.#position;
    let kept = "";
    const keep = (piece: string): void => {
      if (kept.length < MAX_KEPT_REASONING) kept += piece.slice(0, MAX_KEPT_REASONING - kept.length);
      pass("text", piece);
      source.takeMarked();
    };
    const isBlock = position.isLineBlank;
    if (isBlock || (!position.unclosed.has("-->") && (yield* closesInParagraph(this.#reader)))) {
      // `<!-->` and `<!--->` are complete comments.
      yield* awaitLength(source, found.length + 2);
      const isComplete = /^-?>/.exec(source.peek(2, found.length));
      keep(source.take(found.length + (isComplete?.[0].length ?? 0)));
      const end = isComplete ? undefined : yield* readUntil(source, COMMENT_END, keep);
      if (end) keep(source.take(end.length));
      position.passReasoning();
      return this.#warnOfCallsIn(kept.slice(found.length), "an HTML comment");
    }
    position.unclosed.add("-->");
    this.#passText(source.take(found.length));
  }

  /** Reads up to the end of the reasoning. Calls in it are not made, unless the format lets a call end it. */
  *#readReasoning(ends: MarkerSet): Reading {
    const reader = this.#reader;
    const { source } = reader;
    const position = new MarkdownPosition(() => {});
    this.#hasReasoning = true;
    let kept = "";
    const passReasoning = (piece: string): void => {
      reader.pass("reasoning", piece);
      source.takeMarked();
      position.add(piece);
      if (kept.length < MAX_KEPT_REASONING) kept += piece.slice(0, MAX_KEPT_REASONING - kept.length);
    };
    for (;;) {
      const found = yield* readUntil(source, ends, passReasoning);
      const meaning = found && this.#plan.meanings.get(found.marker);
      if (!found || meaning?.type !== "section") {
        if (found) this.#skip(found);
        else reader.warn("The text ended inside its reasoning: calls in reasoning are not made.");
        this.#warnOfCallsIn(kept, "reasoning");
        return this.#position.passReasoning();
      }
      const length = position.block ? found.length : yield* this.#inlineCodeLength(position, found, meaning);
      if (length > 0) passReasoning(source.take(length));
      else if (yield* this.#holdCall(meaning.section, found)) {
        this.#warnOfCallsIn(kept, "reasoning");
        return this.#position.passReasoning();
      } else passReasoning(reader.drop());
    }
  }

  /** Reads a call in reasoning and holds it until it is certain that nothing closes the reasoning. */
  *#holdCall(section: Section, found: FoundMarker): Reading<boolean> {
    this.#reader.hold();
    yield* this.#readSection(section, found);
    const calls = this.#reader.heldCalls();
    this.#isHolding = calls.length > 0 && calls.every(({ format }) => textFormat(format).callEndsReasoning);
    return this.#isHolding;
  }

  #endHold(): void {
    if (!this.#isHolding) return;
    this.#isHolding = false;
    this.#reader.warn("The reasoning was not closed before the call.");
    this.#reader.release();
  }

  #endReasoning(found: FoundMarker): void {
    const reader = this.#reader;
    if (this.#isHolding) {
      this.#isHolding = false;
      const text = reader.drop();
      reader.pass("reasoning", text);
      this.#warnOfCallsIn(text, "reasoning");
    } else if (this.#hasReasoning) reader.warn(`${found.marker} closes reasoning that was not opened in this text.`);
    else {
      const text = reader.retract();
      if (text !== "") reader.warn(`${found.marker} closes reasoning that the prompt opened: set startsInReasoning.`);
      this.#warnOfCallsIn(text, "reasoning");
    }
    this.#hasReasoning = true;
    this.#skip(found);
    this.#position.passReasoning();
  }

  #warnOfCallsIn(text: string, place: string): void {
    if (this.#readsQuotes) return;
    for (const name of new Set(this.#reader.callsIn(text))) {
      this.#reader.warn(
        `The call of ${name} in ${place} was not made. Write calls outside code, quotes, comments and reasoning.`,
      );
    }
  }
}

/** The markers after which the opening marker is certainly closed. */
function endsOf(meaning: MarkerMeaning): readonly string[] {
  if (meaning.type === "reasoning") return [meaning.close];
  return meaning.type === "section" ? [...(meaning.section.close ?? []), ...(meaning.section.closeTags ?? [])] : [];
}

/**
 * Looks for backticks that close inline code around the marker, in the same paragraph. Backticks inside a whole call do not
 * count: a stray backtick before the call and one in its arguments do not quote it. Takes nothing.
 */
function* findClosingRun(
  { source }: CallReader,
  run: number,
  found: FoundMarker,
  closes: readonly string[],
): Reading<number> {
  const stops = markerSet(["`", "\n", found.marker, ...closes]);
  let length = 0;
  let quoted = 0;
  let isLineBlank = false;
  let isClosed = closes.length === 0;
  const pass = (piece: string): void => {
    length += piece.length;
    isLineBlank &&= piece.trim() === "";
  };
  pass(source.take(found.length));
  for (;;) {
    const next = yield* readUntil(source, stops, pass);
    if (!next || (next.marker === "\n" && isLineBlank)) break;
    if (next.marker === "`") {
      let count = 0;
      while ((yield* awaitLength(source, 1)) && source.peek(1) === "`") {
        source.take(1);
        count++;
      }
      const isMention = length === found.length;
      pass("`".repeat(count));
      if (count !== run) continue;
      quoted ||= length;
      if (isClosed || isMention) return finish(length);
    } else {
      pass(source.take(next.length));
      if (next.marker === "\n") isLineBlank = true;
      else if (closes.includes(next.marker)) isClosed = true;
      else if (quoted > 0 && !isClosed) break;
    }
  }
  return finish(isClosed && closes.length > 0 ? 0 : quoted);

  function finish(result: number): number {
    source.untake();
    return result;
  }
}

/** Whether `-->` follows before a blank line. Takes nothing. */
function* closesInParagraph({ source }: CallReader): Reading<boolean> {
  const stops = markerSet([...COMMENT_END.markers, "\n"]);
  let isLineBlank = false;
  for (;;) {
    const next = yield* readUntil(source, stops, (piece) => void (isLineBlank &&= piece.trim() === ""));
    const isEnd = !next || next.marker !== "\n" || isLineBlank;
    if (next) source.take(next.length);
    if (!isEnd) {
      isLineBlank = true;
      continue;
    }
    source.untake();
    return next !== undefined && next.marker !== "\n";
  }
}

/** The markers to search for, and their meanings. */
interface ScanPlan {
  readonly markers: MarkerSet;
  readonly meanings: ReadonlyMap<string, MarkerMeaning>;
  /** What ends reasoning that the prompt opened. */
  readonly openReasoningEnds: MarkerSet;
  readonly readsCodeBlocks: boolean;
}

type MarkerMeaning =
  | { type: "section"; section: Section }
  | { type: "reasoning"; close: string; ends: MarkerSet }
  | { type: "reasoning_end" }
  | { type: "call_end"; isTag: boolean }
  | { type: "control_token" }
  | { type: "end_token" }
  | { type: "strike" }
  | { type: "comment" };

/** Pairs of markers around reasoning. Models write them in any format, also those that they know from prompts. */
const COMMON_REASONING: readonly (readonly [string, string])[] = [
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<reasoning>", "</reasoning>"],
  ["<thought>", "</thought>"],
  ["<mm:think>", "</mm:think>"],
  ["<seed:think>", "</seed:think>"],
  ["<longcat_think>", "</longcat_think>"],
];

/** Tokens that end a text in the vocabularies of many models. */
const COMMON_CONTROL_TOKENS = ["<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|role_end|>"];
const END_TOKEN = "</s>";

const MAX_CACHED_PLANS = 100;
const cachedPlans = new Map<string, ScanPlan>();

/** Only the tags that are tool names depend on the tools. */
function scanPlan(format: TextFormatName | "auto", tools: ToolTable): ScanPlan {
  const key = format === "auto" || format === "cline-xml" ? `${format}\n${tools.names.join("\n")}` : format;
  let plan = cachedPlans.get(key);
  if (!plan) {
    if (cachedPlans.size >= MAX_CACHED_PLANS) cachedPlans.clear();
    cachedPlans.set(key, (plan = createScanPlan(format, tools)));
  }
  return plan;
}

function createScanPlan(format: TextFormatName | "auto", tools: ToolTable): ScanPlan {
  const formats = (format === "auto" ? TEXT_FORMATS : [format]).map(textFormat);
  const sections = format === "auto" ? allSections(tools) : textFormat(format).sections(tools);
  const reasoning = [...COMMON_REASONING, ...formats.flatMap((each) => each.reasoning ?? [])];
  const meanings = new Map<string, MarkerMeaning>();
  const add = (marker: string, meaning: MarkerMeaning): void => {
    if (!meanings.has(marker)) meanings.set(marker, meaning);
  };
  for (const section of sections) for (const marker of section.open) add(marker, { type: "section", section });
  const callMarkers = formats
    .filter(({ callEndsReasoning }) => callEndsReasoning)
    .flatMap((each) => each.sections(tools).flatMap(({ open }) => open));
  const closes = reasoning.map(([, close]) => close);
  for (const [open, close] of reasoning) {
    add(open, { type: "reasoning", close, ends: markerSet([close, ...callMarkers]) });
  }
  for (const close of closes) add(close, { type: "reasoning_end" });
  for (const marker of [...COMMON_CONTROL_TOKENS, ...formats.flatMap((each) => each.controlTokens ?? [])]) {
    add(marker, { type: "control_token" });
  }
  // A fence that ends a call also ends other code.
  const callEnds = sections.flatMap(({ close = [], onlyAtLineStart }) => (onlyAtLineStart ? [] : close));
  for (const marker of callEnds) add(marker, { type: "call_end", isTag: false });
  for (const marker of sections.flatMap(({ closeTags = [] }) => closeTags)) {
    add(marker, { type: "call_end", isTag: true });
  }
  add(END_TOKEN, { type: "end_token" });
  add("<s>", { type: "strike" });
  add("<!--", { type: "comment" });
  return {
    markers: markerSet([...meanings.keys()]),
    meanings,
    openReasoningEnds: markerSet([...closes, ...callMarkers]),
    readsCodeBlocks: format !== "auto" && textFormat(format).readsCodeBlocks === true,
  };
}

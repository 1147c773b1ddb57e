/** What quotes text in Markdown. */
export type QuoteKind = "code block" | "inline code" | "block quote" | "HTML comment";

/** `unclosedSince`: how many lines before the end of the text the block begins, if nothing closes it. */
type QuotedCallListener = (kind: QuoteKind, text: string, unclosedSince?: number) => void;

/** Backticks that may open inline code. */
interface BacktickRun {
  length: number;
  /** A backslash before them makes the first one plain text. */
  isEscaped: boolean;
  line: number;
}

/** How much of a quoted block is kept to find out whether it contains a call. */
const MAX_KEPT = 16 * 1024;
const MAX_RUNS = 64;
/** The markers of list items at the start of a line, and the white space around them. */
const LIST_MARKERS = /^(?:\s*(?:[-*+]|\d{1,9}[.)])(?=\s))*\s*/;
const QUOTE_MARKERS = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:>[ \t]?)+/gm;
/** May become the marker of a list item. */
const MARKER_BEGINNING = /^(?:[-*+]|\d{1,9}[.)]?)$/;
/** Longer runs of backticks open no inline code here, so the number of searches for closing ones is bounded. */
const MAX_RUN_LENGTH = 8;

/**
 * The place in the Markdown structure after the text that was passed on. Rules of CommonMark, read forwards, because text
 * that was passed on cannot be taken back:
 * - A fence is three or more backticks or tildes at the start of a line. It ends at a line with at least as many, or at the
 *   end of the text.
 * - A line that starts with `>` is a block quote. Each line counts for itself.
 * - Both may follow the markers of list items.
 * - Backticks open inline code if as many follow in the same paragraph.
 */
export class MarkdownPosition {
  /** Only white space, calls and reasoning precede on this line. */
  isLineBlank = true;
  /** The previous line was a block quote, so this line may continue its paragraph. */
  isAfterQuote = false;
  /** Searches that found nothing up to the end of this paragraph: closing backticks by their number, or `-->`. */
  readonly unclosed = new Set<number | "-->">();
  readonly #onQuotedCall: QuotedCallListener;
  #line = 0;
  /** What the first character of the line begins. */
  #lineKind: "blank" | "text" | "quote" | "fence" = "blank";
  #indent = 0;
  /** The line begins with the marker of a list item. */
  #isListItem = false;
  /** The indent of the content of the list item that this line may belong to. */
  #listIndent = 0;
  /** The beginning of a line that may become the marker of a list item. */
  #pending = "";
  #fence: { character: string; length: number; line: number } | undefined;
  #fenceRun = { character: "", length: 0, isOver: false, isAlone: true, hasBacktick: false };
  #runs: BacktickRun[] = [];
  #openRun: BacktickRun | undefined;
  #lastCharacter = "";
  #lastContent = "";
  #block: { kind: QuoteKind; text: string; hasMarker: boolean } | undefined;

  constructor(onQuotedCall: QuotedCallListener) {
    this.#onQuotedCall = onQuotedCall;
  }

  add(piece: string): void {
    for (let at = 0; at < piece.length;) {
      const lineEnd = piece.indexOf("\n", at);
      this.#addToLine(piece.slice(at, lineEnd === -1 ? piece.length : lineEnd));
      if (lineEnd === -1) return;
      this.#endLine();
      at = lineEnd + 1;
    }
  }

  /** What certainly quotes the text here. */
  get block(): QuoteKind | undefined {
    return this.#fence ? "code block" : this.#lineKind === "quote" ? "block quote" : undefined;
  }

  /** After text on this line, a space precedes, and the text is no assignment, table cell or quotation. */
  get mayBeginCall(): boolean {
    return /\s/.test(this.#lastCharacter) && !/[=|"'`“‘«]/.test(this.#lastContent);
  }

  /** A call may follow the closing fence on the same line: models write special tokens without a line break. */
  closeFenceHere(): boolean {
    if (!this.#isClosingFence()) return false;
    this.#leaveBlock();
    this.#fence = undefined;
    this.passCall();
    return true;
  }

  /** A marker of a call is in the block. */
  noteMarker(): void {
    if (this.#block) this.#block.hasMarker = true;
  }

  /** The lengths of the backticks before this place that may open inline code around it, the outermost first. */
  openRuns(): number[] {
    this.#closeRun();
    // Backticks on an earlier line count only directly before this place: a stray one must not hide all calls below it.
    const isDirectlyBefore = this.isLineBlank && this.#lastContent === "`";
    return this.#runs
      .filter((run, at) => run.line === this.#line || (isDirectlyBefore && at === this.#runs.length - 1))
      .filter(({ isEscaped, length }) => !isEscaped && length <= MAX_RUN_LENGTH)
      .map(({ length }) => length);
  }

  /** A call was read. The rest of its line starts neither a fence nor a block quote. */
  passCall(): void {
    this.#leaveBlock();
    this.isLineBlank = true;
    this.#lineKind = "text";
    this.isAfterQuote = false;
    this.#endParagraph();
  }

  /** Reasoning was read. What follows is like the start of a line. */
  passReasoning(): void {
    this.passCall();
    this.#lineKind = "blank";
    this.#indent = 0;
    this.#pending = "";
  }

  /** Reports a quoted call in the block that the end of the text leaves open. */
  end(): void {
    const isClosed = !this.#fence || this.#isClosingFence();
    this.#leaveBlock(isClosed ? undefined : this.#line - (this.#fence?.line ?? 0));
  }

  #addToLine(part: string): void {
    if (part === "") return;
    this.#keep(part);
    if (this.#lineKind === "blank") this.#beginLine(part);
    else if (this.#lineKind === "fence" && !this.#fenceRun.isOver) this.#addToFenceRun(part);
    else if (this.#lineKind === "fence") this.#addAfterFenceRun(part);
    if (!this.#fence) this.#addRuns(part);
    const content = part.trimEnd();
    this.#lastCharacter = part.slice(-1);
    if (content === "") return;
    this.isLineBlank = false;
    this.#lastContent = content.slice(-1);
  }

  #beginLine(part: string): void {
    const head = this.#pending + part;
    const markers = this.#fence ? "" : (LIST_MARKERS.exec(head)?.[0].trimEnd() ?? "");
    const content = head.slice(markers.length).trimStart();
    this.#indent += head.length - content.length;
    this.#isListItem ||= markers !== "";
    if (this.#isListItem || (this.#indent === 0 && content !== "")) this.#listIndent = this.#indent;
    this.#pending = !this.#fence && MARKER_BEGINNING.test(content) ? content : "";
    if (content === "" || this.#pending !== "") return;
    const first = content.charAt(0);
    if (first === ">" && this.#indent <= this.#listIndent + 3 && !this.#fence) {
      this.#lineKind = "quote";
      this.#enterBlock("block quote", content);
      this.#endParagraph();
    } else if (first === "`" || first === "~") {
      this.#lineKind = "fence";
      this.#fenceRun = { character: first, length: 0, isOver: false, isAlone: true, hasBacktick: false };
      this.#leaveQuote();
      this.#addToFenceRun(content);
    } else this.#beginText();
  }

  #beginText(): void {
    this.#lineKind = "text";
    this.#leaveQuote();
  }

  #leaveQuote(): void {
    if (this.#block?.kind === "block quote") this.#leaveBlock();
  }

  #addToFenceRun(part: string): void {
    const run = this.#fenceRun;
    let count = 0;
    while (part.charAt(count) === run.character) count++;
    run.length += count;
    if (count === part.length) return;
    run.isOver = true;
    this.#addAfterFenceRun(part.slice(count));
  }

  #addAfterFenceRun(rest: string): void {
    const run = this.#fenceRun;
    run.isAlone &&= rest.trim() === "";
    run.hasBacktick ||= rest.includes("`");
  }

  #isClosingFence(): boolean {
    if (!this.#fence || this.#lineKind !== "fence") return false;
    const { character, length, isAlone } = this.#fenceRun;
    return character === this.#fence.character && length >= this.#fence.length && isAlone;
  }

  #endLine(): void {
    this.#keep("\n");
    this.#closeRun();
    if (this.#lineKind === "blank" && !this.isLineBlank) this.#beginText();
    if (this.#isClosingFence()) {
      this.#leaveBlock();
      this.#fence = undefined;
    } else if (!this.#fence && this.#lineKind === "fence") this.#openFence();
    this.isAfterQuote = this.#lineKind === "quote" || (this.isAfterQuote && this.#lineKind === "text");
    if (this.#lineKind === "blank" && this.isLineBlank) {
      this.isAfterQuote = false;
      this.#endParagraph();
      this.#leaveQuote();
    }
    this.#line++;
    this.#lastCharacter = "\n";
    this.#lineKind = "blank";
    this.#indent = 0;
    this.#isListItem = false;
    this.#pending = "";
    this.isLineBlank = true;
  }

  #openFence(): void {
    const { character, length, hasBacktick } = this.#fenceRun;
    // With a backtick after it, it is inline code.
    if (length < 3 || (character === "`" && hasBacktick)) return;
    this.#fence = { character, length, line: this.#line };
    this.#endParagraph();
    this.#enterBlock("code block", "");
  }

  #endParagraph(): void {
    this.#runs = [];
    this.#openRun = undefined;
    this.unclosed.clear();
    this.#lastContent = "";
  }

  #addRuns(part: string): void {
    if (this.#openRun && !part.startsWith("`")) this.#closeRun();
    for (let at = part.indexOf("`"); at !== -1;) {
      let end = at;
      while (part.charAt(end) === "`") end++;
      const before = at === 0 ? this.#lastCharacter : part.charAt(at - 1);
      this.#openRun ??= { length: 0, isEscaped: before === "\\", line: this.#line };
      this.#openRun.length += end - at;
      if (end < part.length) this.#closeRun();
      at = part.indexOf("`", end);
    }
  }

  /** The run of backticks is complete. It closes the earliest one of its length, or may open inline code. */
  #closeRun(): void {
    const run = this.#openRun;
    if (!run) return;
    this.#openRun = undefined;
    const opened = this.#runs.findIndex(({ length, isEscaped }) => length === run.length && !isEscaped);
    if (opened !== -1) this.#runs.length = opened;
    else if (this.#runs.length < MAX_RUNS) this.#runs.push(run);
  }

  #enterBlock(kind: QuoteKind, text: string): void {
    if (this.#block?.kind === kind) return;
    this.#leaveBlock();
    this.#block = { kind, text, hasMarker: false };
  }

  #leaveBlock(unclosedSince?: number): void {
    const block = this.#block;
    this.#block = undefined;
    if (!block?.hasMarker) return;
    const isQuote = block.kind === "block quote";
    this.#onQuotedCall(block.kind, isQuote ? block.text.replace(QUOTE_MARKERS, "") : block.text, unclosedSince);
  }

  #keep(text: string): void {
    const block = this.#block;
    if (block && block.text.length < MAX_KEPT) block.text += text.slice(0, MAX_KEPT - block.text.length);
  }
}

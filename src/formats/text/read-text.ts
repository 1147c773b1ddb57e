import { Malformed } from "./malformed.ts";
import type { MarkerSet } from "./marker-set.ts";
import type { ScanPlan } from "./scan-plan.ts";
import { awaitLength, type Found, type Reading, readUntil } from "./source.ts";
import type { CallReader, Section } from "./text-format.ts";

/** Where in the text we are, as far as it matters for what a marker means. */
interface TextPosition {
  last: string;
  isLineBlank: boolean;
  isInFence: boolean;
}

/** A model's whole text: prose, reasoning and calls. */
export function* readText(reader: CallReader, plan: ScanPlan, startsInReasoning: boolean): Reading {
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

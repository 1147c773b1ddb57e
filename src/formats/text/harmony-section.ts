import { cutOff, Malformed } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { readArgumentsAlone } from "./read-json-calls.ts";
import { attempt, readEnd } from "./recover.ts";
import { atMarker, type Reading, readUntil, readWithin, skipSpace, TOO_LONG } from "./source.ts";
import type { CallReader, Section } from "./text-format.ts";

const MESSAGE = "<|message|>";
const ENDS = ["<|call|>", "<|end|>", "<|return|>"];
const BEGINS = ["<|start|>", "<|channel|>"];
const CONTENT_END = markerSet([...ENDS, ...BEGINS]);

/** `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}<|call|>`; other channels are text. */
export const HARMONY_SECTION: Section = { open: BEGINS, read: readMessage };

/** The prompt ends inside of the first header: what a model writes may begin in the middle of it. */
export const HARMONY_FIRST_HEADER: Section = { open: ["to="], onLineStart: true, read: readMessage };

const MAX_HEADER_LENGTH = 400;

function* readMessage(reader: CallReader): Reading {
  const { source, calls } = reader;
  let header = "";
  const stops = markerSet([MESSAGE, ...ENDS]);
  // Nothing is open yet: what is too long for a header is text.
  const found = yield* readWithin(source, stops, (piece) => void (header += piece), MAX_HEADER_LENGTH);
  if (found === TOO_LONG) throw new Malformed("no header is as long");
  const recipient = /\bto=([^\s<]+)/.exec(header)?.[1];
  if (recipient !== undefined) {
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
  const isReasoning = /<\|channel\|>\s*analysis/.test(header);
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
  if (calls.isFull) throw new Malformed("there are too many calls in one text", "input_too_large");
  yield* skipSpace(source);
  if (yield* atMarker(source, markerSet(ENDS))) calls.finish({});
  else yield* readArgumentsAlone(reader, { ends: markerSet(ENDS), quotesUntil: CONTENT_END });
  yield* readEnd(reader, markerSet(ENDS));
}

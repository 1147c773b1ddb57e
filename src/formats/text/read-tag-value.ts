import { decodeEntities } from "./decode-entities.ts";
import { cutOff, Malformed } from "./malformed.ts";
import { markerSet, type MarkerSet } from "./marker-set.ts";
import { atMarker, type Found, lookPastSpace, type Reading, readUntil, type Source } from "./source.ts";
import type { TagShape } from "./tag-shape.ts";
import type { CallReader } from "./text-format.ts";
import { createTextValue, type TextValue } from "./text-value.ts";

export interface ValueEnds {
  /** The tag that closes the value, as it is written. */
  close: string;
  /** Whether what stands from there on, past white space, can follow a value: only then its closing tag is real. */
  follows(source: Source, at: number): Reading<boolean>;
  /** Whether a parameter begins here although this one was not closed. */
  beginsNext?(source: Source): Reading<boolean>;
  /** Heads of tags that open a parameter, open a call, and close a call. */
  parameterHeads: readonly string[];
  callHeads: readonly string[];
  callClose: string;
  /** Whether a value of one line may be closed by its call. */
  mayEndAtCall: boolean;
}

const CDATA = "<![CDATA[";
const CDATA_OPEN = markerSet([CDATA]);
const CDATA_CLOSE = markerSet(["]]>"]);
/** The value of a parameter, up to and with the tag that closes it. */
export function* readTagValue(
  reader: CallReader,
  shape: TagShape,
  ends: ValueEnds,
  stream?: (piece: string) => void,
): Reading<string> {
  if (shape.markup === "xml") return yield* readXmlValue(reader, ends, stream);
  if (shape.markup === "cdata") {
    const at = yield* lookPastSpace(reader.source, 0);
    if (yield* atMarker(reader.source, CDATA_OPEN, at)) return yield* readXmlValue(reader, ends, stream);
  }
  return yield* readRawValue(reader, ends, createTextValue(shape.trim, stream));
}

/** What stands there, as it stands there. Whole calls that a value quotes, each line by line, are part of it. */
export function* readRawValue({ source, calls }: CallReader, ends: ValueEnds, value: TextValue): Reading<string> {
  const { close, parameterHeads, callHeads, callClose } = ends;
  const stops = markerSet([close, callClose, ...parameterHeads, ...callHeads]);
  let depth = 0;
  let sawClose = false;
  for (;;) {
    const found = yield* readUntil(source, stops, value.add);
    if (!found) throw cutOff(`before ${close}`);
    const { marker } = found;
    if (callHeads.includes(marker) && value.isOnLineStart) depth++;
    else if (marker === callClose && depth > 0) depth--;
    else if (depth === 0) {
      if (!(sawClose && marker === callClose) && (yield* endsHere(source, found, ends, value))) {
        if (marker === close) source.take(found.length);
        else calls.repair(`the missing ${close} was added`);
        return value.end();
      }
      // Otherwise a value with something behind it would go on into the next call.
      if (marker === callClose && sawClose) throw new Malformed(`something stands between ${close} and ${callClose}`);
      sawClose ||= marker === close;
    }
    value.add(source.take(found.length));
  }
}

function* endsHere(source: Source, found: Found, ends: ValueEnds, value: TextValue): Reading<boolean> {
  if (found.marker === ends.close) return yield* ends.follows(source, found.length);
  if (ends.parameterHeads.includes(found.marker)) {
    return value.isOnLineStart && ends.beginsNext !== undefined && (yield* ends.beginsNext(source));
  }
  // In a value of several lines this may be quoted, and cutting it short would be worse than refusing it.
  if (found.marker !== ends.callClose || !ends.mayEndAtCall || !value.isOneLine) return false;
  return yield* ends.follows(source, found.length);
}

/** Text with entities, and CDATA, which is kept as it is. Sections of it join; only blanks between them are dropped. */
function* readXmlValue(
  { source, calls }: CallReader,
  ends: ValueEnds,
  stream?: (piece: string) => void,
): Reading<string> {
  const stops = xmlStops(ends);
  let value = "";
  let text = "";
  let hasCdata = false;
  const keep = (piece: string): void => {
    value += piece;
    stream?.(piece);
  };
  for (;;) {
    const found = yield* readUntil(source, stops, (piece) => void (text += piece));
    if (!found) throw cutOff(`before ${ends.close}`);
    if (found.marker === ends.close) {
      if (yield* ends.follows(source, found.length)) break;
      text += source.take(found.length);
    } else if (found.marker === CDATA) {
      if (text.trim() !== "") keep(decoded(hasCdata ? text : text.trimStart(), calls.repair));
      text = "";
      hasCdata = true;
      source.take(found.length);
      if (!(yield* readUntil(source, CDATA_CLOSE, keep))) throw cutOff("before ]]>");
      source.take(3);
    } else throw new Malformed(`${found.marker} may stand only inside of <![CDATA[…]]>`);
  }
  if (text.trim() !== "") keep(decoded(hasCdata ? text.trimEnd() : trimText(text), calls.repair));
  source.take(ends.close.length);
  if (value.includes("\0")) throw new Malformed("it holds a NUL character");
  if (!value.isWellFormed()) throw new Malformed("it holds half of a character");
  return value;
}

const stopsByClose = new Map<string, MarkerSet>();

function xmlStops({ close, callClose }: ValueEnds): MarkerSet {
  let stops = stopsByClose.get(close);
  if (!stops?.markers.includes(callClose)) {
    if (stopsByClose.size >= 500) stopsByClose.clear();
    stopsByClose.set(close, (stops = markerSet([close, callClose, CDATA, "<!", "<?", "]]>"])));
  }
  return stops;
}

function trimText(text: string): string {
  const value = createTextValue("outer");
  value.add(text);
  return value.end();
}

function decoded(text: string, repair: (what: string) => void): string {
  if (text.includes("<")) repair("a value with < was read although it stands outside of <![CDATA[…]]>");
  return decodeEntities(text, () => repair("a value with & was read although it stands outside of <![CDATA[…]]>"));
}

import { Malformed } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { readArgumentsAlone, readJsonCalls } from "./read-json-calls.ts";
import { readShort } from "./read-pair-call.ts";
import { attempt } from "./recover.ts";
import { atMarker, type Reading, skipSpace } from "./source.ts";
import type { CallReader, Section } from "./text-format.ts";

const OPEN = "[TOOL_CALLS]";
const ID = "[CALL_ID]";
const INPUT = "[ARGS]";
const OPENS = markerSet([OPEN]);
const MARKERS = markerSet([ID, INPUT]);

/** `[TOOL_CALLS]f[CALL_ID]id[ARGS]{…}` for each call, or once before a list of them as JSON. */
export const MISTRAL_SECTION: Section = {
  open: [OPEN],
  *read(reader, found) {
    reader.source.take(found.length);
    reader.calls.open("mistral");
    yield* attempt(reader, readBody(reader), { before: [OPEN] });
    if (reader.calls.isEmpty && !reader.calls.isFailed) {
      reader.calls.discard();
      reader.pass("skipped", reader.source.takeMarked());
    }
    reader.calls.close();
  },
};

function* readBody(reader: CallReader): Reading {
  const { source, calls } = reader;
  const code = yield* skipSpace(source);
  const isMarked = yield* atMarker(source, MARKERS);
  if ((code === OPEN_LIST || code === OPEN_OBJECT) && !isMarked) {
    return yield* readJsonCalls(reader, { format: "mistral", quotesUntil: OPENS });
  }
  const name = yield* readShort(reader, [ID, INPUT, "{", OPEN], "its name");
  if (/\s/.test(name)) throw new Malformed(`${JSON.stringify(name.slice(0, 40))} is no name of a tool`);
  calls.setName(name);
  if ((yield* atMarker(source, MARKERS))?.marker === ID) {
    source.take(ID.length);
    calls.setModelId(yield* readShort(reader, [INPUT, "{"], "its id"));
  }
  if ((yield* atMarker(source, MARKERS))?.marker === INPUT) source.take(INPUT.length);
  yield* readArgumentsAlone(reader, { quotesUntil: OPENS });
}

const OPEN_LIST = 91;
const OPEN_OBJECT = 123;

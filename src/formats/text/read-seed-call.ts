import { takePlainParameter } from "./plain-parameter.ts";
import { readTagCall, readTagRest } from "./read-tag-calls.ts";
import type { Tag } from "./read-tag.ts";
import type { Reading } from "./source.ts";
import { createTagInput } from "./tag-input.ts";
import { SEED_SHAPE } from "./tag-shapes.ts";
import type { CallReader } from "./text-format.ts";

const HEAD = /<name>\s*([^\s<>&]{1,100})\s*<\/name>\s*<params>/y;
const TAIL = /<\/params>\s*<\/tool_call>/y;

function plainTag(name: string): Tag {
  return { name, local: name, value: undefined, attributes: new Map(), isClosing: false, isEmpty: false };
}
const CALL = plainTag("tool_call");
const GROUP = plainTag("params");

/** A call behind `<tool_call>`. What has come and is written as it should be is taken in few steps, the rest step by step. */
export function* readSeedCall(reader: CallReader): Reading {
  const { source, calls } = reader;
  const head = source.match(HEAD, 0);
  if (!head) return yield* readTagCall(reader, SEED_SHAPE, CALL);
  source.take(head[0].length);
  calls.setName(head[1]!);
  const input = createTagInput(reader, SEED_SHAPE.untyped);
  do source.skipSpace();
  while (takePlainParameter(reader, input, GROUP.name));
  const tail = source.match(TAIL, 0);
  if (tail) {
    source.take(tail[0].length);
    input.finish();
  } else yield* readTagRest({ reader, shape: SEED_SHAPE, input, call: CALL, parent: GROUP });
}

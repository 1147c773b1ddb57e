/** Ids need not be guessed, only differ: between processes by the prefix, within one by the count. */
const PREFIX = `call_${Math.random().toString(36).slice(2, 10)}`;
const BLOCK = 36 ** 2;
/** Joining two strings that exist is four times faster than writing a number, and every call needs an id. */
const ENDINGS = Array.from({ length: BLOCK }, (_, i) => i.toString(36).padStart(2, "0"));
let blocks = 0;
let block = "";
let used = BLOCK;

export function nextCallId(): string {
  if (used === BLOCK) {
    block = `${PREFIX}${(blocks++).toString(36)}`;
    used = 0;
  }
  return block + ENDINGS[used++]!;
}

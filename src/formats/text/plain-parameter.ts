import type { CallReader } from "./text-format.ts";
import type { TagInput } from "./tag-input.ts";

const HEAD = /<([A-Za-z_][\w-]{0,60})>(<!\[CDATA\[)?/y;
/** What follows a value that was closed: a further parameter, or the end of their group. */
const NEXT_TAG = /\s{0,100}<(?:\/([A-Za-z_]\w{0,20})>|([A-Za-z_][\w-]{0,60})>)/y;

/**
 * The short way for a parameter that has come whole and is written as it should be, which nearly all are: several times
 * as fast as the readers, which take the same parameter the same way. Anything unusual is left to them, untouched.
 */
export function takePlainParameter({ source }: CallReader, input: TagInput, group: string): boolean {
  const head = source.match(HEAD, 0);
  if (!head) return false;
  const key = head[1]!;
  const isSection = head[2] !== undefined;
  const from = head[0].length;
  const end = source.indexOf(isSection ? "]]>" : "<", from);
  if (end === -1 || key === "__proto__" || input.has(key)) return false;
  const close = `</${key}>`;
  const closeAt = isSection ? end + 3 : end;
  if (!source.startsWith(close, closeAt)) return false;
  const next = source.match(NEXT_TAG, closeAt + close.length);
  if (!next) return false;
  const value = source.peek(end - from, from);
  if ((next[1] ?? group) !== group || value.includes("\0") || !value.isWellFormed()) return false;
  if (!isSection && /[&\n]|\]\]>/.test(value)) return false;

  source.take(closeAt + close.length);
  const parameter = input.begin(key, undefined);
  const text = isSection ? value : value.trim();
  parameter.stream?.(text);
  parameter.end(text);
  return true;
}

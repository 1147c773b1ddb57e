import { Malformed } from "./malformed.ts";

const NAMED = [
  ["lt;", "<"],
  ["gt;", ">"],
  ["amp;", "&"],
  ["quot;", '"'],
  ["apos;", "'"],
] as const;
const NUMERIC = /#(?:(\d{1,7})|x([0-9a-fA-F]{1,6}));/y;

/** XML's five entities and numeric references. No other is ever expanded: it stays as it is, and `onUnknown` is told. */
export function decodeEntities(text: string, onUnknown: () => void): string {
  let decoded = "";
  let from = 0;
  // By hand: to replace with a function costs several times as much, and code is full of references.
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1)) {
    const named = NAMED.find(([name]) => text.startsWith(name, at + 1));
    const { character, length } = named ? { character: named[1], length: named[0].length } : numeric(text, at + 1);
    if (length === 0) onUnknown();
    else {
      decoded += text.slice(from, at) + character;
      from = at + 1 + length;
    }
  }
  return from === 0 ? text : decoded + text.slice(from);
}

function numeric(text: string, at: number): { character: string; length: number } {
  NUMERIC.lastIndex = at;
  const match = NUMERIC.exec(text);
  if (!match) return { character: "", length: 0 };
  const code = match[1] === undefined ? Number.parseInt(match[2]!, 16) : Number(match[1]);
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new Malformed(`&${match[0]} is no character`);
  }
  return { character: String.fromCodePoint(code), length: match[0].length };
}

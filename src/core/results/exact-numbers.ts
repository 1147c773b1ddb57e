/** Before the digits of a number that JavaScript cannot hold. A private character, so no text begins with it. */
const MARK = "\uE000";
const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;
const MAY_BE_LONG = /[\d.]{16}|[eE]\+?\d{3}/;
/** Every number with so many digits is held exactly enough to be written as it was. */
const SAFE_DIGITS = 15;

/** As `JSON.parse`, but numbers that would change are kept as marked texts. Only `writeExactly` may write the value. */
export function parseExactly(text: string): unknown {
  // First as it is, so an error names the right position.
  const data: unknown = JSON.parse(text);
  if (!MAY_BE_LONG.test(text)) return data;
  return JSON.parse(text.replace(TOKEN, (token) => (isHeld(token) ? token : `"${MARK}${token}"`)));
}

/** JSON with the numbers as they were written. */
export function writeExactly(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(/"\uE000(-?\d[\d.eE+-]*)"/g, "$1");
}

function isHeld(token: string): boolean {
  if (token.startsWith('"')) return true;
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  const digits = token.replace(/[eE].*$/, "").replace(/^-?[0.]*|\./g, "");
  if (digits.length <= SAFE_DIGITS || String(value) === token) return true;
  return /^-?\d+$/.test(token) && !losesDigits(token);
}

/** Whether JavaScript cannot hold this whole number exactly. */
export function losesDigits(token: string): boolean {
  const value = Number(token);
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(token);
}

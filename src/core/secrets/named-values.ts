import { endOfToken, entropyOf, hasRandomPart, isPlaceholder, type Span } from "./find-secrets.ts";

/**
 * The values in a text that a name declares to be secret: `PASSWORD=…`, `"api_key": "…"`, `X-Auth-Token: …`,
 * `--token …`, `Cookie: …`. Source code has the same names before ordinary expressions; these are left alone.
 */
export function findNamedSecrets(text: string): Span[] {
  const found: Span[] = [];
  let done = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code !== EQUALS && code !== COLON && code !== DASH) || at < done) continue;
    const span: Span | undefined = code === DASH ? optionValue(text, at) : assignedValue(text, at);
    if (span === undefined) continue;
    found.push(span);
    done = span[1];
  }
  if (!/authorization|cookie|x-/i.test(text)) return found;
  HEADERS.lastIndex = 0;
  for (let match = HEADERS.exec(text); match; match = HEADERS.exec(text)) {
    const span = match.indices?.[1];
    if (span && !isPlaceholder(text.slice(...span).replace(/^\w+ /, ""))) found.push(whole(text, span));
  }
  return found;
}

/** Values are judged by their first characters. */
const MAX_VALUE = 100;

function whole(text: string, [from, to]: Span): Span {
  return to - from < MAX_VALUE ? [from, to] : [from, endOfToken(text, to)];
}

const [EQUALS, COLON, DASH] = ["=", ":", "-"].map((each) => each.charCodeAt(0));

const SCHEME = "(?:Bearer|Basic|Digest|Token|ApiKey|SSWS|Negotiate)\\s+";
/** The whole value of these headers is secret. In source code, a value without digits is an example or a name. */
const HEADERS = new RegExp(
  `(?<![\\w-])(?:(?:proxy-)?authorization|x-[a-z-]{0,20}(?:key|token)|(?:set-)?cookie)["']?\\s{0,3}[:=]\\s{0,3}["']?` +
    `(${SCHEME}[^\\s"',]{8,100}|(?=[^\\s"',]{0,60}\\d)[^\\s"',]{8,100})`,
  "dgi",
);

/** Words that mean a secret wherever they stand. */
const STRONG =
  /passw(?:or)?d|passphrase|(?<![a-z])pwd(?![a-z])|secret(?!ar)|(?<!tik)token(?!iz)|credential|api[_-]?key|access[_-]?key|private[_-]?key|(?:account|signing|encryption|master|license|service|auth|shared)[_-]?key/i;
const PASSWORD = /passw(?:or)?d|passphrase|pwd/i;
/** What is said about a secret is none: `tokenType`, `password_length`, `apiKeyName`. */
const ABOUT =
  /(?:count|types?|names?|ids?|ur[il]s?|ttl|seconds|ms|length|limit|size|expir\w*|_at|_in|paths?|files?|params?|headers?|fields?|label|policy|providers?|endpoint|index|usage|budget|message|error|class|prefix|suffix|regex|pattern|schema|kind|env|var)$/i;
/** Words that mean a secret if the value looks random. */
const WEAK = /key|auth|salt|cookie|session|signature|dsn|pat$|(?<![a-z])pass(?![a-z])|cred|pin$|otp|jwt|bearer/i;

const MAX_NAME = 80;

type Meaning = "strong" | "weak" | "none";

/** Texts have the same few names again and again. */
const meanings = new Map<string, Meaning>();
const MAX_MEANINGS = 1000;

function meaningOf(name: string): Meaning {
  const known = meanings.get(name);
  if (known) return known;
  const last = name.slice(name.lastIndexOf(".") + 1);
  const meaning = ABOUT.test(last) ? "none" : STRONG.test(last) ? "strong" : WEAK.test(last) ? "weak" : "none";
  if (meanings.size >= MAX_MEANINGS) meanings.clear();
  meanings.set(name, meaning);
  return meaning;
}

const NAME_CODES = new Uint8Array(128);
for (const each of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.$")
  NAME_CODES[each.charCodeAt(0)] = 1;

/** The name that ends before a place: letters, digits, `_`, `-`, `.`, `$`. */
function nameBefore(text: string, end: number): string {
  let start = end;
  while (start > 0 && end - start < MAX_NAME && NAME_CODES[text.charCodeAt(start - 1)] === 1) start--;
  return text.slice(start, end);
}

function assignedValue(text: string, at: number): Span | undefined {
  // Not the scheme of an address, and not `==`, `=>`, `::`, `:=`.
  if ("=>:/".includes(text[at + 1] ?? "=") || "=!<>:+".includes(text[at - 1] ?? "=")) return undefined;
  let end = at;
  while (end > at - 3 && (text[end - 1] === " " || text[end - 1] === "\t")) end--;
  const spaces = at - end;
  const quote = text[end - 1] === '"' || text[end - 1] === "'" ? (text[end - 1] ?? "") : "";
  end -= quote.length;
  const name = nameBefore(text, end);
  // Only a quoted name is one; the last word of a longer text is not.
  if (name.length < 2 || (quote !== "" && text[end - name.length - 1] !== quote)) return undefined;
  const meaning = meaningOf(name);
  if (meaning === "none") return undefined;
  const value = valueAt(text, at + 1);
  if (value === undefined) return undefined;
  const isAdjacent = spaces === 0 && value.start === at + 1;
  const form =
    quote === "" ? formWithoutQuote({ text, at, name, value, isAdjacent }) : value.quote === "" ? "code" : "data";
  return isSecretValue(value, { name, form, isStrong: meaning === "strong" })
    ? whole(text, [value.start, value.end])
    : undefined;
}

interface Place {
  text: string;
  /** Of the separator. */
  at: number;
  name: string;
  value: Value;
  isAdjacent: boolean;
}

function formWithoutQuote({ text, at, name, value, isAdjacent }: Place): Named["form"] {
  const before = text.slice(Math.max(0, at - name.length - 41), at - name.length);
  if (text[at] === "=") {
    // `f(token=x` is an argument.
    if (!isAdjacent || /[({,]\s?$/.test(before)) return "code";
    return /^(?:-|[A-Z][A-Z\d_]*$)/.test(name) || /[;?&]$/.test(before) ? "option" : "shell";
  }
  const isLine = /(?:^|\n|\\n|["'])[ \t-]{0,40}$/.test(before);
  return value.quote === "" && isLine && /^[\s\\"']?$/.test(value.next) ? "line" : "code";
}

/** Words that follow the name of an option in a sentence about it. */
const PROSE =
  /^(?:file|name|is|are|was|must|may|can|to|and|or|for|the|with|from|in|of|if|on|it|as|has|needs?|takes|requires?|option|not|that|which|when|value|[A-Z_]+)$/;

/** The next word: `--token abc`. With `=` it is an assignment. */
function optionValue(text: string, at: number): Span | undefined {
  if (at > 0 && !" \t\n\"'".includes(text[at - 1] ?? "")) return undefined;
  const [option, name = ""] = /^--?([\w-]{2,60})[ \t]+(?=[^\s-])/.exec(text.slice(at, at + 80)) ?? [];
  if (option === undefined || meaningOf(name) !== "strong") return undefined;
  const value = valueAt(text, at + option.length);
  if (value === undefined || PROSE.test(value.text)) return undefined;
  return isSecretValue(value, { name, form: "option", isStrong: true })
    ? whole(text, [value.start, value.end])
    : undefined;
}

interface Value {
  text: string;
  quote: string;
  /** Where it begins, with its quote. */
  start: number;
  from: number;
  end: number;
  /** The character after it. */
  next: string;
}

const VALUE = /[ \t]{0,5}(?:"((?:[^"\\\n]|\\.){3,300})"|'((?:[^'\\\n]|\\.){3,300})'|([^\s"'`,;&|)}\]]{3,100}))/y;

function valueAt(text: string, at: number): Value | undefined {
  VALUE.lastIndex = at;
  const match = VALUE.exec(text);
  if (!match) return undefined;
  const found = match[1] ?? match[2] ?? match[3] ?? "";
  const quote = match[3] === undefined ? '"' : "";
  const end = at + match[0].length;
  const start = end - found.length - 2 * quote.length;
  return { text: found, quote, start, from: start + quote.length, end, next: text[end] ?? "" };
}

interface Named {
  name: string;
  /** `--name=value` and `;name=value`, `NAME=value`, `"name": "value"`, a line `name: value`, or maybe source code. */
  form: "option" | "shell" | "data" | "line" | "code";
  isStrong: boolean;
}

const ORDINARY =
  /^(?:true|false|null|none|nil|undefined|yes|no|on|off|auto|required|optional|string|str|number|int|integer|boolean|bool|bytes?|object|any|unknown|void|never|text|passw(?:or)?d|token|secret|default|bearer|basic|inherit|enabled|disabled|(?:u?int|float|sha|md|base|utf|[iuf])-?\d+(?:array)?|[~^]?\d+\.\d+[\w.-]*)$/i;

/** Parts of an expression, and of an address, whose own rules look at it. */
const CODE = /[\s(){}[\]<>]|=>|::|\w\.\w+\.\w|:\/\//;

function isSecretValue({ text, quote, next }: Value, { name, form, isStrong }: Named): boolean {
  const isMixed = /\d/.test(text) && /[A-Za-z]/.test(text);
  const isRandom = isMixed && text.length >= 16 && entropyOf(text) >= 3.2 && hasRandomPart(text);
  if (!isStrong && (!isRandom || form === "code")) return false;
  if (ORDINARY.test(text) || isPlaceholder(text) || text.toLowerCase() === name.toLowerCase()) return false;
  if (form !== "data" && (CODE.test(text) || "([<".includes(next || " "))) return false;
  // A text about a secret, such as the name of a header.
  if (quote !== "" && form !== "shell" && text.length < 40 && STRONG.test(text)) return false;
  const isWord = quote === "" && /^[A-Za-z_$][\w$.?!]*$/.test(text);
  if (isRandom && !(isWord && isCamelCase(text))) return true;
  // A name of a program has parts: `token=access_token`, `token=e.token`. A word of letters may be a password.
  const isName = isWord && (/[,.?!)]/.test(next) || (!/\d/.test(text) && (/[_$.]/.test(text) || isCamelCase(text))));
  switch (form) {
    case "option":
      return !(isWord && /[$.]/.test(text));
    case "shell":
      return !isName;
    case "data":
      return !/^[A-Z][a-z]+(?: |$)|^[A-Za-z_.-]+$/.test(text) && !STRONG.test(text);
    case "line":
      return !isName && !isCamelCase(text) && (isMixed || (PASSWORD.test(name) && /^[a-z]{5,}$|[a-z][A-Z]/.test(text)));
    case "code":
      return (
        isMixed &&
        text.length >= 6 &&
        (!isWord || (!isCamelCase(text) && /[A-Z]/.test(text) && text.length > 8)) &&
        !/^[a-z]+[-_.]\w|[-_.]\d+$/.test(text)
      );
  }
}

/** Words of several letters, as in `createOAuth2Token`. In a random text, letters and digits alternate more often. */
function isCamelCase(text: string): boolean {
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  const runs = text.match(/[a-z]+|[A-Z]+|\d+|\W+|_+/g)?.length ?? 0;
  return runs / text.length < 0.45;
}

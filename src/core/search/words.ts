/**
 * "word": a stemmed word, or two characters of a script that is written without blanks;
 * "joined": two neighbouring words as one, ended as the stemmed whole would be (file_name, filename → filenam);
 * "part": a piece of a word that counts less (the letters of mp3, one character of a run);
 * "number": one or two digits. Longer ones name something.
 */
export type WordKind = "word" | "joined" | "part" | "number";

export type VisitWord = (word: string, kind: WordKind) => void;

export interface ScanOptions {
  /**
   * Join all neighbors, also across a blank, as for a query. Otherwise only identifiers of two words are joined
   * (fileName, e-mail, GitHub): longer ones would fill an index with useless compounds.
   */
  readonly joinAll?: boolean;
}

/** Lower case, without accents and compatibility forms; the same for every spelling of a letter. */
export function foldCase(text: string): string {
  return foldAccents(text).toLowerCase();
}

const Letter = {
  Unknown: 0,
  Separator: 1,
  Joiner: 2,
  Lower: 3,
  Upper: 4,
  Digit: 5,
  /** A character of a script without blanks between words. */
  Dense: 6,
} as const;
type Letter = (typeof Letter)[keyof typeof Letter];

/** Visits every word of the text. */
export function scanWords(text: string, visit: VisitWord, options?: ScanOptions): void {
  const source = beyondAscii.test(text) ? foldAccents(text) : text;
  const end = source.length;
  const joinAll = options?.joinAll === true;
  let first: Indexed | undefined;
  let last: Indexed | undefined;
  let parts = 0;
  let camel = false;
  let at = 0;
  while (at < end) {
    const letter = letterAt(source, at);
    if (letter === Letter.Joiner) {
      at++;
    } else if (letter === Letter.Separator || letter === Letter.Dense) {
      if (parts === 2 && !joinAll && first !== undefined && last !== undefined) visitJoined(first, last, camel, visit);
      parts = 0;
      if (letter === Letter.Dense) at = visitDense(source, at, visit);
      else if (joinAll && source.charCodeAt(at++) === blank) continue;
      else if (!joinAll) at++;
      last = undefined;
    } else {
      camel = at > 0 && isWordLetter(letterAt(source, at - 1));
      const start = at;
      at = wordEnd(source, start);
      const current = indexedAt(source, start, at, walkedHash);
      if (current.word !== "") visit(current.word, current.kind);
      if (current.letters !== "") visit(current.letters, "part");
      if (joinAll && last !== undefined) visitJoined(last, current, camel, visit);
      if (++parts === 1) first = current;
      last = current;
    }
  }
  if (parts === 2 && !joinAll && first !== undefined && last !== undefined) visitJoined(first, last, camel, visit);
}

const blank = 0x20;

function isWordLetter(letter: Letter): boolean {
  return letter === Letter.Lower || letter === Letter.Upper || letter === Letter.Digit;
}

/** Facts about the word that `wordEnd` has just scanned: saves a second scan. */
let walkedHash = 0;

/** Where the word that begins at start ends: at a separator or at a change of case (readFile, HTTPServer, but URLs). */
function wordEnd(source: string, start: number): number {
  const end = source.length;
  let before = letterAt(source, start);
  let onlyDigits = before === Letter.Digit;
  let hash = source.charCodeAt(start);
  let at = start + 1;
  for (; at < end; at++) {
    const code = source.charCodeAt(at);
    // Only for speed: most characters are lower-case letters after lower-case letters.
    if (before !== Letter.Lower || code < 0x61 || code > 0x7a) {
      const letter = letterAt(source, at);
      if (!isWordLetter(letter)) break;
      if (letter === Letter.Upper && before !== Letter.Upper && !onlyDigits) break;
      if (letter === Letter.Lower && before === Letter.Upper && at - start > 1 && !isPluralOfCapitals(source, at)) {
        walkedHash = hashOf(source, start, at - 1);
        return at - 1;
      }
      if (letter !== Letter.Digit) onlyDigits = false;
      before = letter;
    }
    hash = (Math.imul(hash, 31) + code) & 0x3fffffff;
  }
  walkedHash = hash;
  return at;
}

function hashOf(source: string, start: number, end: number): number {
  let hash = source.charCodeAt(start);
  for (let at = start + 1; at < end; at++) hash = (Math.imul(hash, 31) + source.charCodeAt(at)) & 0x3fffffff;
  return hash;
}

function isPluralOfCapitals(source: string, at: number): boolean {
  return source[at] === "s" && (at + 1 === source.length || letterAt(source, at + 1) !== Letter.Lower);
}

function visitJoined(left: Indexed, right: Indexed, camel: boolean, visit: VisitWord): void {
  if (left.kind === "number" || right.kind === "number" || left.raw.length + right.raw.length > 24) return;
  // A brand may contain a stop word (YouTube) and a prefix may be one letter (e-mail); a phrase with a stop word is not a compound.
  if (!camel && left.raw.length > 1 && (left.word === "" || right.word === "")) return;
  visit(left.lower + (right.word === "" ? right.lower : right.word), "joined");
}

function visitDense(source: string, start: number, visit: VisitWord): number {
  let at = start;
  let before = "";
  let alone = true;
  const flush = (): void => {
    if (before !== "") visit(before, alone ? "word" : "part");
  };
  while (at < source.length && letterAt(source, at) === Letter.Dense) {
    const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
    at += character.length;
    if (isBindingCharacter(character)) {
      flush();
      before = "";
      alone = true;
      continue;
    }
    if (before !== "") {
      visit(before, "part");
      visit(before + character, "word");
      alone = false;
    }
    before = character;
  }
  flush();
  return at;
}

interface Indexed {
  readonly raw: string;
  readonly lower: string;
  /** "" if the word is not indexed. */
  readonly word: string;
  readonly kind: WordKind;
  /** The letters before the digits of mp3 or side1, if they are a word. */
  readonly letters: string;
  /** Another word with the same hash. */
  readonly next: Indexed | undefined;
}

/** Raw words to stems, by hash: tool texts repeat few words, and a known word is not even sliced out. */
const remembered = new Map<number, Indexed>();
const rememberedLimit = 50_000;

function indexedAt(source: string, start: number, end: number, hash: number): Indexed {
  const first = remembered.get(hash);
  for (let known = first; known !== undefined; known = known.next) {
    if (isAt(source, start, end, known.raw)) return known;
  }
  const raw = source.slice(start, end);
  const lower = raw.toLowerCase();
  const letters = /^([^\d]{2,})\d/.exec(lower)?.[1] ?? "";
  const entry: Indexed = {
    raw,
    lower,
    word: significant(lower),
    kind: /^\d{1,2}$/.test(lower) ? "number" : "word",
    letters: letters === "" ? "" : significant(letters),
    next: first,
  };
  if (remembered.size >= rememberedLimit) remembered.clear();
  remembered.set(hash, entry);
  return entry;
}

/** Not with startsWith: that would take longer than the rest of a lookup. */
function isAt(source: string, start: number, end: number, raw: string): boolean {
  if (raw.length !== end - start) return false;
  for (let at = 0; at < raw.length; at++) if (raw.charCodeAt(at) !== source.charCodeAt(start + at)) return false;
  return true;
}

function significant(lower: string): string {
  const dropped = isStopWord(lower) || (lower.length === 1 && lower >= "a" && lower <= "z") || lower.length > 64;
  return dropped ? "" : stem(lower);
}

const beyondAscii = /[^\x00-\x7f]/;

const undecomposed: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: "ss",
    ø: "o",
    Ø: "O",
    ł: "l",
    Ł: "L",
    đ: "d",
    Đ: "D",
    æ: "ae",
    Æ: "AE",
    œ: "oe",
    Œ: "OE",
    ı: "i",
  }),
);

function foldAccents(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u0640\u064b-\u065f]|[\u200b-\u200d]|[\ufe00-\ufe0f]/g, "")
    .normalize("NFC")
    .replace(/[ßøØłŁđĐæÆœŒı]/g, (letter) => undecomposed.get(letter) ?? letter);
}

const letters = new Uint8Array(0x10000);

function letterAt(source: string, at: number): Letter {
  const code = source.charCodeAt(at);
  const known = letters[code] as Letter;
  if (known !== Letter.Unknown) return known;
  const surrogate = code >= 0xd800 && code <= 0xdfff;
  const point = source.codePointAt(code >= 0xdc00 && code <= 0xdfff ? at - 1 : at);
  const letter = classify(String.fromCodePoint(point ?? code));
  if (!surrogate) letters[code] = letter;
  return letter;
}

const denseScript =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]/u;

function classify(character: string): Letter {
  if (/[_.\-‐‑'’]/.test(character)) return Letter.Joiner;
  if (/[a-z]/.test(character)) return Letter.Lower;
  if (/\p{Nd}/u.test(character)) return Letter.Digit;
  if (!/[\p{L}\p{M}\p{N}]/u.test(character)) return Letter.Separator;
  // Without this check the long class below would be compiled for ASCII texts too.
  if (character > "\u007f" && denseScript.test(character)) return Letter.Dense;
  return /\p{Lu}/u.test(character) ? Letter.Upper : Letter.Lower;
}

/** English stop words, including polite phrases. Tool verbs are not stop words. */
const english =
  "a an the this that these those it its i me my mine we us our you your yours he she him her his they them their " +
  "am is are was were be been being do does did doing done have has had having will would shall should can could may " +
  "might must of in on at by for to from with into onto about as than then so if or and but not no nor also too very " +
  "just such each any some all both either neither only own same other others another more most much many few " +
  "what which who whom whose when where why how there here while because until during between among against per via " +
  "don doesn didn isn aren wasn weren won couldn wouldn shouldn hasn haven ll ve re im " +
  "please kindly thanks thank hello hi hey want wants need needs like help let lets know tell give given gives " +
  "provide provides provided additionally furthermore moreover specific specified certain various based using used " +
  "use uses able allow allows want wanted currently etc eg ie e.g i.e";

/** Characters that only bind Chinese words together; a run of Han characters is cut at them. */
const chinese = "的了吗呢吧啊呀么请我你您他她它们这那哪与或把被帮给";

const words: ReadonlySet<string> = new Set(english.split(" "));
const characters: ReadonlySet<string> = new Set(chinese);

function isStopWord(word: string): boolean {
  return words.has(word);
}

function isBindingCharacter(character: string): boolean {
  return characters.has(character);
}

/** Exceptions from the suffix rules: word=key. */
const irregular: ReadonlyMap<string, string> = new Map(
  (
    "news=news rating=rating ratings=rating ids=id ips=ip ads=ad vms=vm tvs=tv customer=customer customers=customer " +
    "conversion=convert conversions=convert sent=send bought=buy paid=pay children=child people=person persons=person " +
    "indices=index vertices=vertex matrices=matrix maths=math mathematics=math mathematical=math " +
    "geometry=geometr geometric=geometr weather=weather factorial=factorial height=height integral=integr"
  )
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);

/** suffix>replacement:letters that must remain; the first match is applied, so longer ones come first. */
const derivations: readonly { suffix: string; replacement: string; remaining: number }[] = (
  "ification>if:2 ization>:4 isation>:4 ational>:4 cription>crib:2 fulness>:3 iveness>:3 ically>:4 " +
  "ation>:4 ator>:4 ative>:4 ement>:4 ility>il:3 ical>:4 ment>:3 ness>:4 ance>:4 ence>:4 able>:4 ible>:4 ship>:5 " +
  "less>:4 ate>:4 ize>:4 ise>:4 ion>:5 ive>:4 ful>:4 ity>:4 al>:5 ic>:5 er>:5 or>:5 ly>:4"
)
  .split(" ")
  .map((rule) => {
    const [suffix = "", replacement = "", remaining = ""] = rule.split(/[>:]/);
    return { suffix, replacement, remaining: Number(remaining) };
  });

/** Maps the forms of an English word to one key: converts, converting → convert. Lower case; others stay. */
export function stem(word: string): string {
  const known = irregular.get(word);
  if (known !== undefined) return known;
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  if (word.startsWith("analy")) return "analy";
  return withoutEnding(derive(withoutInflection(singular(word))));
}

function singular(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:[xz]|[cs]h|us)es$/.test(word) && word.length > 4) return word.slice(0, -2);
  if (word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}

function withoutInflection(word: string): string {
  const ending = word.endsWith("ing") ? 3 : word.endsWith("ed") && !word.endsWith("eed") ? 2 : 0;
  if (ending === 0) return word;
  const rest = word.slice(0, -ending);
  if (rest.length < 3 || !/[aeiouy]/.test(rest)) return word;
  return /(?:at|bl|iz|is|ur|ir)$/.test(rest) ? `${rest}e` : rest;
}

const lastLetters = new Set(derivations.map(({ suffix }) => suffix.slice(-1)));

function derive(word: string): string {
  if (!lastLetters.has(word.slice(-1))) return word;
  for (const { suffix, replacement, remaining } of derivations) {
    if (word.length - suffix.length >= remaining && word.endsWith(suffix)) {
      return word.slice(0, -suffix.length) + replacement;
    }
  }
  return word;
}

function withoutEnding(word: string): string {
  let key = word;
  if (key.length > 3 && /[ey]$/.test(key)) key = key.slice(0, -1);
  const last = key.length - 1;
  if (key.length > 3 && key[last] === key[last - 1]) key = key.slice(0, -1);
  return key;
}

import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import { attempt, toolError } from "../../core/error.ts";

/**
 * "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "latin1", or a legacy encoding ("gb18030", "shift_jis", …).
 * "latin1" maps each byte to a character. It is also the fallback, because it loses nothing.
 */
export type TextEncoding = string;
export type LineEnd = "\n" | "\r\n" | "mixed";

/** The text of a file with everything that an edit must preserve. */
export interface DecodedText {
  /** Without the byte order mark. */
  text: string;
  encoding: TextEncoding;
  bom: boolean;
  /** "\n" if the file has no line ends. */
  eol: LineEnd;
  finalNewline: boolean;
  /** As in the file, including the byte order mark. */
  bytes: Buffer;
}

const BOMS: readonly { encoding: TextEncoding; bytes: readonly number[] }[] = [
  // Longer marks first: UTF-32 LE begins like UTF-16 LE.
  { encoding: "utf-32le", bytes: [0xff, 0xfe, 0x00, 0x00] },
  { encoding: "utf-32be", bytes: [0x00, 0x00, 0xfe, 0xff] },
  { encoding: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
  { encoding: "utf-16le", bytes: [0xff, 0xfe] },
  { encoding: "utf-16be", bytes: [0xfe, 0xff] },
];

export function detectBom(bytes: Uint8Array): { encoding: TextEncoding; length: number } | null {
  const bom = BOMS.find((candidate) => candidate.bytes.every((byte, index) => bytes[index] === byte));
  return bom ? { encoding: bom.encoding, length: bom.bytes.length } : null;
}

/** Lossless: `encodeText(decoded.text, decoded)` returns the same bytes. */
export function decodeText(bytes: Buffer): DecodedText {
  const bom = detectBom(bytes);
  const body = bom ? bytes.subarray(bom.length) : bytes;
  const encoding = bom?.encoding ?? detectEncoding(bytes);
  const text = decodeBytes(body, encoding);
  const exact = encoding === "utf-8" ? isUtf8(body) : encodeString(text, encoding).equals(body);
  return exact
    ? describe(text, encoding, bom !== null, bytes)
    : describe(bytes.toString("latin1"), "latin1", false, bytes);
}

/** Encodes a text like another one: same encoding and byte order mark. Line ends are not changed. */
export function encodeText(text: string, like: Pick<DecodedText, "encoding" | "bom">): Buffer {
  const body = encodeExactly(text, like.encoding);
  const bom = like.bom ? BOMS.find((candidate) => candidate.encoding === like.encoding) : undefined;
  return bom ? Buffer.concat([Buffer.from(bom.bytes), body]) : body;
}

export function convertLineEnds(text: string, eol: "\n" | "\r\n"): string {
  const plain = text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
  return eol === "\n" ? plain : plain.replaceAll("\n", "\r\n");
}

/** The likely encoding of a sample, which may be cut at both ends. */
export function detectEncoding(sample: Buffer): TextEncoding {
  if (isUtf8(sample) || isUtf8(wholeCharacters(sample))) return looksLikeUtf16(sample) ?? "utf-8";
  return looksLikeUtf16(sample) ?? detectLegacyEncoding(sample) ?? "latin1";
}

/** The part of a cut UTF-8 text that ends with a complete character. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return bytes.subarray(0, bytes.length - back);
    if (byte < 0x80) break;
  }
  return bytes;
}

export function decodeBytes(bytes: Buffer, encoding: TextEncoding): string {
  switch (encoding) {
    case "utf-8":
      return bytes.toString("utf8");
    case "latin1":
      return bytes.toString("latin1");
    case "utf-16le":
      return bytes.toString("utf16le");
    default:
      return loadIconv().decode(bytes, encoding, { stripBOM: false });
  }
}

/** One character for each, so columns stay the same. */
export function visibleNul(text: string): string {
  return text.replaceAll("\0", "␀");
}

export function encodeString(text: string, encoding: TextEncoding): Buffer {
  switch (encoding) {
    case "utf-8":
      return Buffer.from(text, "utf8");
    case "utf-16le":
      return Buffer.from(text, "utf16le");
    case "latin1":
      return Buffer.from(text, "latin1");
    default:
      return loadIconv().encode(text, encoding, { addBOM: false });
  }
}

/** Throws if the text cannot be represented in the encoding. */
function encodeExactly(text: string, encoding: TextEncoding): Buffer {
  const bytes = encodeString(text, encoding);
  const exact = encoding === "utf-8" ? text.isWellFormed() : decodeBytes(bytes, encoding) === text;
  if (!exact) throw unmappable(text, encoding);
  return bytes;
}

/** Latin text in two-byte units: every second byte is zero. Other scripts are not recognised without a mark. */
export function looksLikeUtf16(bytes: Buffer): "utf-16le" | "utf-16be" | null {
  const sample = bytes.subarray(0, 4096);
  if (sample.length < 4 || !sample.includes(0)) return null;
  let even = 0;
  let odd = 0;
  for (let index = 0; index + 1 < sample.length; index += 2) {
    if (sample[index] === 0) even += 1;
    if (sample[index + 1] === 0) odd += 1;
  }
  const units = sample.length >> 1;
  if (even === 0 && odd > units * 0.6) return "utf-16le";
  return odd === 0 && even > units * 0.6 ? "utf-16be" : null;
}

function unmappable(text: string, encoding: TextEncoding) {
  const lost = [...text].filter((character) => decodeBytes(encodeString(character, encoding), encoding) !== character);
  const shown = [...new Set(lost)].slice(0, 10).join(" ").toWellFormed();
  return toolError("bad_encoding", `The file is encoded in ${encoding}, which cannot represent: ${shown}`, {
    next: "Use other characters, or convert the whole file to UTF-8 first if the user agrees.",
    data: { encoding, characters: shown },
  });
}

function describe(text: string, encoding: TextEncoding, bom: boolean, bytes: Buffer): DecodedText {
  return { text, encoding, bom, eol: lineEndOf(text), finalNewline: text.endsWith("\n"), bytes };
}

function lineEndOf(text: string): LineEnd {
  if (!text.includes("\r\n")) return "\n";
  let crlf = false;
  for (let index = text.indexOf("\n"); index !== -1; index = text.indexOf("\n", index + 1)) {
    const isCrlf = text[index - 1] === "\r";
    if (isCrlf) crlf = true;
    else if (crlf || text.includes("\r\n", index)) return "mixed";
  }
  return "\r\n";
}

const ENCODING_SAMPLE_BYTES = 16 * 1024;

/** The common characters of each written language. The right decoding produces many of them, a wrong one few. */
const COMMON_CHARACTERS = {
  gb18030: [
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么",
    "心多天而能好都然没日于起还发成事只作当想看文无开手用主行方又如前所本见经头面公同三已从动两长知样现分将外",
    "但身些与高意进把法此实回理点明其种声全工己话者向情部正名定女问力机给等几业最间新什打便位因重被电第门相次",
    "使教平真信关并内加化由却代产入先体别处总场书比员性通目报数件表原应路期提感更反合放做系计或受光果界今务制",
    "解各任清物记边共接它特直服题建度统色字请交认算论百义科元术结功指思非流每青管连远资带快条变联权往展该领传",
    "近留治决保达办运半候必城强步完深区即求品转量空众技程告语英基满式写识极令收钱未持取设始版双历商千容研像找",
    "站改议形委早房音则首单据导影失网似专若读志观争究包组造落视离虽坏兴切测试内容配置件库符串修改注释函数你好",
    "世界",
  ].join(""),
  big5: [
    "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼",
    "心多天而能好都然沒日於起還發成事只作當想看文無開手用主行方又如前所本見經頭面公同三已從動兩長知樣現分將外",
    "但身些與高意進把法此實回理點明其種聲全工己話者向情部正名定女問力機給等幾業最間新什打便位因重被電第門相次",
    "使教平真信關並內加化由卻代產入先體別處總場書比員性通目報數件表原應路期提感更反合放做系計或受光果界今務制",
    "解各任清物記邊共接它特直服題建度統色字請交認算論百義科元術結功指思非流每青管連遠資帶快條變聯權往展該領傳",
    "近留治決保達辦運半候必城強步完深區即求品轉量空眾技程告語英基滿式寫識極令收錢未持取設始版雙歷商千容研像找",
    "站改議形委早房音則首單據導影失網似專若讀志觀爭究包組造落視離雖壞興切測試檔案繁體",
  ].join(""),
  shift_jis: [
    "日本語年月人大中小国会生学時分事者行自間後見長出方今同合部場定代業入上下前全通用新動作理性力金発表面対実",
    "現設変更文字数記号書式開始終了処関使成注意必要確認値型例追加削除取得参照説明機能実装結果",
  ].join(""),
  "euc-jp": "",
  "euc-kr": [
    "이다는의에가을를하고지은도로한사기자어나리서아그대인시해일수라정부전제보주상구들있것으니여만장면과동원공",
    "조선식안유비연성스적요회화문중내게경계관국발신음생각분할용되와없때년물말모위무오해서소트린데까르며간영마",
    "테본행설치방법우드파미립산단실진중요개변된차결호처강달재심치명현세입추재번질코바러타프를터특히체료버함값",
    "출력반환록삭수정",
  ].join(""),
};

type CjkEncoding = keyof typeof COMMON_CHARACTERS;
const CJK_ENCODINGS = ["gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"] as const satisfies readonly CjkEncoding[];

/**
 * The encoding of a text that is not Unicode, or null if none is likely. Chinese, Japanese and Korean are recognised by
 * the frequency of common characters, which works for a few words, too; all others by byte statistics.
 */
function detectLegacyEncoding(bytes: Buffer): string | null {
  const sample = bytes.subarray(0, ENCODING_SAMPLE_BYTES);
  const [cjk] = CJK_ENCODINGS.map((encoding) => ({
    encoding,
    score: scoreCjk(loadIconv().decode(sample, encoding), encoding),
  })).sort((a, b) => b.score - a.score);
  if (cjk && cjk.score > 0.5) return cjk.encoding;
  return detectSingleByte(sample);
}

/** 1 if every character beyond ASCII is common in the language, negative for noise. */
function scoreCjk(text: string, encoding: CjkEncoding): number {
  const common = COMMON_CHARACTERS[encoding === "euc-jp" ? "shift_jis" : encoding];
  let seen = 0;
  let score = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) continue;
    seen += 1;
    if (common.includes(character)) score += 1;
    else if (code >= 0x3040 && code <= 0x30ff) score += encoding === "shift_jis" || encoding === "euc-jp" ? 1 : -0.5;
    else if (code >= 0xac00 && code <= 0xd7a3) score += encoding === "euc-kr" ? 0.7 : -1;
    else if ((code >= 0x3000 && code <= 0x303f) || (code >= 0xff01 && code <= 0xff5e)) score += 0.8;
    else if (code >= 0x4e00 && code <= 0x9fff) score += encoding === "euc-kr" ? -0.3 : 0.2;
    else score -= 1;
  }
  return seen === 0 ? 0 : score / seen;
}

/** By byte statistics; windows-1252 if they are inconclusive, null for noise. */
function detectSingleByte(sample: Buffer): string | null {
  if (isNoise(sample)) return null;
  const best = loadChardet()
    .analyse(sample)
    .find(({ name, confidence }) => /^(ISO-8859|windows-|KOI8)/i.test(name) && confidence >= 10);
  // windows-1252 is ISO 8859-1 plus quotes, dashes and the euro sign.
  if (best === undefined || /^(ISO-8859-1|windows-1252)$/i.test(best.name)) return "windows-1252";
  return best.name.toLowerCase();
}

/** Text in a one-byte encoding hardly ever has control characters of the upper half. */
function isNoise(sample: Buffer): boolean {
  let upper = 0;
  let control = 0;
  for (const byte of sample) {
    if (byte >= 0x80) upper += 1;
    if (
      (byte >= 0x80 && byte < 0xa0) ||
      (byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27)
    )
      control += 1;
  }
  return control > 2 && control > upper * 0.5;
}

interface Iconv {
  decode(bytes: Buffer, encoding: string, options?: { stripBOM?: boolean }): string;
  encode(text: string, encoding: string, options?: { addBOM?: boolean }): Buffer;
}

interface Chardet {
  analyse(bytes: Uint8Array): { name: string; confidence: number }[];
}

const require = createRequire(import.meta.url);

/** The tables of iconv-lite are large and rarely needed, so it is loaded on first use, synchronously. */
export function loadIconv(): Iconv {
  const iconv: Iconv = require("iconv-lite");
  return iconv;
}

function loadChardet(): Chardet {
  const chardet: Chardet = require("chardet");
  return chardet;
}

const BINARY_SAMPLE_BYTES = 8 * 1024;

/** Whether the beginning is not text in any encoding that `decodeText` knows. */
export function isBinary(bytes: Buffer): boolean {
  const sample = bytes.subarray(0, BINARY_SAMPLE_BYTES);
  if (sample.length === 0 || detectBom(sample) !== null || looksLikeUtf16(sample) !== null) return false;
  if (sample.includes(0)) return true;
  let controls = 0;
  for (const byte of sample) if (byte < 0x20 && !(byte >= 7 && byte <= 13) && byte !== 27) controls += 1;
  if (controls > sample.length * 0.3) return true;
  return !isUtf8(sample) && !isUtf8(wholeCharacters(sample)) && detectLegacyEncoding(sample) === null;
}

/** Encodings in which bytes that look like plain text mean something else. Browsers refuse them, too. */
const REFUSED_ENCODINGS =
  /^(?:utf-?7.*|x-imap4.*|hz-gb-2312|iso-2022-(?:kr|cn|cn-ext)|scsu|bocu-1|cesu-8|utf-?32.*|.*ebcdic.*|ibm(?:037|1047)|x-user-defined|replacement)$/;
/** Labels that servers send by default. */
const DEFAULT_LABELS = /^(?:us-ascii|ascii|iso-?8859-?1|latin-?1|windows-1252)$/;

/** Decodes text with a declared encoding, unless a byte order mark or the bytes prove it wrong. */
export function decodeDeclared(bytes: Buffer, declared?: string): { text: string; encoding: TextEncoding } {
  const label =
    declared
      ?.trim()
      .replace(/^["']|["']$/g, "")
      .toLowerCase() ?? "";
  if (REFUSED_ENCODINGS.test(label)) {
    throw toolError(
      "bad_encoding",
      `The text is declared as ${label}, which is refused because it can hide its real content.`,
      {
        next: "Use another source.",
      },
    );
  }
  const bom = detectBom(bytes);
  if (bom) return { text: decodeBytes(bytes.subarray(bom.length), bom.encoding), encoding: bom.encoding };
  const isUnicode = isUtf8(bytes);
  if (isUnicode && (label === "" || label.startsWith("utf-8") || label === "utf8" || DEFAULT_LABELS.test(label))) {
    return { text: bytes.toString("utf8"), encoding: "utf-8" };
  }
  const decoder = /^utf-?8/.test(label) ? undefined : decoderFor(label);
  if (decoder) {
    const { encoding } = decoder;
    // Node 20 decodes it as ISO 8859-1, where quotes and dashes are control characters.
    const text = encoding === "windows-1252" ? decodeBytes(bytes, encoding) : decoder.decode(bytes);
    return { text, encoding };
  }
  const encoding = detectEncoding(bytes);
  return { text: decodeBytes(bytes, encoding), encoding };
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  return attempt(() => (label === "" ? undefined : new TextDecoder(label)));
}

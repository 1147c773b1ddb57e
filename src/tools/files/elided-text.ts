import { toolError } from "../../core/error.ts";

/** A placeholder line for text that the writer omitted. */
export interface Elision {
  /** From 1, in the text that was searched. */
  line: number;
  /** The unchanged line. */
  text: string;
  /** The line without comment signs and brackets. */
  phrase: string;
}

/** A line without its comment signs and brackets. */
interface UnwrappedLine {
  phrase: string;
  commented: boolean;
  bracketed: boolean;
}

const MAX_PLACEHOLDER_LENGTH = 120;

const OPENERS = /^(?:\{\s*\/\*+|\/\*+|<!--|\/{2,}|#(?!#)|--|;+|%+)\s*/;
const CLOSERS = /\s*(?:\*\/\s*\}|\*+\/|-->)$/;
const BRACKETS = /^[(（[【](.*)[)）\]】]$/;
const DOTS = "(?:\\.{3,}|…+|⋯+)";
const HAS_DOTS = new RegExp(DOTS);
const ALL_DOTS = new RegExp(DOTS, "g");
const ONLY_DOTS = new RegExp(`^${DOTS}$`);
const DOTS_FIRST = new RegExp(`^${DOTS}`);
const DOTS_AROUND = new RegExp(`^${DOTS}.*[^.…⋯].*${DOTS}$`);
/** Spread syntax is code, not a placeholder: `...props`, `...options.headers,`. */
const SPREAD = /^\.{3}[\w$.]+[,;]?$/;

const WHAT =
  "(?:code|contents?|file|methods?|functions?|class(?:es)?|implementations?|logic|imports?|lines?|body|tests?|cases?|" +
  "fields?|propert(?:y|ies)|styles?|rules?|sections?|script|text|components?|definitions?|props|config(?:uration)?|" +
  "document|page|template|module|program|parts?|items?|entries|elements?|routes?|handlers?|variables?|types?|options|values)";
const SAME =
  "(?:(?:is|are|stays?|remains?|kept|keeps?) )*" +
  "(?:unchanged|unmodified|the same|same|as before|as is|as-is|as above|here|omitted|intact|goes here|go here)(?: for brevity)?";
const OF = "(?: of(?: (?:the|your|this|our))?)";
const SCOPE = "(?:(?:the|your|this|existing|original|other|previous|remaining|class|function|file|component|module) )*";
const LEAD = "(?:(?:and|keep|with|include) )?(?:all )?(?:the |your )?";

const CHINESE_WHAT = "(?:代码|程式碼|内容|內容|部分|方法|函数|函數|逻辑|邏輯|实现|實現|文件|配置|样式|导入|测试|行|类)";
const CHINESE_OTHER =
  "(?:其余|其餘|剩余|剩餘|其他|其它|余下|后续|後續|原有|原来|现有|現有|已有|之前|此前|前面|后面|以上|以下|上面|下面|中间)";
const CHINESE_SAME = "(?:均|都|全部)?(?:保持|维持|維持)?(?:不变|不變|原样|相同|一致|同上|省略|略)";

/** Phrases that are placeholders in any comment. */
const ANYWHERE = [
  `(?:the )?(?:rest|remainder)(?:${OF} ${SCOPE}${WHAT})? ${SAME}`,
  `(?:the )?(?:existing|remaining|original|previous|other) ${SCOPE}${WHAT} ${SAME}`,
  `(?:existing|unchanged|unmodified|omitted) ${SCOPE}code`,
  `${WHAT} (?:is |are )?omitted(?: for brevity)?`,
  "omitted for brevity",
  `(?:保留|保持)?${CHINESE_OTHER}的?(?:所有)?${CHINESE_WHAT}*${CHINESE_SAME}`,
  `(?:此处|此處|这里|這裡|中间|以下|以上|${CHINESE_WHAT})*(?:已|均)?(?:省略|从略|略去)(?:${CHINESE_OTHER}?的?${CHINESE_WHAT}*)?`,
  `(?:此处|此處|这里|這裡|中间|${CHINESE_WHAT})+(?:保持)?(?:不变|不變)`,
  "(?:中略|後略|前略)",
  "既存の(?:コード|実装|処理)(?:は省略)?",
].map(whole);

/** Phrases that are placeholders only with dots or in brackets; otherwise they are ordinary comments. */
const WITH_DOTS_OR_BRACKETS = [
  "(?:unchanged|unmodified|omitted|truncated|no changes?)(?: (?:here|for brevity))?",
  "(?:remains? |is |are )?(?:same as (?:before|above)|unchanged|the same)",
  "(?:不变|不變|同上|保持不变|略)",
].map(whole);

const WITH_DOTS = [
  `${LEAD}(?:rest|remainder)(?:${OF}(?: ${SCOPE}\\w+)?)?(?: ${SAME})?`,
  `${LEAD}(?:existing|unchanged|remaining|unmodified|omitted)(?: ${SCOPE}${WHAT})?(?: ${SAME})?`,
  `(?:保留|保持)?${CHINESE_OTHER}的?(?:所有)?${CHINESE_WHAT}*`,
].map(whole);

const AFTER_DOTS = [
  `${LEAD}(?:other|more|previous|original|same|additional) ${SCOPE}${WHAT}(?: ${SAME})?`,
  `(?:your )?${WHAT}(?: (?:here|omitted))?`,
].map(whole);

/** Placeholder lines of `newText` that are not in `oldText`. */
export function findElisions(newText: string, oldText = ""): Elision[] {
  const found = elisionsOf(newText);
  if (found.length === 0) return found;
  const known = new Set(elisionsOf(oldText).map((elision) => elision.phrase));
  return found.filter((elision) => !known.has(elision.phrase));
}

/** Throws if the new text contains a placeholder for omitted text. `name` is for the message. */
export function refuseElisions(newText: string, oldText: string, name: string): void {
  const [first] = findElisions(newText, oldText);
  if (first === undefined) return;
  throw toolError("elided", `Line ${first.line} of ${name} is a placeholder for omitted text: "${first.text.trim()}"`, {
    next: "Nothing was changed. Write the full text, or leave that part out of the edit to keep it unchanged.",
    data: { line: first.line, phrase: first.phrase },
  });
}

function elisionsOf(text: string): Elision[] {
  return text.split(/\r\n|\n|\r/).flatMap((line, index) => {
    const unwrapped = unwrap(line.trim());
    return unwrapped && isElision(unwrapped) ? [{ line: index + 1, text: line, phrase: unwrapped.phrase }] : [];
  });
}

function isElision({ phrase, commented, bracketed }: UnwrappedLine): boolean {
  if (SPREAD.test(phrase)) return false;
  if (ONLY_DOTS.test(phrase)) return commented;
  const words = phrase
    .replace(ALL_DOTS, " ")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[.!:;,。！：]+$/, "");
  const dotted = HAS_DOTS.test(phrase);
  return (
    matchesOneOf(ANYWHERE, words) ||
    ((dotted || bracketed) && matchesOneOf(WITH_DOTS_OR_BRACKETS, words)) ||
    (dotted && matchesOneOf(WITH_DOTS, words)) ||
    (DOTS_FIRST.test(phrase) && matchesOneOf(AFTER_DOTS, words))
  );
}

/** Removes comment signs and brackets; undefined if the line has neither and no dots around it. */
function unwrap(trimmed: string): UnwrappedLine | undefined {
  if (trimmed === "" || trimmed.length > MAX_PLACEHOLDER_LENGTH) return undefined;
  const bare = trimmed.replace(OPENERS, "").replace(CLOSERS, "").trim();
  const inner = BRACKETS.exec(bare)?.[1]?.trim();
  const content = inner ?? bare;
  const commented = bare !== trimmed;
  const bracketed = inner !== undefined;
  if (!commented && !bracketed && !DOTS_AROUND.test(content)) return undefined;
  return { phrase: content.toLowerCase().replace(/\s+/g, " "), commented, bracketed };
}

function matchesOneOf(patterns: readonly RegExp[], words: string): boolean {
  return patterns.some((pattern) => pattern.test(words));
}

function whole(source: string): RegExp {
  return new RegExp(`^(?:${source})$`);
}

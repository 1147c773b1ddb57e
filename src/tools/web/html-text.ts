/** Elements whose content is not text. */
const HIDDEN_ELEMENTS = ["script", "style", "noscript", "template", "svg"];
const BREAKING = /^<\/?(?:p|div|br|li|ul|ol|tr|table|h[1-6]|section|article|header|footer|pre|blockquote|dt|dd)\b/i;
const ENTITIES: ReadonlyMap<string, string> = new Map(
  (
    "amp:& lt:< gt:> quot:\" apos:' copy:© reg:® trade:™ hellip:… mdash:— ndash:– lsquo:‘ rsquo:’ ldquo:“ rdquo:” sbquo:‚ bdquo:„ " +
    "laquo:« raquo:» lsaquo:‹ rsaquo:› bull:• middot:· sect:§ para:¶ deg:° plusmn:± times:× divide:÷ frac12:½ frac14:¼ frac34:¾ " +
    "euro:€ pound:£ yen:¥ cent:¢ larr:← rarr:→ uarr:↑ darr:↓ harr:↔ le:≤ ge:≥ ne:≠ asymp:≈ infin:∞ minus:− sup2:² sup3:³ micro:µ " +
    "auml:ä ouml:ö uuml:ü Auml:Ä Ouml:Ö Uuml:Ü szlig:ß eacute:é egrave:è ecirc:ê agrave:à acirc:â ccedil:ç ntilde:ñ oacute:ó " +
    "iacute:í uacute:ú aacute:á aring:å oslash:ø aelig:æ check:✓ hearts:♥ star:☆ iexcl:¡ iquest:¿ ordm:º ordf:ª"
  )
    .split(" ")
    .map((pair) => [pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1)] as const),
)
  .set("nbsp", " ")
  .set("shy", "");
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,7}));/gi;

/** Decodes numeric references and the named ones that pages use most. Others stay as they are. */
export function decodeEntities(text: string): string {
  return text.includes("&") ? text.replace(ENTITY, decodeEntity) : text;
}

/** The text of a page that is too large or too broken to convert. Always takes linear time. */
export function stripMarkup(html: string): string {
  const parts: string[] = [];
  // A closing tag that was not found once is not searched again.
  const missing = new Set<string>();
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open === -1) break;
    parts.push(html.slice(at, open));
    if (!/[a-z/!?]/i.test(html[open + 1] ?? "")) {
      parts.push("<");
      at = open + 1;
      continue;
    }
    const close = html.indexOf(">", open);
    if (close === -1) {
      at = html.length;
      break;
    }
    const tag = html.slice(open, Math.min(close + 1, open + 40));
    at = afterHidden(html, tag, close + 1, missing);
    parts.push(BREAKING.test(tag) ? "\n" : "");
  }
  parts.push(html.slice(at));
  return decodeEntities(parts.join(""))
    .replace(/[ \t\f\r]+/g, " ")
    .replace(/ ?\n[ \n]*/g, "\n")
    .trim();
}

function afterHidden(html: string, tag: string, after: number, missing: Set<string>): number {
  const name = tag.startsWith("<!--")
    ? "--"
    : HIDDEN_ELEMENTS.find((each) => new RegExp(`^<${each}\\b`, "i").test(tag));
  if (name === undefined || missing.has(name)) return after;
  if (name === "--") {
    const end = html.indexOf("-->", after - tag.length);
    if (end === -1) missing.add(name);
    return end === -1 ? after : end + 3;
  }
  const closing = new RegExp(`</${name}\\b[^>]{0,1000}>`, "gi");
  closing.lastIndex = after;
  if (closing.exec(html)) return closing.lastIndex;
  missing.add(name);
  return after;
}

function decodeEntity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return ENTITIES.get(name) ?? ENTITIES.get(name.toLowerCase()) ?? whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
}

const MAX_DEPTH = 1000;
/** Elements without a closing tag, or that old pages do not close. */
const NOT_COUNTED =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|dt|dd|tr|td|th|tbody|thead|tfoot|option|colgroup|font)$/;

/** Whether markup is nested too deeply: converters use recursion, or take quadratic time. */
export function nestsDeeply(html: string): boolean {
  let depth = 0;
  for (const [, slash, name = ""] of html.matchAll(/<(\/?)([a-z][a-z0-9-]{0,30})(?=[\s/>])/gi)) {
    if (NOT_COUNTED.test(name.toLowerCase())) continue;
    depth = slash ? Math.max(0, depth - 1) : depth + 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

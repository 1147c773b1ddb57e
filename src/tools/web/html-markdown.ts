import type { ConvertedPage } from "./page-converter.ts";
import { decodeEntities } from "./html-text.ts";

/** Converts the main part of a page to Markdown: headings, lists, links, code, quotes and tables. Takes linear time. */
export function htmlToMarkdown(html: string, url: string): ConvertedPage {
  const { root, facts } = parse(html);
  const fact = (...names: string[]): string => names.map((name) => facts.get(name)).find(Boolean) ?? "";
  return {
    content: renderBlocks(mainOf(root), { url, indent: "" }),
    title: fact("og:title", "title"),
    author: fact("author", "article:author"),
    published: fact("article:published_time", "date"),
    site: fact("og:site_name"),
  };
}

interface Element {
  readonly name: string;
  readonly attributes: string;
  readonly children: Node[];
  /** Characters of visible text inside. */
  length: number;
}
type Node = Element | string;

const VOID = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
/** Their content has no elements, or none for a reader. */
const RAW = new Set("title script style noscript template svg iframe object select textarea math canvas".split(" "));
const NAVIGATION = new Set("nav header footer aside form button menu dialog".split(" "));
const BLOCKS = new Set(
  (
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form " +
    "h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul"
  ).split(" "),
);
/** An opening tag closes an open one of these, up to the parent in which it may be. */
const IMPLIED_ENDS: Readonly<Record<string, { closes: readonly string[]; within: readonly string[] }>> = {
  li: { closes: ["li"], within: ["ul", "ol", "menu"] },
  dt: { closes: ["dt", "dd"], within: ["dl"] },
  dd: { closes: ["dt", "dd"], within: ["dl"] },
  tr: { closes: ["tr", "td", "th"], within: ["table"] },
  td: { closes: ["td", "th"], within: ["tr", "table"] },
  th: { closes: ["td", "th"], within: ["tr", "table"] },
};

/** Deeper elements are read as a part of their parent: what follows is recursive. */
const MAX_DEPTH = 256;

/** The elements of a page, and what its head says: the title and the values of its meta tags. */
function parse(html: string): { root: Element; facts: Map<string, string> } {
  const root: Element = { name: "", attributes: "", children: [], length: 0 };
  const open: Element[] = [root];
  const facts = new Map<string, string>();
  const here = (): Element => open[open.length - 1] ?? root;
  const close = (): void => {
    const closed = open.pop();
    if (closed && !isHidden(closed)) here().length += closed.length;
  };
  for (const token of tokensOf(html)) {
    if (typeof token === "string") {
      const text = decodeEntities(token);
      here().children.push(text);
      here().length += text.trim().length;
      continue;
    }
    const { name, attributes, isClosing, raw } = token;
    if (isClosing) {
      const at = open.findLastIndex((element) => element.name === name);
      while (at > 0 && open.length > at) close();
      continue;
    }
    if (name === "meta") readMeta(attributes, facts);
    if (name === "title" && raw !== undefined && !facts.has(name)) facts.set(name, oneLine(decodeEntities(raw)));
    if (raw !== undefined || RAW.has(name)) continue;
    endImplied(name, open, close);
    const element: Element = { name, attributes, children: [], length: 0 };
    here().children.push(element);
    if (!VOID.has(name) && !attributes.endsWith("/") && open.length < MAX_DEPTH) open.push(element);
  }
  while (open.length > 1) close();
  return { root, facts };
}

interface Tag {
  name: string;
  attributes: string;
  isClosing: boolean;
  /** The content of an element that has no elements inside. */
  raw?: string;
}

const TAG_NAME = /<(\/?)([a-z][^\s/>]{0,40})/iy;
const QUOTE_OR_END = /[>"']/g;

/** Text and tags in order, without comments. What was not found once is not searched again, so it takes linear time. */
function* tokensOf(html: string): Generator<string | Tag> {
  const missing = new Set<string>();
  const find = (text: string, from: number): number => {
    const at = missing.has(text) ? -1 : html.indexOf(text, from);
    if (at === -1) missing.add(text);
    return at;
  };
  /** The end of the tag. A `>` inside a quoted value is none; if that leaves no end, quotation marks mean nothing. */
  const tagEnd = (start: number): number => {
    if (missing.has("a quoted end")) return find(">", start);
    QUOTE_OR_END.lastIndex = start;
    for (let found = QUOTE_OR_END.exec(html); found; found = QUOTE_OR_END.exec(html)) {
      const [mark] = found;
      if (mark === ">") return found.index;
      const closing = /=\s?$/.test(html.slice(found.index - 2, found.index)) ? find(mark, found.index + 1) : -1;
      if (closing !== -1) QUOTE_OR_END.lastIndex = closing + 1;
    }
    missing.add("a quoted end");
    return find(">", start);
  };
  let from = 0;
  for (let at = find("<", 0); at !== -1; at = find("<", at)) {
    TAG_NAME.lastIndex = at;
    const [head = "", slash, written = ""] = TAG_NAME.exec(html) ?? [];
    const isComment = html.startsWith("<!--", at);
    const isMarkup = head !== "" || /[!?]/.test(html[at + 1] ?? "");
    const end = isComment ? find("-->", at + 4) : isMarkup ? tagEnd(at + 1) : -1;
    if (end === -1) {
      at++;
      continue;
    }
    if (at > from) yield html.slice(from, at);
    const attributes = html.slice(at + head.length, end);
    at = from = end + (isComment ? 3 : 1);
    if (head === "") continue;
    const name = written.toLowerCase();
    const tag: Tag = { name, attributes, isClosing: slash === "/" };
    const after = !tag.isClosing && RAW.has(name) ? closingTag(html, name, from, missing) : undefined;
    if (after) {
      tag.raw = html.slice(from, after.start);
      at = from = after.end;
    }
    yield tag;
  }
  if (from < html.length) yield html.slice(from);
}

function closingTag(
  html: string,
  name: string,
  from: number,
  missing: Set<string>,
): { start: number; end: number } | undefined {
  if (missing.has(`</${name}`)) return undefined;
  const pattern = new RegExp(`</${name}\\b[^>]{0,1000}>`, "gi");
  pattern.lastIndex = from;
  const found = pattern.exec(html);
  if (found) return { start: found.index, end: pattern.lastIndex };
  missing.add(`</${name}`);
  return undefined;
}

function endImplied(name: string, open: readonly Element[], close: () => void): void {
  if (BLOCKS.has(name) && open[open.length - 1]?.name === "p") return close();
  const rule = IMPLIED_ENDS[name];
  if (!rule) return;
  for (let depth = open.length - 1; depth > 0; depth--) {
    const at = open[depth]?.name ?? "";
    if (rule.within.includes(at)) return;
    if (!rule.closes.includes(at)) continue;
    while (open.length > depth) close();
  }
}

function readMeta(attributes: string, facts: Map<string, string>): void {
  const name = (attributeOf(attributes, "property") ?? attributeOf(attributes, "name"))?.toLowerCase();
  const content = attributeOf(attributes, "content");
  if (name && content && !facts.has(name)) facts.set(name, oneLine(content));
}

function attributeOf(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(attributes);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decodeEntities(value);
}

function isHidden({ attributes }: Element): boolean {
  if (attributes === "") return false;
  return /(?:^|\s)hidden(?:[\s=]|$)|aria-hidden\s*=\s*["']?true|display\s*:\s*none/i.test(attributes);
}

/** Shorter articles are teasers of a list. */
const MIN_SHARE = 0.3;

/** The nodes of the main element or the longest article; else the whole page without its navigation. */
function mainOf(root: Element): Node[] {
  let best: Element | undefined;
  const visit = (element: Element): void => {
    const isMain = element.name === "main" || attributeOf(element.attributes, "role") === "main";
    if ((isMain || element.name === "article") && element.length > (best?.length ?? 0)) best = element;
    for (const child of element.children) if (typeof child !== "string" && !isHidden(child)) visit(child);
  };
  visit(root);
  if (best && best.length >= root.length * MIN_SHARE) return best.children;
  return withoutNavigation(root).children;
}

function withoutNavigation(element: Element): Element {
  const kept = element.children.filter((child) => typeof child === "string" || !NAVIGATION.has(child.name));
  return {
    ...element,
    children: kept.map((child) => (typeof child === "string" ? child : withoutNavigation(child))),
  };
}

interface Place {
  /** Relative addresses are resolved against it. */
  readonly url: string;
  /** Of the lines inside a list item. */
  readonly indent: string;
}

/** Nodes as paragraphs, separated by empty lines. */
function renderBlocks(nodes: readonly Node[], place: Place): string {
  const blocks: string[] = [];
  let inline: Node[] = [];
  const flush = (): void => {
    const text = renderInline(inline, place).trim();
    if (text !== "") blocks.push(text);
    inline = [];
  };
  for (const node of nodes) {
    if (typeof node !== "string" && isHidden(node)) continue;
    if (typeof node === "string" || !hasBlocks(node)) {
      inline.push(node);
      continue;
    }
    flush();
    const block = renderBlock(node, place);
    if (block.trim() !== "") blocks.push(block);
  }
  flush();
  return blocks.join("\n\n");
}

/** Inline elements are often wrapped around blocks, for example a link around a card. */
const withBlocks = new WeakMap<Element, boolean>();
function hasBlocks(element: Element): boolean {
  if (BLOCKS.has(element.name)) return true;
  let known = withBlocks.get(element);
  if (known === undefined) {
    known = element.children.some((child) => typeof child !== "string" && hasBlocks(child));
    withBlocks.set(element, known);
  }
  return known;
}

function renderBlock(element: Element, place: Place): string {
  const { name, children } = element;
  const level = /^h([1-6])$/.exec(name)?.[1];
  if (level) return prefixed(`${"#".repeat(Number(level))} `, oneLine(renderInline(children, place)));
  switch (name) {
    case "hr":
      return "---";
    case "pre":
      return renderCode(element);
    case "blockquote":
      return renderBlocks(children, place).replace(/^/gm, "> ").replace(/^> $/gm, ">");
    case "ul":
    case "ol":
      return renderList(element, place);
    case "dt":
      return prefixed("**", oneLine(renderInline(children, place)), "**");
    case "table":
      return renderTable(element, place);
    default:
      return renderBlocks(children, place);
  }
}

function renderList({ name, attributes, children }: Element, place: Place): string {
  let number = Number(attributeOf(attributes, "start") ?? 1) || 1;
  const items: string[] = [];
  for (const child of children) {
    if (typeof child === "string" || isHidden(child)) continue;
    const mark = name === "ol" ? `${number++}. ` : "- ";
    const text = renderBlocks(child.name === "li" ? child.children : [child], place);
    const lines = text.replace(/\n\n(?=\s*(?:- |\d+\. ))/g, "\n").split("\n");
    if (text !== "") items.push(mark + lines.map((line, i) => (i > 0 && line ? `  ${line}` : line)).join("\n"));
  }
  return items.join("\n");
}

function renderCode(element: Element): string {
  const inside = element.children.find((child) => typeof child !== "string" && child.name === "code");
  const classes = [element, inside].map((each) =>
    each && typeof each !== "string" ? (attributeOf(each.attributes, "class") ?? "") : "",
  );
  const language = /\b(?:language|lang|highlight-source)-([\w+#-]+)/.exec(classes.join(" "))?.[1] ?? "";
  const code = textOf(element).replace(/^\n|\s+$/g, "");
  const fence = "`".repeat(Math.max(3, ...[...code.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${fence}${language}\n${code}\n${fence}`;
}

function textOf({ children }: Element): string {
  return children
    .map((child) => (typeof child === "string" ? child : child.name === "br" ? "\n" : textOf(child)))
    .join("");
}

/** A table with one column is layout. The first row is the header, because Markdown has no table without one. */
function renderTable(table: Element, place: Place): string {
  const rows = rowsOf(table);
  const columns = Math.max(0, ...rows.map((row) => row.length));
  if (columns < 2)
    return renderBlocks(
      rows.flat().flatMap((cell) => cell?.children ?? []),
      place,
    );
  const caption = table.children.find((child) => typeof child !== "string" && child.name === "caption");
  const lines = rows.map((row) => {
    const cells = Array.from({ length: columns }, (_, i) => oneLine(renderInline(row[i]?.children ?? [], place)));
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  lines.splice(1, 0, `|${" --- |".repeat(columns)}`);
  const title = caption && typeof caption !== "string" ? oneLine(renderInline(caption.children, place)) : "";
  return title === "" ? lines.join("\n") : `${title}\n\n${lines.join("\n")}`;
}

const MAX_SPAN = 20;
const MAX_COLUMNS = 200;

/** The cells of each row; undefined for the further columns of a wide cell. */
function rowsOf(table: Element): (Element | undefined)[][] {
  const rows: (Element | undefined)[][] = [];
  for (const child of table.children) {
    if (typeof child === "string" || isHidden(child)) continue;
    if (child.name === "tbody" || child.name === "thead" || child.name === "tfoot") rows.push(...rowsOf(child));
    if (child.name !== "tr") continue;
    const row = child.children.flatMap((cell): (Element | undefined)[] => {
      if (typeof cell === "string" || (cell.name !== "td" && cell.name !== "th")) return [];
      const span = Number(attributeOf(cell.attributes, "colspan") ?? 1) || 1;
      return [cell, ...new Array<undefined>(Math.min(Math.max(span, 1), MAX_SPAN) - 1)];
    });
    if (row.length > 0) rows.push(row.slice(0, MAX_COLUMNS));
  }
  return rows;
}

/** Nodes as running text. White space is collapsed, except at line breaks. */
function renderInline(nodes: readonly Node[], place: Place): string {
  return joinInline(nodes, place)
    .replace(/[ \t\r\n\f]+/g, " ")
    .replace(/ ?\u2028 ?/g, "\n")
    .replace(/ {2,}/g, " ");
}

function joinInline(nodes: readonly Node[], place: Place): string {
  let text = "";
  for (const node of nodes) text += typeof node === "string" ? node : renderElement(node, place);
  return text;
}

/** Stands for a line break until white space is collapsed. */
const LINE_BREAK = "\u2028";

const MARKED = new Set(["a", "b", "strong", "i", "em", "del", "s"]);

function renderElement(element: Element, place: Place): string {
  const { name, attributes, children } = element;
  if (isHidden(element)) return "";
  if (name === "br") return LINE_BREAK;
  if (name === "img") return renderImage(attributes, place);
  if (name === "code" || name === "kbd" || name === "samp") return prefixed("`", oneLine(textOf(element)), "`");
  const inside = joinInline(children, place);
  // Blocks inside running text, such as paragraphs in a table cell, stay separate words.
  if (!MARKED.has(name)) return BLOCKS.has(name) ? ` ${inside} ` : inside;
  const text = inside.trim();
  const padded = (written: string): string =>
    text === "" ? inside : `${/^\s/.test(inside) ? " " : ""}${written}${/\s$/.test(inside) ? " " : ""}`;
  switch (name) {
    case "a": {
      const address = resolve(attributeOf(attributes, "href"), place);
      return address === undefined ? inside : padded(`[${oneLine(text)}](${address})`);
    }
    case "b":
    case "strong":
      return padded(`**${text}**`);
    case "i":
    case "em":
      return padded(`*${text}*`);
    default:
      return padded(`~~${text}~~`);
  }
}

function renderImage(attributes: string, place: Place): string {
  const alt = oneLine(attributeOf(attributes, "alt") ?? "");
  const address = resolve(attributeOf(attributes, "src"), place);
  return alt === "" || address === undefined ? alt : `![${alt}](${address})`;
}

/** Undefined for addresses that no reader could open, and for parts of the same page. */
function resolve(address: string | undefined, { url }: Place): string | undefined {
  const written = address?.trim();
  if (!written || written.startsWith("#") || !URL.canParse(written, url)) return undefined;
  const { protocol, href } = new URL(written, url);
  return /^(?:https?|mailto|ftp):$/.test(protocol) ? href.replaceAll("(", "%28").replaceAll(")", "%29") : undefined;
}

function prefixed(before: string, text: string, after = ""): string {
  return text === "" ? "" : before + text + after;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

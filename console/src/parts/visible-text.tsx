import { Fragment, type HTMLAttributes, type ReactNode } from "react";

/** Control characters, soft hyphens, joiners, direction marks, variation selectors, tags and other format characters. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;
const USUAL = new Set(["\n", "\t"]);
const LINE_MARKS: ReadonlyMap<string, string> = new Map([
  ["\n", "⏎"],
  ["\t", "⇥"],
]);

/** What joins the parts of one emoji, or asks for its coloured form, is no hidden text. */
function isInEmoji(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 3), at);
  if (text[at] === "\uFE0F") return /\p{Extended_Pictographic}$/u.test(before);
  if (text[at] !== "\u200D" || !/^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))) return false;
  return /[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?$/u.test(before);
}

interface VisibleTextProps extends HTMLAttributes<HTMLElement> {
  text: string;
  as?: "code" | "dd" | "del" | "dt" | "ins" | "li" | "p" | "pre" | "span" | "strong" | "td";
}

/** Text with its invisible characters and direction marks shown by name. The attributes are of an element around it. */
export function VisibleText({ text, as: Around = "span", ...attributes }: VisibleTextProps) {
  const shown = <span dir="ltr">{visibleParts(text)}</span>;
  const isBare = Around === "span" && Object.keys(attributes).length === 0;
  return isBare ? shown : <Around {...attributes}>{shown}</Around>;
}

/** The same for a name or a title on one line: line breaks and tabs, which look like blanks there, are shown too. */
export function OneLine({ text }: { text: string }) {
  return <span dir="ltr">{visibleParts(text, LINE_MARKS)}</span>;
}

/** The same without an element around it, for cells with a direction of their own. */
export function visibleParts(text: string, marks?: ReadonlyMap<string, string>): ReactNode {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const mark = marks?.get(found[0]);
    if (isInEmoji(text, found.index)) continue;
    if ((USUAL.has(found[0]) && mark === undefined) || (found[0] === "\r" && text[found.index + 1] === "\n")) continue;
    const code = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    parts.push(
      <Fragment key={from}>{text.slice(from, found.index)}</Fragment>,
      <span key={`mark${found.index}`} className="hidden-mark" title={`U+${code}`}>
        {mark ?? `U+${code}`}
      </span>,
    );
    from = found.index + found[0].length;
  }
  return from === 0 ? text : [...parts, <Fragment key="end">{text.slice(from)}</Fragment>];
}

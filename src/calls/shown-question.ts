import { Buffer } from "node:buffer";
import { type Call, toolOf } from "../core/call.ts";
import type { CallSummary } from "../core/call-summary.ts";
import { type Content, quoteText, textOf } from "../core/content.ts";
import { ToolPermissionError } from "../core/error.ts";
import { MAX_CONTENT_TEXT_LENGTH, toPlainData } from "../core/json.ts";
import type { UserQuestion } from "../core/questions/user-question.ts";
import type { Preview } from "../core/tool.ts";
import { type CallWorld, hashOf } from "./approval-binding.ts";
import type { GrantChoice } from "./stored-call.ts";

/** What a person is asked about a call. */
export interface QuestionDraft {
  world: CallWorld;
  /** The arguments as they are stored and shown: plain data. */
  input: unknown;
  /** The preview as it is stored and shown; cut if it is too long. */
  shown: Preview | undefined;
  unseen?: string;
  /** Kept apart, because it may be very long. */
  whole?: WholePreview;
  grants?: readonly GrantChoice[];
  summary?: CallSummary;
  suggestedRules: readonly string[];
  questions?: readonly UserQuestion[];
  /** How long the caller waits for the call; 0: not at all. */
  holdMs: number;
}

/** The longest text that a person is asked to read. */
export const MAX_SHOWN_BYTES = 64 * 1024;
/** The longest text that is kept for an approver to look at. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const TAIL_CHARACTERS = 200;

/** The arguments as plain data, all of them: the call may run in another process. */
export function plainInput(call: Call): unknown {
  const { value, faults } = toPlainData(call.accepted, MAX_CONTENT_TEXT_LENGTH);
  if (faults.length === 0) return value;
  throw new ToolPermissionError(
    toolOf(call).name,
    `the arguments cannot be shown to a person (${faults.slice(0, 3).join("; ")})`,
    "Give them as plain data.",
  );
}

/** The preview as it is shown. If it is cut, `omitted` says so. */
export function boundPreview(preview: Preview, maxBytes: number): Preview {
  let left = maxBytes;
  let cutBytes = 0;
  const cut = (text: string, hash: string): string => {
    const bytes = Buffer.byteLength(text);
    const shown = `${text.slice(0, Math.floor(left / 4))}\n`;
    cutBytes += bytes - Buffer.byteLength(shown);
    left = 0;
    return `${shown}[cut: the whole has ${bytes} bytes, ${hash}, and this is its end:\n${text.slice(-TAIL_CHARACTERS)}]`;
  };
  const content = preview.content.map((block): Content => {
    const text = block.type === "text" ? block.text : undefined;
    const bytes = Buffer.byteLength(text ?? JSON.stringify(block));
    if (bytes <= left) {
      left -= bytes;
      return block;
    }
    if (text !== undefined) return { type: "text", text: cut(text, hashOf(block)) };
    cutBytes += bytes;
    return { type: "text", text: `[cut: the whole has ${bytes} bytes, ${hashOf(block)}]` };
  });
  const { output, facts, counts, replacements, unshown } = preview;
  // What was printed is no effect: a notice is enough.
  const printed = output === undefined ? undefined : shortenText(output, maxBytes);
  const title =
    preview.title.length > MAX_TITLE_LENGTH ? `${preview.title.slice(0, MAX_TITLE_LENGTH)}…` : preview.title;
  const omitted = [
    preview.omitted,
    cutBytes > 0 ? `${cutBytes} bytes of the preview` : undefined,
    title === preview.title ? undefined : `${preview.title.length - MAX_TITLE_LENGTH} characters of its title`,
  ];
  return {
    title,
    facts,
    content,
    output: printed,
    counts,
    replacements,
    omitted: omitted.filter(Boolean).join("; ") || undefined,
    unshown,
  };
}

const MAX_TITLE_LENGTH = 1000;

/** One sentence about what of a call a person does not see; undefined if everything is shown. */
export function unseenOf(preview: Preview | undefined, input: unknown, maxBytes = MAX_SHOWN_BYTES): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(input, undefined, 2) ?? "");
  const parts = [
    preview?.unshown?.replace(/\.$/, ""),
    preview?.omitted,
    bytes > maxBytes ? `a part of the arguments, which have ${bytes} bytes (${hashOf(input)})` : undefined,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `Not shown: ${parts.join("; ")}.`;
}

const MAX_SHOWN_TEXT = 4000;
const MAX_SHOWN_ITEMS = 100;

/** The arguments as they are shown: long texts and lists are shortened, if the whole is too long to read. */
export function shownInput(input: unknown, maxBytes = MAX_SHOWN_BYTES): unknown {
  const text = JSON.stringify(input, undefined, 2) ?? "";
  if (Buffer.byteLength(text) <= maxBytes) return input;
  const short = shorten(input);
  const shown = JSON.stringify(short, undefined, 2) ?? "";
  return Buffer.byteLength(shown) <= maxBytes ? short : shortenText(text, Math.floor(maxBytes / 8));
}

function shorten(value: unknown): unknown {
  if (typeof value === "string") return shortenText(value, MAX_SHOWN_TEXT);
  if (typeof value !== "object" || value === null) return value;
  const left = (Array.isArray(value) ? value.length : Object.keys(value).length) - MAX_SHOWN_ITEMS;
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_SHOWN_ITEMS).map(shorten);
    return left > 0 ? [...items, `[… ${left} more items are not shown …]`] : items;
  }
  const fields = Object.entries(value).slice(0, MAX_SHOWN_ITEMS);
  const shown = Object.fromEntries(fields.map(([name, each]) => [shortenText(name, TAIL_CHARACTERS), shorten(each)]));
  return left > 0 ? { ...shown, "[…]": `${left} more fields are not shown` } : shown;
}

function shortenText(text: string, max: number): string {
  if (text.length <= max) return text;
  const left = text.length - max;
  return `${text.slice(0, max - TAIL_CHARACTERS)}[… ${left} characters are not shown …]${text.slice(-TAIL_CHARACTERS)}`;
}

/** Everything that a preview shows, as one text. What a command printed comes last, each line with a prefix. */
export function previewToText({ title, facts = [], content, output }: Preview): string {
  const printed = output === undefined ? [] : ["It printed:", quoteText(output)];
  return [title, ...facts.map(({ text }) => text), "", textOf(content), "", ...printed].join("\n").trimEnd();
}

/** Everything that would happen, for an approver who wants to see it all. Kept while the question is open. */
export interface WholePreview {
  text: string;
  /** What even this leaves out. */
  missing?: string;
}

/** What is kept besides the question: all of the preview, if something of it is not shown. */
export function wholePreview(preview: Preview, shown: Preview): WholePreview | undefined {
  if (shown.omitted === undefined && preview.whole === undefined) return undefined;
  const text = preview.whole ?? previewToText(preview);
  const missing = preview.whole === undefined ? preview.omitted : undefined;
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_WHOLE_BYTES) return { text, missing };
  const start = Buffer.from(text).subarray(0, MAX_WHOLE_BYTES).toString();
  return { text: start.slice(0, start.lastIndexOf("\n") + 1), missing: `${bytes - MAX_WHOLE_BYTES} bytes at the end` };
}

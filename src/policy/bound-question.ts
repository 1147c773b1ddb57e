import { Buffer } from "node:buffer";
import { type Call, toolOf } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import { ToolPermissionError } from "../core/error.ts";
import { MAX_CONTENT_TEXT_LENGTH, toPlainData } from "../core/plain-data.ts";
import type { Preview } from "../core/tool.ts";
import { hashOf } from "./bind-approval.ts";

/** What a person can be asked to read. */
export const MAX_SHOWN_BYTES = 64 * 1024;
const TAIL_CHARACTERS = 200;

/** The arguments as plain data. What cannot be shown in full cannot be approved: refused, never cut. */
export function showableInput(call: Call, maxBytes: number): unknown {
  const { value, faults } = toPlainData(call.accepted, MAX_CONTENT_TEXT_LENGTH);
  if (faults.length > 0) {
    throw new ToolPermissionError(
      toolOf(call).name,
      `the arguments cannot be shown to a person (${faults.slice(0, 3).join("; ")})`,
      "Give them as plain data.",
    );
  }
  const text = JSON.stringify(value, undefined, 2) ?? "";
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return value;
  throw new ToolPermissionError(
    toolOf(call).name,
    `the arguments are too long to be shown to a person in full (${bytes} bytes, at most ${maxBytes}; ` +
      `${hashOf(call.accepted)}; they end with ${JSON.stringify(text.slice(-TAIL_CHARACTERS))})`,
    "Do it in several smaller calls, or ask for a rule that allows this call without asking.",
  );
}

/** The preview as it is shown. It may be cut, because the arguments are not: length, hash and end are said. */
export function boundPreview(preview: Preview, maxBytes: number): Preview {
  let left = maxBytes;
  const content = preview.content.map((block): Content => {
    const text = block.type === "text" ? block.text : undefined;
    const bytes = Buffer.byteLength(text ?? JSON.stringify(block));
    if (bytes <= left) {
      left -= bytes;
      return block;
    }
    const shown = text === undefined ? "" : `${text.slice(0, Math.floor(left / 4))}\n`;
    left = 0;
    const end = text === undefined ? "" : `, and this is its end:\n${text.slice(-TAIL_CHARACTERS)}`;
    return { type: "text", text: `${shown}[cut: the whole has ${bytes} bytes, ${hashOf(block)}${end}]` };
  });
  return { title: preview.title.slice(0, 1000), content };
}

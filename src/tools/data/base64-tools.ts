import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { detectMediaType } from "../../io/files/media.ts";
import { MAX_TEXT_LENGTH, textTooLong } from "./json-tools.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export function createBase64EncodeTool() {
  return createTool({
    name: "base64_encode",
    title: "Encode base64",
    description: {
      short: "Encodes a text, as UTF-8, in base64.",
      examples: [
        { input: { text: "Hello, 世界" } },
        { input: { text: "a?b>c", encoding: "base64url" }, description: "for a URL or a file name" },
      ],
    },
    parameters: z.object({
      text: z.string().describe("The text to encode"),
      encoding: z
        .enum(["base64", "base64url"])
        .optional()
        .describe('"base64url" uses - and _ instead of + and /, without padding. Default: "base64"'),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["base64", "encode"],
    builtIn: {
      zh: { title: "Base64 编码", short: "把文本按 UTF-8 编码为 base64。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ encoded: field.text() }),
    run({ text, encoding = "base64" }) {
      const bytes = Buffer.from(text, "utf8");
      if (Math.ceil(bytes.length / 3) * 4 > MAX_TEXT_LENGTH) throw textTooLong("The encoded text");
      const encoded = bytes.toString(encoding);
      return {
        content: [textBlock(encoded === "" ? "The text is empty, and so is its base64." : encoded)],
        display: `${countOf(bytes.length, "byte")} as ${encoded.length} characters of ${encoding}`,
        details: { encoded },
      };
    },
  });
}

export function createBase64DecodeTool() {
  return createTool({
    name: "base64_decode",
    title: "Decode base64",
    description: {
      short: "Decodes base64 or base64url that contains UTF-8 text.",
      usageNotes: ["Line breaks and missing padding are accepted. Binary data is refused, with its likely type."],
      examples: [
        { input: { encoded: "SGVsbG8sIOS4lueVjA==" } },
        { input: { encoded: "YT9iPmM" }, description: "without padding" },
      ],
    },
    parameters: z.object({
      encoded: z.string().describe("The base64 text"),
      encoding: z
        .enum(["base64", "base64url"])
        .optional()
        .describe('The required alphabet: "base64" (with + and /) or "base64url" (with - and _). Default: either'),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["base64", "decode"],
    builtIn: {
      zh: { title: "Base64 解码", short: "解码含 UTF-8 文本的 base64 或 base64url。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ decoded: field.text() }),
    run({ encoded, encoding }) {
      const bytes = readBase64(encoded, encoding);
      if (bytes.length > MAX_TEXT_LENGTH) throw textTooLong("The decoded text");
      const decoded = decodeUtf8(bytes);
      return {
        content: [textBlock(decoded === "" ? "The decoded text is empty." : decoded)],
        display: `${countOf(bytes.length, "byte")} of text`,
        details: { decoded },
      };
    },
  });
}

const MAX_SHOWN_BYTES = 32;

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const hex = bytes.toString("hex", 0, MAX_SHOWN_BYTES);
    const mediaType = detectMediaType(bytes.subarray(0, 32));
    const rest = bytes.length > MAX_SHOWN_BYTES ? " …" : "";
    throw toolError(
      "bad_encoding",
      `It decodes to ${countOf(bytes.length, "byte that is", "bytes that are")} not UTF-8 text${mediaType ? `, but ${mediaType}` : ""}. ` +
        `In hex: ${hex.match(/../g)?.join(" ")}${rest}`,
      {
        next: "To use them, decode them to a file with a command.",
        data: { bytes: bytes.length, hex, mediaType },
        cause,
      },
    );
  }
}

type Alphabet = "base64" | "base64url";

const FOREIGN = { base64: /[^A-Za-z0-9+/=\s]/u, base64url: /[^A-Za-z0-9\-_=\s]/u };

/** Strict, because Node's decoder silently drops invalid characters and never fails. */
function readBase64(encoded: string, alphabet: Alphabet = /[-_]/.test(encoded) ? "base64url" : "base64"): Buffer {
  const foreign = FOREIGN[alphabet].exec(encoded);
  if (foreign) throw foreignCharacter(encoded, foreign.index, foreign[0], alphabet);
  const compact = encoded.replace(/\s+/g, "");
  const padding = compact.indexOf("=");
  const body = padding === -1 ? compact : compact.slice(0, padding);
  const tail = body.slice(body.length - (body.length % 4));
  if (padding !== -1) checkPadding(compact.slice(padding), tail.length);
  if (tail.length === 1) throw notBase64("It has one character too many or too few.", "Send the complete text.");
  if (Buffer.from(tail, alphabet).toString(alphabet).replaceAll("=", "") !== tail) {
    throw notBase64("Its last character has invalid bits.", "It was cut off or changed: send the complete text.");
  }
  return Buffer.from(body, alphabet);
}

function checkPadding(padding: string, tailLength: number): void {
  if (/[^=]/.test(padding)) {
    throw notBase64('Something follows the padding ("=").', "It contains several texts: decode each separately.");
  }
  if (tailLength === 0 || padding.length !== 4 - tailLength) {
    throw notBase64(`It ends in ${padding.length} "=", which does not fit its length.`, "Send the complete text.");
  }
}

function foreignCharacter(encoded: string, index: number, character: string, alphabet: Alphabet): ToolError {
  const position = [...encoded.slice(0, index)].length + 1;
  const next = /^\s*data:/i.test(encoded)
    ? "This is a data URL: send only the part after the comma."
    : "Send the base64 text alone, in one alphabet.";
  const problem = `Character ${position}, ${JSON.stringify(character)}, does not belong to ${alphabet}.`;
  return notBase64(problem, next, { position, character });
}

function notBase64(problem: string, next: string, data?: unknown): ToolError {
  return toolError("invalid_input", `The text is not valid base64. ${problem}`, { next, data });
}

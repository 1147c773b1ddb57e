import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { detectMediaType } from "../../files/media-type.ts";
import { readBase64 } from "./read-base64.ts";
import { MAX_TEXT_LENGTH, textTooLong } from "./text-limit.ts";

export function createBase64DecodeTool() {
  return createTool({
    name: "base64_decode",
    title: "Decode base64",
    description: {
      short: "Decodes base64 or base64url that holds UTF-8 text.",
      usageNotes: [
        "Line breaks and missing padding do not matter. Bytes that are no text are refused, with what they look like.",
      ],
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
        .describe(
          'The alphabet to insist on: "base64" (with + and /) or "base64url" (with - and _); either when absent',
        ),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["base64", "decode"],
    origin: { type: "builtin" },
    run({ encoded, encoding }) {
      const bytes = readBase64(encoded, encoding);
      if (bytes.length > MAX_TEXT_LENGTH) throw textTooLong("The decoded text");
      const decoded = decodeUtf8(bytes);
      return {
        content: [textBlock(decoded === "" ? "The decoded text is empty." : decoded)],
        display: `${bytes.length} bytes of text`,
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
      `It decodes to ${bytes.length} bytes that are not UTF-8 text${mediaType ? `, but ${mediaType}` : ""}. ` +
        `In hex: ${hex.match(/../g)?.join(" ")}${rest}`,
      {
        next: "To use them, decode them into a file with a command.",
        data: { bytes: bytes.length, hex, mediaType },
        cause,
      },
    );
  }
}

import { isUtf8 } from "node:buffer";
import { toolError } from "../core/error.ts";
import { decodeBytes, detectBom, detectEncoding, type TextEncoding } from "./text-encoding.ts";

/** Encodings in which bytes that look like plain text are something else: no browser reads them either. */
const HOSTILE =
  /^(?:utf-?7.*|x-imap4.*|hz-gb-2312|iso-2022-(?:kr|cn|cn-ext)|scsu|bocu-1|cesu-8|utf-?32.*|.*ebcdic.*|ibm(?:037|1047)|x-user-defined|replacement)$/;
/** What servers say of text that they know nothing of. */
const MEANINGLESS = /^(?:us-ascii|ascii|iso-?8859-?1|latin-?1|windows-1252)$/;

/**
 * Text whose encoding somebody declared. A byte order mark counts more, and UTF-8 that is none, or that is called
 * Latin-1, is seen; where nothing usable is declared, the bytes decide.
 */
export function decodeDeclared(bytes: Buffer, declared?: string): { text: string; encoding: TextEncoding } {
  const label =
    declared
      ?.trim()
      .replace(/^["']|["']$/g, "")
      .toLowerCase() ?? "";
  if (HOSTILE.test(label)) {
    throw toolError(
      "bad_encoding",
      `The text is declared as ${label}, which is not read because it hides what it says.`,
      {
        next: "Use another source.",
      },
    );
  }
  const bom = detectBom(bytes);
  if (bom) return { text: decodeBytes(bytes.subarray(bom.length), bom.encoding), encoding: bom.encoding };
  const isUnicode = isUtf8(bytes);
  if (isUnicode && (label === "" || label.startsWith("utf-8") || label === "utf8" || MEANINGLESS.test(label))) {
    return { text: bytes.toString("utf8"), encoding: "utf-8" };
  }
  const decoder = /^utf-?8/.test(label) ? undefined : decoderFor(label);
  if (decoder) {
    const { encoding } = decoder;
    // Node 20 reads it as ISO 8859-1, where quotes and dashes are control characters.
    const text = encoding === "windows-1252" ? decodeBytes(bytes, encoding) : decoder.decode(bytes);
    return { text, encoding };
  }
  const encoding = detectEncoding(bytes);
  return { text: decodeBytes(bytes, encoding), encoding };
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return label === "" ? undefined : new TextDecoder(label);
  } catch {
    return undefined;
  }
}

import { toolError } from "../../core/error.ts";
import { encodeString, type TextEncoding } from "../../files/text-encoding.ts";

/** Other spellings; and supersets, which read every text of the smaller encoding alike. */
const SAME_AS = new Map([
  ["utf8", "utf-8"],
  ["ascii", "utf-8"],
  ["us-ascii", "utf-8"],
  ["utf16le", "utf-16le"],
  ["utf-16", "utf-16le"],
  ["gbk", "gb18030"],
  ["gb2312", "gb18030"],
  ["sjis", "shift_jis"],
  ["shift-jis", "shift_jis"],
  ["iso-8859-1", "latin1"],
  ["binary", "latin1"],
]);

/** The encoding that a caller names, as the files primitives call it. */
export function encodingNamed(name: string): TextEncoding {
  const lower = name.trim().toLowerCase();
  const encoding = SAME_AS.get(lower) ?? lower;
  try {
    encodeString("", encoding);
    return encoding;
  } catch (cause) {
    throw toolError("bad_encoding", `The encoding ${JSON.stringify(name.slice(0, 40))} is not known`, {
      next: "Leave it out, or name one such as utf-8, utf-16le, gb18030, big5, shift_jis or latin1.",
      cause,
    });
  }
}

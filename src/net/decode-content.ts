import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { toolError } from "../core/error.ts";

type Decode = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  // Some servers send it without the header that the name promises.
  ["deflate", (bytes, options) => (((bytes[0] ?? 0) & 0x0f) === 8 ? wrapped : bare)(bytes, options)],
  ["br", promisify(brotliDecompress)],
]);
const wrapped: Decode = promisify(inflate);
const bare: Decode = promisify(inflateRaw);

const MAX_ENCODINGS = 3;

/** What is asked for: no more than can be read here. */
export const ACCEPT_ENCODING = "gzip, deflate, br";

/** Undoes `content-encoding`. The limit holds for every step, so that a small body cannot become a large one. */
export async function decodeContent(
  body: Buffer,
  contentEncoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  if (body.length === 0) return body;
  const names = encodingsOf(contentEncoding);
  let bytes = body;
  for (const name of names.reverse()) {
    const decode = DECODERS.get(name);
    if (!decode) throw unusable(`is encoded as ${JSON.stringify(name.slice(0, 40))}, which is not known here`);
    try {
      bytes = await decode(bytes, { maxOutputLength: maxBytes });
    } catch (cause) {
      if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
      throw unusable(`says that it is encoded as ${name}, and is not`, cause);
    }
  }
  return bytes;
}

export function encodingsOf(contentEncoding: string | undefined): string[] {
  const names = (contentEncoding ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > MAX_ENCODINGS) throw unusable(`is encoded ${names.length} times over`);
  return names;
}

export function tooLarge(maxBytes: number) {
  return toolError("too_large", `The answer is longer than ${maxBytes} bytes, so it was not read to its end.`, {
    next: "Ask for a smaller part of it, or download it with exec if the user agrees.",
    data: { maxBytes },
  });
}

function unusable(what: string, cause?: unknown) {
  return toolError("failed", `The answer ${what}.`, { next: "Try another address.", cause });
}

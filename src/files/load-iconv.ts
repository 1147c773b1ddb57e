import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** iconv-lite's tables are large and few files need them: loaded with the first that does, and not by an `await`. */
export function loadIconv(): {
  decode(bytes: Buffer, encoding: string, options?: { stripBOM?: boolean }): string;
  encode(text: string, encoding: string, options?: { addBOM?: boolean }): Buffer;
} {
  return require("iconv-lite") as ReturnType<typeof loadIconv>;
}

export function loadChardet(): { analyse(bytes: Uint8Array): { name: string; confidence: number }[] } {
  return require("chardet") as ReturnType<typeof loadChardet>;
}

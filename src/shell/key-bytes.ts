import { toolError } from "../core/error.ts";

/** The bytes a terminal sends for keys named as in tmux: `Enter`, `C-c`, `M-x`, `S-Tab`, `Up`, `F5`, or plain text. */
export function keyBytes(keys: readonly string[]): string {
  return keys.map(bytesOf).join("");
}

const NAMED = new Map<string, string>([
  ["enter", "\r"],
  ["return", "\r"],
  ["tab", "\t"],
  ["s-tab", "\x1b[Z"],
  ["btab", "\x1b[Z"],
  ["escape", "\x1b"],
  ["esc", "\x1b"],
  ["space", " "],
  ["backspace", "\x7f"],
  ["bspace", "\x7f"],
  ["delete", "\x1b[3~"],
  ["dc", "\x1b[3~"],
  ["insert", "\x1b[2~"],
  ["ic", "\x1b[2~"],
  ["up", "\x1b[A"],
  ["down", "\x1b[B"],
  ["right", "\x1b[C"],
  ["left", "\x1b[D"],
  ["home", "\x1b[H"],
  ["end", "\x1b[F"],
  ["pageup", "\x1b[5~"],
  ["pgup", "\x1b[5~"],
  ["ppage", "\x1b[5~"],
  ["pagedown", "\x1b[6~"],
  ["pgdn", "\x1b[6~"],
  ["npage", "\x1b[6~"],
  ["f1", "\x1bOP"],
  ["f2", "\x1bOQ"],
  ["f3", "\x1bOR"],
  ["f4", "\x1bOS"],
  ["f5", "\x1b[15~"],
  ["f6", "\x1b[17~"],
  ["f7", "\x1b[18~"],
  ["f8", "\x1b[19~"],
  ["f9", "\x1b[20~"],
  ["f10", "\x1b[21~"],
  ["f11", "\x1b[23~"],
  ["f12", "\x1b[24~"],
]);

function bytesOf(key: string): string {
  const named = NAMED.get(key.toLowerCase());
  if (named !== undefined) return named;
  const modified = /^(c|ctrl|m|alt)[-+](.+)$/is.exec(key) ?? /^(\^)(.)$/s.exec(key);
  if (!modified) return key;
  const [, modifier = "", rest = ""] = modified;
  if (/^(m|alt)$/i.test(modifier)) return `\x1b${bytesOf(rest)}`;
  return controlOf(rest, key);
}

function controlOf(rest: string, key: string): string {
  if (rest.toLowerCase() === "space") return "\0";
  if (rest === "?") return "\x7f";
  if (/^[@a-z[\\\]^_]$/i.test(rest)) return String.fromCharCode(rest.toUpperCase().charCodeAt(0) & 0x1f);
  throw toolError("invalid_input", `There is no control key "${key}".`, {
    next: "Use C- with a letter or one of @ [ \\ ] ^ _ ?, such as C-c, C-d or C-z.",
  });
}

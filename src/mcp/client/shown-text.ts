import { showHiddenCharacters } from "../../shell/hidden-characters.ts";

/** Text of a server, as data: what a reader would not see is spelled out, what is too long is cut, and both are seen. */
export function shownText(text: string, max: number): string {
  // Cut first: spelling out a megabyte of hidden characters would make ten of it.
  const shown = showHiddenCharacters(text.slice(0, max));
  return text.length > max ? `${shown}… [cut: ${text.length - max} more characters]` : shown;
}

import { showHiddenCharacters } from "../../shell/hidden-characters.ts";

/** Text of a server, as data: what a reader would not see is spelled out, what is too long is cut, and both are seen. */
export function shownText(text: string, most: number): string {
  // Cut first: spelling out a megabyte of hidden characters would make ten of it.
  const shown = showHiddenCharacters(text.slice(0, most));
  return text.length > most ? `${shown}… [cut: ${text.length - most} more characters]` : shown;
}

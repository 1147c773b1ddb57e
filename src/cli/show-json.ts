import { showHiddenCharacters } from "../io/shell/terminal-text.ts";

/**
 * The same data for every reader of JSON, and nothing in it that a terminal would act on or hide: JSON itself escapes what is
 * below the space and nothing else.
 */
export function showJson(value: unknown, indent?: number): string {
  return showHiddenCharacters(JSON.stringify(value, undefined, indent) ?? "null", escaped);
}

/** In units of UTF-16, which is how JSON writes them. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

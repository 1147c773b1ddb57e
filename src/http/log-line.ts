import { showHiddenCharacters } from "../io/shell/terminal-text.ts";

const MAX_CHARACTERS = 200;

/** One line of the server's log. Every value is text of somebody else: quoted, escaped and cut, so that none looks like two. */
export function logLine(what: string, facts: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "number" ? value : quote(String(value))}`);
  return [what, ...fields].join(" ");
}

function quote(text: string): string {
  const cut = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}… (${text.length} characters)` : text;
  return showHiddenCharacters(JSON.stringify(cut));
}

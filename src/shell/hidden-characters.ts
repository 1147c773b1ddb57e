// Everything that is drawn as nothing, as a blank, or as something else than it is: controls, format and bidirectional
// characters, unpaired surrogates, unassigned and private ones, and blanks other than the space.
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Zs}\p{Zl}\p{Zp}\p{C}\u2800]/gu;
const PLAIN_BLANKS = " \t\n";

/** The first character that a reader of the text would not see as what it is, as `U+202E`; undefined when all is plain. */
export function findHiddenCharacter(text: string): string | undefined {
  // Nearly every command is plain ASCII: the property tables are asked only where it is not.
  if (/^[\x20-\x7e\t\n]*$/.test(text)) return undefined;
  for (const [character] of text.matchAll(HIDDEN)) {
    if (PLAIN_BLANKS.includes(character)) continue;
    return `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}`;
  }
  return undefined;
}

/** Text for somebody who decides by it: what a reader would not see as what it is, is spelled out as `\u{202e}`. */
export function showHiddenCharacters(text: string, spell: (character: string) => string = spellOut): string {
  return text.replace(HIDDEN, (character) => (PLAIN_BLANKS.includes(character) ? character : spell(character)));
}

function spellOut(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}

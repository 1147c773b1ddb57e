/** Text for somebody who decides by it: what would not be seen, or would change how the rest is seen, is spelled out. */
export function showInvisible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\n" || character === "\t" ? character : `\\u{${hexOf(character)}}`,
  );
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

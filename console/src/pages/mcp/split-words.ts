/**
 * The words of a command line, with single and double quotes and backslashes. No shell runs the command: variables and
 * patterns stay as they are. Undefined if a quote is not closed.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === "\\" && quote !== "'" && at + 1 < line.length) word = (word ?? "") + line.charAt(++at);
    else if (quote === "" && (character === '"' || character === "'")) {
      quote = character;
      word ??= "";
    } else if (character === quote) quote = "";
    else if (quote === "" && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

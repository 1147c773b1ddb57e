import { parseCommand } from "./parse-command.ts";
import type { ParsedCommand } from "./parse-command.ts";

export type ChainOperator = "&&" | "||" | ";" | "|";

export interface PlainCommand {
  /** What stands between it and the command before; undefined for the first. */
  operator?: ChainOperator;
  argv: string[];
}

/** The argv lists of a chain or pipe (`&&`, `||`, `;`, `|`) of literal words; null for every other text. */
export function plainCommands(text: string): string[][] | null {
  return plainChain(parseCommand(text))?.map(({ argv }) => argv) ?? null;
}

const BLANKS = String.raw`(?:[ \t]|\\\n)`;
const BEFORE_FIRST = /^[ \t\n]*$/;
const BETWEEN_WORDS = new RegExp(`^${BLANKS}+$`);
const BETWEEN_COMMANDS = new RegExp(String.raw`^${BLANKS}*(&&|\|\||;|\|)${BLANKS}*$`);
const AFTER_LAST = /^[ \t]*;?[ \t\n]*$/;
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[|\+?=)/;

/**
 * The parser only says where words begin and end. That they are literal, and that nothing but blanks and the four
 * operators stands between them, is proved here on the text itself, so a mistake of the parser cannot hide anything.
 */
export function plainChain({ text, commands, constructs, problem }: ParsedCommand): PlainCommand[] | null {
  if (problem || constructs.size > 0) return null;
  const chain: PlainCommand[] = [];
  let end = 0;
  for (const { words, assignments, redirections } of commands) {
    const first = words[0];
    if (!first || assignments.length > 0 || redirections.length > 0 || ASSIGNMENT.test(first.source)) return null;
    const before = text.slice(end, first.at);
    const operator = BETWEEN_COMMANDS.exec(before)?.[1] as ChainOperator | undefined;
    if (chain.length === 0 ? !BEFORE_FIRST.test(before) : !operator) return null;
    const argv: string[] = [];
    for (const word of words) {
      if (!word.literal || text.slice(word.at, word.at + word.source.length) !== word.source) return null;
      if (word !== first && !BETWEEN_WORDS.test(text.slice(end, word.at))) return null;
      argv.push(word.value);
      end = word.at + word.source.length;
    }
    chain.push({ ...(operator && { operator }), argv });
  }
  return chain.length > 0 && AFTER_LAST.test(text.slice(end)) ? chain : null;
}

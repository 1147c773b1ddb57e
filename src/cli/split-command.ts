import { parseArgs } from "node:util";
import { GLOBAL_OPTIONS } from "./parse-arguments.ts";

/**
 * The words that name the command, and everything else in its order. Only options that hold everywhere may stand before
 * them: of others it is not known yet whether a value follows.
 */
export function splitCommand(argv: readonly string[]): { words: string[]; others: string[] } {
  const options = Object.fromEntries(
    Object.entries(GLOBAL_OPTIONS).map(([name, spec]) => [
      name,
      {
        type: spec.type === "flag" ? ("boolean" as const) : ("string" as const),
        short: "short" in spec ? spec.short : undefined,
      },
    ]),
  );
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  const at: number[] = [];
  for (const token of tokens) {
    if (token.kind === "option-terminator" || at.length === 2) break;
    if (token.kind === "option" && !Object.hasOwn(options, token.name)) break;
    if (token.kind === "positional") at.push(token.index);
  }
  return { words: at.map((index) => argv[index]!), others: argv.filter((_word, index) => !at.includes(index)) };
}

import { estimatedTokens, type TokenCounter } from "../core/token-counter.ts";
import { loadPackage } from "../schema/load-package.ts";

/** Of what the package exports. */
interface Tokenizer {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
}

export interface TokenizerOptions {
  /** How the package is loaded; a test takes it away. */
  load?: () => Tokenizer;
}

/**
 * Counts in o200k_base where the optional package "gpt-tokenizer" is installed, else estimates; `name` says which. Loaded
 * with the first count: its tables take a moment.
 */
export function openTokenizer({ load = loadTokenizer }: TokenizerOptions = {}): TokenCounter {
  let loaded: TokenCounter | undefined;
  const counter = (): TokenCounter => (loaded ??= tryLoad(load));
  return {
    get name() {
      return counter().name;
    },
    count: (text) => counter().count(text),
  };
}

const PACKAGE = "gpt-tokenizer/encoding/o200k_base";

function loadTokenizer(): Tokenizer {
  return loadPackage<typeof import("gpt-tokenizer/encoding/o200k_base")>(PACKAGE, "Counting tokens");
}

function tryLoad(load: () => Tokenizer): TokenCounter {
  try {
    const { countTokens } = load();
    // What looks like a control token in a tool's output is text like any other.
    const options = { disallowedSpecial: new Set<string>() };
    return { name: "o200k_base", count: (text) => countInPieces(text, (piece) => countTokens(piece, options)) };
  } catch {
    return estimatedTokens;
  }
}

/** A run without a break costs the square of its length: 50,000 letters would take seconds. */
const MAX_RUN_LENGTH = 128;
const LONG_RUN = new RegExp(`\\S{${MAX_RUN_LENGTH},}|\\s{${MAX_RUN_LENGTH},}`, "g");

/** Long runs are counted in pieces, which is a token too many for each at most. */
function countInPieces(text: string, count: (piece: string) => number): number {
  let tokens = 0;
  let at = 0;
  for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
    if (index > at) tokens += count(text.slice(at, index));
    for (let from = 0; from < run.length; from += MAX_RUN_LENGTH)
      tokens += count(run.slice(from, from + MAX_RUN_LENGTH));
    at = index + run.length;
  }
  return at < text.length ? tokens + count(text.slice(at)) : tokens;
}

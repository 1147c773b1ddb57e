import type { TokenCounter } from "../core/content.ts";
import { estimatedTokens } from "../core/results/estimated-tokens.ts";

/** The used part of the package. */
interface Tokenizer {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
}

interface TokenizerOptions {
  /** Loads the package; replaced in tests. */
  load?: () => Tokenizer;
}

/**
 * Counts tokens of o200k_base if the optional package "gpt-tokenizer" is installed, and estimates otherwise; `name` tells
 * which. The package is loaded on first use because its tables are large.
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

/**
 * At once, because tokens are counted synchronously, and not by `import()`: a bundler would add two megabytes of tables to
 * every program. A bundle estimates, or is given a counter as `tokens`.
 */
function loadTokenizer(): Tokenizer {
  const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);
  return require("gpt-tokenizer/encoding/o200k_base") as Tokenizer;
}

function tryLoad(load: () => Tokenizer): TokenCounter {
  try {
    const { countTokens } = load();
    // Control tokens in the output of a tool are plain text.
    const options = { disallowedSpecial: new Set<string>() };
    return { name: "o200k_base", count: (text) => countInPieces(text, (piece) => countTokens(piece, options)) };
  } catch {
    return estimatedTokens;
  }
}

/** Counting takes quadratic time in a run without a break: 50,000 letters would take seconds. */
const MAX_RUN_LENGTH = 128;
const LONG_RUN = new RegExp(`\\S{${MAX_RUN_LENGTH},}|\\s{${MAX_RUN_LENGTH},}`, "g");

/** Counts long runs in pieces, which adds at most one token per piece. */
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

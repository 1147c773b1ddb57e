/** Counts what a text costs a model's context. */
export interface TokenCounter {
  /** The encoding, or "estimate". */
  readonly name: string;
  /** How many tokens a text has. */
  count(text: string): number;
}

/** Bytes per token of English and JSON; slightly pessimistic. */
const CHARACTERS_PER_TOKEN = 3.8;

/** Without a tokenizer: accurate to about 25 % for English, code and JSON; too high for other scripts. */
export const estimatedTokens: TokenCounter = {
  name: "estimate",
  count(text) {
    let plain = 0;
    for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 0x80) plain++;
    return Math.ceil(plain / CHARACTERS_PER_TOKEN + (text.length - plain));
  },
};

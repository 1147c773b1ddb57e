/** The formats in which models write calls as text: the only list of their names. `models/text/` reads and writes them. */
export const TEXT_FORMATS = [
  "xml",
  "hermes",
  "anthropic-xml",
  "anthropic-xml-legacy",
  "qwen3-coder",
  "seed-oss",
  "minicpm5-xml",
  "cline-xml",
  "glm",
  "deepseek-v3",
  "deepseek-v3.1",
  "deepseek-dsml",
  "kimi-k2",
  "kimi-k3",
  "minimax-m2",
  "minimax-m3",
  "mistral",
  "llama3-json",
  "llama4-pythonic",
  "lfm2-pythonic",
  "olmo3-pythonic",
  "harmony",
  "gemma4",
  "functiongemma",
  "granite",
  "phi4-mini",
  "jamba",
  "nemotron",
  "cohere",
  "internlm",
  "gigachat",
  "apertus",
  "longcat",
  "step3",
  "json",
] as const;
/** A way in which models write calls as text. */
export type TextFormatName = (typeof TEXT_FORMATS)[number];

const textInputs = new WeakSet<object>();

/** Remembers an input whose values a model wrote as text: numbers in it were only guessed, and none has lost a character. */
export function markAsText(input: object): void {
  textInputs.add(input);
}

/** Whether `markAsText` knows this input. */
export function isWrittenAsText(input: unknown): boolean {
  return typeof input === "object" && input !== null && textInputs.has(input);
}

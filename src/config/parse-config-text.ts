import { ConfigError, type ConfigPath, type SourcePosition } from "./config-problem.ts";
import { parseJson5 } from "./parse-json5.ts";
import { parseYaml } from "./parse-yaml.ts";
import { copyParsed, MAX_BYTES, MAX_DEPTH, requireShallow } from "./text-limits.ts";

export type ConfigFormat = "yaml" | "json" | "toml";

export interface ParsedText {
  value: unknown;
  /** Where a key (or an item of a list) stands, as far as the format tells. */
  positionOf(path: ConfigPath): SourcePosition | undefined;
}

/** By its ending; JSON may always have comments, trailing commas and the rest of JSON5. */
export function formatOf(file: string): ConfigFormat {
  if (/\.ya?ml$/i.test(file)) return "yaml";
  return /\.toml$/i.test(file) ? "toml" : "json";
}

/** Throws a `ConfigError`; the limits hold before a parser is loaded. */
export async function parseConfigText(text: string, file: string, format = formatOf(file)): Promise<ParsedText> {
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new ConfigError([{ file, message: `Larger than ${MAX_BYTES} bytes. Make it smaller.` }]);
  }
  const plain = text.replace(/^\uFEFF/, "");
  requireShallow(plain, file, format);
  if (format === "yaml") return parseYaml(plain, file);
  return format === "toml" ? parseToml(plain, file) : parseJson5(plain, file);
}

async function parseToml(text: string, file: string): Promise<ParsedText> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    const value = copyParsed(parse(text, { maxDepth: MAX_DEPTH, unsafeKeyBehaviour: "throw" }), file);
    return { value, positionOf: () => undefined };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ""] = error.message.split("\n");
    const message = `Not valid TOML: ${first.replace(/^Invalid TOML document: /, "")}.`;
    throw new ConfigError([{ file, line: error.line, column: error.column, message }], { cause: error });
  }
}

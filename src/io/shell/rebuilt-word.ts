/** A word of a command, rebuilt: the shell reads `text` exactly as the analysis understood the word. */
export interface RebuiltWord {
  /** A literal: its value. A glob: its pattern. An expansion: the beginning that is certain, often empty. */
  value: string;
  /** The word for the shell, quoted except for its glob characters and expansions. */
  text: string;
  kind: "literal" | "glob" | "expansion";
  /** The shell may make several words of it, or none. */
  splits: boolean;
}

export function literal(value: string): RebuiltWord {
  return { value, text: quoteWord(value), kind: "literal", splits: false };
}

/** The word as a text without globs: what the shell gives if no file matches. */
export function withoutGlob(word: RebuiltWord): RebuiltWord {
  return word.kind === "glob" ? literal(word.value) : word;
}

/** The word that makes a POSIX shell read exactly this value. */
export function quoteWord(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) && !value.startsWith("=") ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** The path to check: of a word that is only known at run time, the folder that is certain; undefined if there is none. */
export function certainPath({ value, kind }: RebuiltWord): string | undefined {
  if (kind === "literal") return value;
  const certain = kind === "glob" ? (/^[^*?[{]*/.exec(value)?.[0] ?? "") : value;
  const folder = certain.slice(0, certain.lastIndexOf("/") + 1);
  return folder === "" ? undefined : folder;
}

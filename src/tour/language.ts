export type Language = "en" | "zh";

/** One text in both languages, side by side, so that neither is forgotten. */
export type Phrase = readonly [english: string, chinese: string];

export function translate([english, chinese]: Phrase, language: Language): string {
  return language === "zh" ? chinese : english;
}

/** `--lang` decides; without it the locale does, in the order in which POSIX reads its variables. */
export function chooseLanguage(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Language {
  const wish = readOption(args);
  if (wish !== undefined) {
    if (wish === "en" || wish === "zh") return wish;
    throw new RangeError(`There is no tour in "${wish}". Use --lang en or --lang zh.`);
  }
  const locale = environment["LC_ALL"] || environment["LC_MESSAGES"] || environment["LANG"] || "";
  return /^zh/i.test(locale) ? "zh" : "en";
}

function readOption(args: readonly string[]): string | undefined {
  const [first, second, ...rest] = args;
  if (first === undefined) return undefined;
  const wish = first.startsWith("--lang=") ? first.slice("--lang=".length) : first === "--lang" ? second : undefined;
  const left = first === "--lang" ? rest : args.slice(1);
  if (wish === undefined || left.length > 0) throw new RangeError("The tour takes one option: --lang en or --lang zh.");
  return wish;
}

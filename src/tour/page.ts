export interface PageOptions {
  language: Language;
  colour: boolean;
  write(line: string): void;
}

interface Line {
  label: string;
  value: string;
}

/** Prints numbered steps with aligned lines, and counts the checks. */
export class Page {
  passed = 0;
  failed = 0;
  readonly #options: PageOptions;
  #steps = 0;
  #lines: Line[] = [];

  constructor(options: PageOptions) {
    this.#options = options;
  }

  heading(text: Phrase): void {
    this.#options.write(this.#paint(`=== ${this.#print(text)} ===`, BOLD));
  }

  plain(text: Phrase): void {
    this.#options.write(this.#print(text));
  }

  /** Prints a step after it has ended, because only then the width of its labels is known. */
  async step(title: Phrase, run: () => Promise<void>): Promise<void> {
    this.#lines = [];
    const number = `${++this.#steps}. `;
    try {
      await run();
    } catch (thrown) {
      this.check(["Step", "步骤"], false, ["ends without an error", "没有出错"], String(thrown));
    }
    this.#options.write("");
    this.#options.write(this.#paint(`${number}${this.#print(title)}`, BOLD));
    const indent = " ".repeat(number.length);
    const width = Math.max(0, ...this.#lines.map(({ label }) => widthOf(label)));
    for (const { label, value } of this.#lines) {
      this.#options.write(`${indent}${label}${" ".repeat(width - widthOf(label))}  ${value}`);
    }
  }

  /** A value that is the same in both languages may be a string. */
  print(label: Phrase, value: Phrase | string): void {
    this.#lines.push({
      label: `${this.#print(label)}:`,
      value: typeof value === "string" ? value : this.#print(value),
    });
  }

  /** Prints a tick if the check holds; otherwise also prints `got`. */
  check(label: Phrase, holds: boolean, outcome: Phrase, got?: string): void {
    if (holds) this.passed++;
    else this.failed++;
    const mark = holds ? "✅" : "❌";
    const instead = holds || got === undefined ? "" : ` (${this.#print(["got", "实际"])}: ${got})`;
    this.print(label, `${mark} ${this.#print(outcome)}${instead}`);
  }

  #print(text: Phrase): string {
    return translate(text, this.#options.language);
  }

  #paint(text: string, code: number): string {
    return this.#options.colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}

const BOLD = 1;

/** Columns on a terminal: Chinese characters and full-width signs take two. */
function widthOf(text: string): number {
  return Array.from(text).reduce((width, character) => width + (WIDE.test(character) ? 2 : 1), 0);
}

const WIDE = /[\p{Script=Han}\u3000-\u303f\uff00-\uff60]/u;

export type Language = "en" | "zh";

/** A text in both languages. */
export type Phrase = readonly [english: string, chinese: string];

function translate([english, chinese]: Phrase, language: Language): string {
  return language === "zh" ? chinese : english;
}

/** `--lang`, or else the locale, in the POSIX order of its variables. */
export function chooseLanguage(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Language {
  const language = readOption(args);
  if (language !== undefined) {
    if (language === "en" || language === "zh") return language;
    throw new RangeError(`There is no tour in "${language}". Use --lang en or --lang zh.`);
  }
  const locale = environment["LC_ALL"] || environment["LC_MESSAGES"] || environment["LANG"] || "";
  return /^zh/i.test(locale) ? "zh" : "en";
}

function readOption(args: readonly string[]): string | undefined {
  const [first, second, ...rest] = args;
  if (first === undefined) return undefined;
  const value = first.startsWith("--lang=") ? first.slice("--lang=".length) : first === "--lang" ? second : undefined;
  const left = first === "--lang" ? rest : args.slice(1);
  if (value === undefined || left.length > 0) throw new RangeError("The tour has one option: --lang en or --lang zh.");
  return value;
}

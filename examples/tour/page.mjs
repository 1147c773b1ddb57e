/** Prints numbered steps with aligned lines, and counts the checks. */
export class Page {
  passed = 0;
  failed = 0;
  #options;
  #steps = 0;
  #lines = [];

  constructor(options) {
    this.#options = options;
  }

  heading(text) {
    this.#options.write(this.#paint(`=== ${this.#print(text)} ===`, BOLD));
  }

  plain(text) {
    this.#options.write(this.#print(text));
  }

  /** Prints a step after it has ended, because only then the width of its labels is known. */
  async step(title, run) {
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
  print(label, value) {
    this.#lines.push({
      label: `${this.#print(label)}:`,
      value: typeof value === "string" ? value : this.#print(value),
    });
  }

  /** Prints a tick if the check holds; otherwise also prints `got`. */
  check(label, holds, outcome, got) {
    if (holds) this.passed++;
    else this.failed++;
    const mark = holds ? "✅" : "❌";
    const instead = holds || got === undefined ? "" : ` (${this.#print(["got", "实际"])}: ${got})`;
    this.print(label, `${mark} ${this.#print(outcome)}${instead}`);
  }

  #print(text) {
    return translate(text, this.#options.language);
  }

  #paint(text, code) {
    return this.#options.colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}

const BOLD = 1;

/** Columns on a terminal: Chinese characters and full-width signs take two. */
function widthOf(text) {
  return Array.from(text).reduce((width, character) => width + (WIDE.test(character) ? 2 : 1), 0);
}

const WIDE = /[\p{Script=Han}\u3000-\u303f\uff00-\uff60]/u;

function translate([english, chinese], language) {
  return language === "zh" ? chinese : english;
}

/** `--lang`, or else the locale, in the POSIX order of its variables. */
export function chooseLanguage(args, environment) {
  const language = readOption(args);
  if (language !== undefined) {
    if (language === "en" || language === "zh") return language;
    throw new RangeError(`There is no tour in "${language}". Use --lang en or --lang zh.`);
  }
  const locale = environment["LC_ALL"] || environment["LC_MESSAGES"] || environment["LANG"] || "";
  return /^zh/i.test(locale) ? "zh" : "en";
}

function readOption(args) {
  const [first, second, ...rest] = args;
  if (first === undefined) return undefined;
  const value = first.startsWith("--lang=") ? first.slice("--lang=".length) : first === "--lang" ? second : undefined;
  const left = first === "--lang" ? rest : args.slice(1);
  if (value === undefined || left.length > 0) throw new RangeError("The tour has one option: --lang en or --lang zh.");
  return value;
}

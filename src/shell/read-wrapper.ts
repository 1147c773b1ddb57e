import { SHELLS, WRAPPERS } from "./wrapper-forms.ts";
import type { WrapperForm } from "./wrapper-forms.ts";

export interface WrappedCommands {
  commands: (readonly string[])[];
  /** Shell text that it runs. */
  texts: string[];
  /** False when it may run something else than these. */
  certain: boolean;
}

/** What a program runs according to its words; undefined for a program that is no wrapper. */
export function readWrapper(name: string, words: readonly string[], stdin?: string): WrappedCommands | undefined {
  if (SHELLS.has(name)) return readShell(words, stdin);
  switch (name) {
    case "eval":
      return { commands: [], texts: [words.join(" ")], certain: !words.some((word) => /[$`]/.test(word)) };
    case "trap":
      return { commands: [], texts: words.slice(0, 1).filter((word) => !/^-|^$/.test(word)), certain: true };
    case "find":
      return readFind(words);
    case "cmd": {
      const at = words.findIndex((word) => /^\/[ck]$/i.test(word));
      return at < 0 ? undefined : { commands: [words.slice(at + 1)], texts: [], certain: false };
    }
    case "fd":
    case "fdfind":
      return readFd(words);
    default: {
      const form = WRAPPERS.get(name);
      return form && readForm(form, words);
    }
  }
}

function readForm(form: WrapperForm, words: readonly string[]): WrappedCommands {
  const values = new Set(form.values?.split(/\s+/));
  const flags = new Set(form.flags?.split(/\s+/));
  const textOptions = new Set(form.textOption?.split(" "));
  const result: WrappedCommands = { commands: [], texts: [], certain: !form.adds };
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] as string;
    if (word === "--") {
      at++;
      break;
    }
    if (!word.startsWith("-")) break;
    if (form.runsNothing?.split(" ").includes(word)) return { commands: [], texts: [], certain: true };
    const option = splitOption(word, values);
    if (values.has(option.name)) {
      const value = option.value ?? words[++at] ?? "";
      if (textOptions.has(option.name)) result.texts.push(value);
      // env -S splits its value into words and puts them before the rest.
      if (option.name === "-S" || option.name === "--split-string") {
        return { commands: [], texts: [[value, ...words.slice(at + 1)].join(" ")], certain: false };
      }
    } else if (!areFlags(word, option.name, flags)) {
      result.certain = false;
      // It may or may not take the next word: both readings are given.
      result.commands.push(words.slice(at + 2));
    }
  }
  while (form.assignments && /^[A-Za-z_]\w*=/.test(words[at] ?? "")) at++;
  const command = words.slice(at + (form.operands ?? 0));
  if (result.texts.length === 0) result.texts.push(...textAfter(words.slice(at), textOptions));
  if (form.joined) result.texts.push(command.join(" "));
  else if (command.length > 0 && result.texts.length === 0) result.commands.push(command);
  return result;
}

/** `su root -c text`, `flock file -c text`: the option may also stand behind the operands. */
function textAfter(words: readonly string[], textOptions: ReadonlySet<string>): string[] {
  const at = words.findIndex((word) => textOptions.has(word));
  return at >= 0 && words[at + 1] !== undefined ? [words[at + 1] as string] : [];
}

function splitOption(word: string, values: ReadonlySet<string>): { name: string; value?: string } {
  const equals = word.startsWith("--") ? word.indexOf("=") : -1;
  if (equals > 0) return { name: word.slice(0, equals), value: word.slice(equals + 1) };
  const short = word.slice(0, 2);
  return !word.startsWith("--") && word.length > 2 && values.has(short)
    ? { name: short, value: word.slice(2) }
    : { name: word };
}

function areFlags(word: string, name: string, flags: ReadonlySet<string>): boolean {
  if (flags.has(name) || /^-\d+$/.test(word)) return true;
  return !word.startsWith("--") && [...word.slice(1)].every((letter) => flags.has(`-${letter}`));
}

/** bash reads all its options first, `-xc` like `-x -c`; then the first operand is the text. */
function readShell(words: readonly string[], stdin: string | undefined): WrappedCommands {
  let readsText = false;
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] as string;
    if (word === "--" || word === "-") {
      at++;
      break;
    }
    if (!/^[-+]./.test(word)) break;
    if (["--rcfile", "--init-file"].includes(word)) at++;
    if (word.startsWith("--")) continue;
    if (word.startsWith("-") && word.includes("c")) readsText = true;
    if (/[oO]$/.test(word)) at++;
  }
  const [first, ...rest] = words.slice(at);
  if (readsText) {
    const texts = first === undefined ? [] : [first];
    // Positional parameters carry further words into the text.
    const carries = rest.length > 0 && /\$(?:[\d@*{]|\$)/.test(first ?? "");
    return { commands: carries ? [rest] : [], texts, certain: !carries };
  }
  if (first !== undefined) return { commands: [], texts: [], certain: true };
  return { commands: [], texts: stdin === undefined ? [] : [stdin], certain: stdin !== undefined };
}

function readFind(words: readonly string[]): WrappedCommands | undefined {
  const commands: string[][] = [];
  for (let at = 0; at < words.length; at++) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(words[at] as string)) continue;
    const rest = words.slice(at + 1);
    const end = rest.findIndex((word) => word === ";" || word === "+");
    commands.push(end < 0 ? rest : rest.slice(0, end));
    at += commands.at(-1)?.length ?? 0;
  }
  return commands.length > 0 ? { commands, texts: [], certain: false } : undefined;
}

function readFd(words: readonly string[]): WrappedCommands | undefined {
  const at = words.findIndex((word) => /^(?:-[xX]|--exec|--exec-batch)$/.test(word));
  return at < 0 ? undefined : { commands: [words.slice(at + 1)], texts: [], certain: false };
}

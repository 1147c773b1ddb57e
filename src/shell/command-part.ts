import type { CommandName, CommandPart } from "../core/signature.ts";
import { TRANSPARENT_WRAPPERS, NO_PREFIX_RULES } from "./looked-through.ts";
import type { CommandWord, SimpleCommand } from "./parse-command.ts";
import { normalizeProgramName } from "./program-name.ts";
import { readWrapper } from "./read-wrapper.ts";
import { isSafeEnvName } from "./safe-env-names.ts";
import { unwrapArgv } from "./unwrap-command.ts";

const FIND_ACTION = /^-(?:exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/;
const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=/;

/** One simple command as rules that allow see it. Words stay as written: a rule's text can only meet the same text. */
export function commandPart({ words, assignments }: SimpleCommand): CommandPart {
  const unsafe = assignments.find((assignment) => !isSafeEnvName(ASSIGNMENT.exec(assignment)?.[1] ?? ""));
  const closed = unsafe === undefined ? undefined : `it sets ${unsafe.split("=")[0] ?? unsafe}`;
  const [first] = words;
  if (!first) return closed ? { program: "", forms: [], closed } : { program: "", forms: [], harmless: true };
  if (!first.literal && first.source !== "[") {
    return { program: first.source, forms: [], closed: "its program is only known when it runs" };
  }
  const forms = formsOf(words);
  const runs = innerCommands(words.slice(-(forms.at(-1)?.words ?? 0)));
  return {
    program: normalizeProgramName(first.value),
    forms: forms.map(({ text, exactOnly }) => ({ text, exactOnly })),
    ...(runs && { runs }),
    ...(closed && { closed }),
  };
}

/** What a shell or another wrapper runs that rules which allow do not look into. */
function innerCommands(words: readonly CommandWord[]): string[] | undefined {
  const { commands, complete } = unwrapArgv(words.map(({ value }) => value));
  const [outer, ...inner] = commands;
  if (!outer || (inner.length === 0 && complete)) return undefined;
  if (!complete || !words.every(({ literal }) => literal)) return [];
  const wrappers = new Set(inner.flatMap(({ within }) => within));
  return inner.filter(({ name }) => !wrappers.has(name)).map(({ argv }) => argv.map(quoteWord).join(" "));
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function formsOf(words: readonly CommandWord[]): (CommandName & { words: number })[] {
  const forms: (CommandName & { words: number })[] = [];
  let rest = words;
  for (;;) {
    const inner = innerWords(rest);
    const text = rest.map(({ source }) => source).join(" ");
    forms.push({ text, exactOnly: inner !== undefined || isOpaque(rest), words: rest.length });
    if (inner === undefined) return forms;
    rest = inner;
  }
}

/** The words behind a wrapper, where it is certain which they are. */
function innerWords(words: readonly CommandWord[]): readonly CommandWord[] | undefined {
  // A path may lead to any program of that name.
  const name = words[0]?.value ?? "";
  if (!TRANSPARENT_WRAPPERS.has(name) || words.length < 2) return undefined;
  const inner = name === "xargs" || name === "noglob" ? wordsAfterBare(words) : wordsAfterOptions(name, words);
  if (!inner || inner.length === 0) return undefined;
  const wrapper = words.slice(0, words.length - inner.length);
  return wrapper.every(({ literal }) => literal) && inner[0]?.literal ? inner : undefined;
}

function wordsAfterBare(words: readonly CommandWord[]): readonly CommandWord[] | undefined {
  return words[1]?.value.startsWith("-") ? undefined : words.slice(1);
}

function wordsAfterOptions(name: string, words: readonly CommandWord[]): readonly CommandWord[] | undefined {
  const read = readWrapper(
    name,
    words.slice(1).map(({ value }) => value),
  );
  const [command] = read?.commands ?? [];
  return read?.certain && read.texts.length === 0 && command ? words.slice(words.length - command.length) : undefined;
}

function isOpaque([first, ...rest]: readonly CommandWord[]): boolean {
  const name = normalizeProgramName(first?.value ?? "");
  if (NO_PREFIX_RULES.has(name)) return true;
  // A word that is not literal may become such an action.
  return name === "find" && rest.some(({ value, literal }) => !literal || FIND_ACTION.test(value));
}

/** Failures of calls are worded for models. A person at a terminal gets the same facts, and what to type next. */
import type { ToolFailure } from "../core/error.ts";
import { isObject } from "../schema/json-schema.ts";

/** Advice that only a model can follow. */
const FOR_MODELS: readonly (readonly [RegExp, string])[] = [
  [/ ?Correct the call and send it again\./g, ""],
  [
    / ?(?:Do not (?:repeat|call) it(?: again| unchanged)?|Do not repeat (?:the call|it or try it another way))[;,.][^.]*\.?$/g,
    "",
  ],
  [/ ?Do not make this call again; [^.]*\./g, ""],
  [/Call (?:it )?again\b/g, "Try again"],
  [/\bbefore you call (?:it )?again\b/g, "before you try again"],
  [/, then (?:repeat|call) (?:the call|again|it again)\b/g, ", then try again"],
  [/, and repeat the call only after that\b/g, ", then try again"],
  [/\b(?:Tell|Ask) the (?:person|user) to /g, "You can "],
  [/ ?(?:Tell|Ask) the (?:person|user)(?: how to continue)?\./g, ""],
  [/\bTell the (?:person|user)[:;] /g, ""],
  [/, or tell the (?:person|user)(?: [^.]*)?(?=\.|$)/g, ""],
  [/; if it persists, tell the user(?: that)?/g, "; if it persists,"],
  [/\bThe user can\b/g, "You can"],
  [/\bthe user can\b/g, "you can"],
  [/ if the user agrees\b/g, ""],
  [/, or ask the (?:person|user) to [^.]*/g, ""],
  [/ ?Read its output for the cause, then correct the command\./g, ""],
  [/^(\S+): Invalid input: expected (\w+), received undefined$/gm, "$1 is missing ($2)"],
];

/** What to do at a terminal, where the advice for a model does not help. */
const NEXT: Partial<Record<ToolFailure["code"], (tool: string) => string>> = {
  invalid_input: (tool) => `\`haft tools describe ${tool}\` shows its parameters, with examples.`,
  not_read: () =>
    "Tools change only files that were read in the same session: with `haft serve` running, call read and this tool with the same --session NAME.",
  stale: () => "Read the file again in the same --session, then repeat the command.",
  plan_mode: () => "Use another --mode to change something.",
};

/** The rest of these messages tells a model how to go on. */
const FIRST_SENTENCE_ONLY: ReadonlySet<ToolFailure["code"]> = new Set(["not_read", "plan_mode"]);

/** The message of a failed call, and what to do next. */
export function explainToPeople(
  { code, message, data }: ToolFailure,
  tool: string,
): { message: string; next?: string } {
  const issues = isObject(data) && code === "invalid_input" ? data["issues"] : undefined;
  const said = Array.isArray(issues) && issues.length > 0 ? issues.map(String).join("\n") : message;
  return {
    message: wordForPeople(FIRST_SENTENCE_ONLY.has(code) ? firstSentence(said) : said),
    next: NEXT[code]?.(tool),
  };
}

export function wordForPeople(text: string): string {
  return FOR_MODELS.reduce((worded, [pattern, instead]) => worded.replace(pattern, instead), text).trim();
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
}

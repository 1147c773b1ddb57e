import { commandParser } from "../../../core/signature.ts";
import { compileRule, type CompiledRule } from "./compile-rule.ts";
import { parseRule } from "./rule.ts";

/** What a rule would and would not allow, for a person who decides whether to save it. */
export interface RuleExamples {
  rule: string;
  allows: string[];
  /** Calls that would still ask. */
  asks: string[];
}

const MAX_EXAMPLES = 2;

/** Two or three examples. Those of commands are tried against the rule itself, so they are true. */
export function ruleExamples(text: string): RuleExamples {
  try {
    const rule = compileRule({ text, list: "allow", origin: "suggestion" });
    return { rule: text, ...examplesOf(rule) };
  } catch {
    // A person may have written something that is not a rule.
    return { rule: text, allows: [], asks: [] };
  }
}

function examplesOf(rule: CompiledRule): Omit<RuleExamples, "rule"> {
  const { name, spec } = parseRule(rule.text);
  if (spec === undefined) return { allows: [`every call of ${name}`], asks: [] };
  switch (rule.family) {
    case "command":
      return commandExamples(rule, spec);
    case "changes":
      return { allows: [`every change of ${shown(spec)}`], asks: ["a change of any other file"] };
    case "reads":
      return { allows: [`reading ${shown(spec)}`], asks: ["reading any other file"] };
    case "urls": {
      const host = spec.replace(/^domain:/i, "");
      return {
        allows: [`every address of ${host}`],
        asks: host.startsWith("*") ? ["any other host"] : [`sub.${host}`],
      };
    }
    case undefined:
      return { allows: [`calls with ${spec}`], asks: ["any other call"] };
  }
}

function commandExamples(rule: CompiledRule, spec: string): Omit<RuleExamples, "rule"> {
  const parser = commandParser();
  if (!parser) return { allows: [], asks: [] };
  const covers = (command: string): boolean => {
    const [part, ...more] = parser.read(command).parts;
    return more.length === 0 && (part?.forms.some((form) => rule.coversCommand(form)) ?? false);
  };
  const prefix = /^(.*?)(?: \*|:\*)$/s.exec(spec)?.[1];
  if (prefix === undefined || prefix.includes("*")) {
    const command = spec.replaceAll("\\*", "*");
    return { allows: ["exactly this command"], asks: [`${firstWords(command)} with other words`] };
  }
  const { covered, not } = parser.prefixExamples(prefix);
  const allows = [prefix, ...covered.map((option) => `${prefix} ${option}`), `${prefix} x`];
  const asks = new Set([`${prefix} ${not}`, `${prefix} --output=FILE`, `${prefix} $X`]);
  return {
    allows: allows.filter(covers).slice(0, MAX_EXAMPLES),
    asks: [...asks].filter((command) => !covers(command)).slice(0, MAX_EXAMPLES),
  };
}

function firstWords(command: string): string {
  return command.split(" ").slice(0, 2).join(" ");
}

function shown(spec: string): string {
  return spec.replace(/\\([*?[\]{}\\])/g, "$1");
}

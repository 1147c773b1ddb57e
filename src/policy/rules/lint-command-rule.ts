import { TRANSPARENT_WRAPPERS, NO_PREFIX_RULES } from "../../shell/looked-through.ts";
import type { RuleRemark } from "./rule-finding.ts";
import type { RuleList } from "./rule.ts";
import { hasWildcard } from "./wildcard.ts";

const RUNS_ANYTHING = new RegExp(
  "^(?:bash|sh|zsh|dash|ksh|fish|sudo|doas|su|env|xargs|eval|exec|python3?|node|ruby|perl|php|npx|bunx|ssh" +
    "|docker (?:run|exec))$",
);

/** What is wrong with the spec of a rule about commands. */
export function lintCommandRule(spec: string, list: RuleList): RuleRemark[] {
  const remarks: RuleRemark[] = [];
  const pattern = spec.endsWith(":*") ? `${spec.slice(0, -2)} *` : spec;
  const isOpen = hasWildcard(pattern);
  const never = (message: string): number => remarks.push({ level: "error", code: "never_matches", message });
  if (/:\*./.test(spec)) never('":*" means a beginning only at the very end. Use "*" inside a command.');
  if (list !== "allow") return remarks;
  if (isOpen && /&&|\|\||[;|\n]|&\s*$/.test(pattern)) {
    never("Commands are taken apart at && || ; | and each part needs a rule. Write one rule for each part.");
  }
  if (/^[A-Za-z_]\w*=/.test(pattern) && isOpen) {
    never("Harmless variables before a command are left out, others are always asked about. Write the command alone.");
  }
  const [first = ""] = pattern.split(" ");
  if (isOpen && first !== "xargs" && TRANSPARENT_WRAPPERS.has(first)) {
    never(`"${first}" is looked through. Write a rule for the command behind it.`);
  }
  if (isOpen && NO_PREFIX_RULES.has(first)) {
    never(`"${first}" runs what stands behind it: only the whole command, without "*", can be allowed.`);
  }
  const program = pattern.replace(/ ?\*$/, "");
  if (isOpen && RUNS_ANYTHING.test(program)) {
    remarks.push({
      level: "warning",
      code: "too_wide",
      message: `"${program}" runs any program: this allows everything.`,
    });
  } else if (/[\w-]\*$/.test(pattern) && !/\s/.test(pattern)) {
    const message = `It also allows every program whose name begins so. Write "${program} *" for that program alone.`;
    remarks.push({ level: "warning", code: "too_wide", message });
  }
  return remarks;
}

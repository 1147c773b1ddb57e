import type { RuleSource } from "./rule.ts";
import { RuleSet } from "./rule-book.ts";

/** Rules in whichever way a host gives them, as a book; one that is given is the one that is used. */
export function readRules(given: Omit<RuleSource, "origin"> | readonly RuleSource[] | RuleSet | undefined): RuleSet {
  if (given instanceof RuleSet) return given;
  if (given === undefined) return new RuleSet();
  return new RuleSet(Array.isArray(given) ? (given as readonly RuleSource[]) : [{ ...given, origin: "host" }]);
}

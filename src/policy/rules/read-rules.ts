import type { RuleSource } from "./rule.ts";
import { RuleBook } from "./rule-book.ts";

/** Rules in whichever way a host gives them, as a book; one that is given is the one that is used. */
export function readRules(given: Omit<RuleSource, "origin"> | readonly RuleSource[] | RuleBook | undefined): RuleBook {
  if (given instanceof RuleBook) return given;
  if (given === undefined) return new RuleBook();
  return new RuleBook(Array.isArray(given) ? (given as readonly RuleSource[]) : [{ ...given, origin: "host" }]);
}

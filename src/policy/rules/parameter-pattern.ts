import { propertyNames } from "./parameter-names.ts";
import type { Subject } from "./subject.ts";
import { compileWildcard, type TextMatcher } from "./wildcard.ts";

export interface ParameterPattern {
  name: string;
  value: TextMatcher;
}

/** `Tool(model:opus*)`: one parameter and its value. `name:*` stays a pattern of commands, as in `Bash(env:*)`. */
export function parseParameterPattern(spec: string): ParameterPattern | undefined {
  const [, name, value] = /^([A-Za-z_][\w-]*):(.+)$/s.exec(spec) ?? [];
  return name === undefined || value === undefined || value === "*" || name === "domain"
    ? undefined
    : { name, value: compileWildcard(value.trim()) };
}

/**
 * Undefined where the tool has no such parameter: then it is no rule about one. What the tool's signature already
 * speaks of (the command, a path) is matched by that alone, which sees through wrappers and links.
 */
export function matchParameter({ name, value }: ParameterPattern, subject: Subject): boolean | undefined {
  const { tool, input } = subject;
  const canonical = tool.parameterAliases.get(name) ?? name;
  if (!propertyNames(tool).has(canonical)) return undefined;
  const given = (input as Record<string, unknown> | undefined)?.[canonical];
  if (given === undefined || given === null || isInSignature(given, subject)) return false;
  return value(typeof given === "string" ? given : JSON.stringify(given));
}

function isInSignature(given: unknown, { command, reads, changes, urls }: Subject): boolean {
  if (typeof given !== "string") return false;
  return given === command?.text || urls.includes(given) || [...reads, ...changes].some((path) => path.given === given);
}

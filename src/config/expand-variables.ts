import type { ConfigPath } from "./config-problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLE = /\$(\$?)\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/** `${VAR}` and `${VAR:-default}` (also where VAR is empty); `$${VAR}` stays `${VAR}`. Missing ones stay as written. */
export function expandVariables(text: string, env: Environment, onMissing: (name: string) => void): string {
  return text.replace(VARIABLE, (whole, escape: string, name: string, fallback: string | undefined) => {
    if (escape) return whole.slice(1);
    const value = env[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) onMissing(name);
    return value ?? whole;
  });
}

export interface Expansion {
  value: unknown;
  /** The texts that were changed: where the schema wants a number or a boolean, they may become one. */
  expanded: ConfigPath[];
}

/** Expands the texts of a value, never its keys, and nothing below a path that `isLiteral`. */
export function expandAll(
  value: unknown,
  env: Environment,
  { isLiteral, onMissing }: { isLiteral(path: ConfigPath): boolean; onMissing(name: string, path: ConfigPath): void },
): Expansion {
  const expanded: ConfigPath[] = [];
  const expand = (each: unknown, path: ConfigPath): unknown => {
    if (isLiteral(path)) return each;
    if (typeof each === "string") {
      if (!each.includes("${")) return each;
      expanded.push(path);
      return expandVariables(each, env, (name) => onMissing(name, path));
    }
    if (Array.isArray(each)) return each.map((item, index) => expand(item, [...path, index]));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, field]) => [key, expand(field, [...path, key])]));
  };
  return { value: expand(value, []), expanded };
}

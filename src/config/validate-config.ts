import type { z } from "zod";
import { didYouMean } from "../core/nearest-name.ts";
import { type ConfigPath, pathKey } from "./config-problem.ts";
import type { HaftConfig } from "./config-schema.ts";
import type { Expansion } from "./expand-variables.ts";

export interface Violation {
  path: ConfigPath;
  message: string;
}

type Issue = z.core.$ZodIssue;
type AnySchema = z.core.$ZodTypes;

/** The configuration, or everything that is wrong with it. The schema library is loaded when first needed. */
export async function validateConfig({ value, expanded }: Expansion): Promise<HaftConfig | Violation[]> {
  const { configSchema } = await import("./config-schema.ts");
  const first = configSchema.safeParse(value);
  if (first.success) return first.data;
  const fromVariables = new Set(expanded.map(pathKey));
  const converted = convert(value, first.error.issues.flatMap(flatten), fromVariables);
  const again = configSchema.safeParse(converted);
  if (again.success) return again.data;
  return again.error.issues.flatMap(flatten).flatMap((issue) =>
    explain(issue, configSchema as AnySchema, (path) =>
      // A variable may hold a secret.
      fromVariables.has(pathKey(path)) ? "what the variable holds" : describe(valueAt(converted, path)),
    ),
  );
}

/** Of a union the branch that comes furthest: the one that its author meant. */
function flatten(issue: Issue): Issue[] {
  if (issue.code !== "invalid_union") return [issue];
  const branches = issue.errors
    .map((errors) => errors.flatMap((each) => flatten({ ...each, path: [...issue.path, ...each.path] } as Issue)))
    .filter((errors) => errors.length > 0);
  const depthOf = (errors: Issue[]) =>
    Math.max(...errors.map(({ code, path }) => path.length + (code === "unrecognized_keys" ? 1 : 0)));
  const best = branches.toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0];
  if (!best || depthOf(best) <= issue.path.length) return [issue];
  return best;
}

/** What a variable gave is text; where a number or a boolean is wanted, it is read as one. */
function convert(value: unknown, issues: readonly Issue[], fromVariables: ReadonlySet<string>): unknown {
  const wanted = new Map<string, string>();
  for (const issue of issues) {
    const key = pathKey(issue.path as ConfigPath);
    if (issue.code === "invalid_type" && fromVariables.has(key)) wanted.set(key, issue.expected);
  }
  const walk = (each: unknown, path: ConfigPath): unknown => {
    if (typeof each === "string") return convertText(each, wanted.get(pathKey(path)));
    if (Array.isArray(each)) return each.map((item, index) => walk(item, [...path, index]));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([key, field]) => [key, walk(field, [...path, key])]));
  };
  return wanted.size === 0 ? value : walk(value, []);
}

function convertText(text: string, wanted: string | undefined): unknown {
  if (wanted === "number" || wanted === "int") {
    return /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
  }
  if (wanted === "boolean" && /^(true|false)$/i.test(text.trim())) return text.trim().toLowerCase() === "true";
  return text;
}

function explain(issue: Issue, schema: AnySchema, given: (path: ConfigPath) => string): Violation[] {
  const path = issue.path as ConfigPath;
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(schema, path);
      return issue.keys.map((key) => {
        const near = didYouMean(key, known) ?? (known.length > 0 ? `Known keys: ${known.join(", ")}.` : "");
        return { path: [...path, key], message: `Unknown key. ${near}`.trim() };
      });
    }
    case "invalid_type":
      return [{ path, message: `Must be ${withArticle(issue.expected)}, but is ${given(path)}.` }];
    case "invalid_value":
      return [{ path, message: mustBeOneOf(issue.values.map(String), given(path)) }];
    case "invalid_union": {
      const kinds = issue.errors.flatMap((errors) =>
        errors.flatMap((each) => (each.code === "invalid_type" ? [withArticle(each.expected)] : [])),
      );
      const wanted = [...new Set(kinds)].join(" or ");
      if (wanted) return [{ path, message: `Must be ${wanted}, but is ${given(path)}.` }];
      const options = "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
      if (options.length > 0) return [{ path, message: mustBeOneOf(options, given(path)) }];
      return [{ path, message: "Is none of the forms that are known here." }];
    }
    default:
      return [{ path, message: `${issue.message}.` }];
  }
}

function mustBeOneOf(values: readonly string[], given: string): string {
  const near = didYouMean(/"(.*)"/.exec(given)?.[1] ?? "", values) ?? "";
  return `Must be one of ${values.join(", ")}, but is ${given}. ${near}`.trim();
}

function withArticle(expected: string): string {
  const words: Record<string, string> = { string: "text", record: "an object", int: "an integer" };
  return words[expected] ?? `${/^[aeio]/.test(expected) ? "an" : "a"} ${expected}`;
}

function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "empty (null)";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  // Never the whole text: it may be a secret.
  if (typeof value === "string") return value.length > 40 ? "a long text" : `the text ${JSON.stringify(value)}`;
  return JSON.stringify(value);
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at;
}

/** The keys that the definition knows at a place, through whatever wraps it. */
function keysAt(schema: AnySchema, path: ConfigPath): string[] {
  const { def } = schema._zod as { def: AnySchema["_zod"]["def"] };
  const [part, ...rest] = path;
  switch (def.type) {
    case "optional":
      return keysAt(def.innerType as AnySchema, path);
    case "union":
      return def.options.flatMap((option) => keysAt(option as AnySchema, path));
    case "intersection":
      return [def.left, def.right].flatMap((side) => keysAt(side as AnySchema, path));
    case "object": {
      if (part === undefined) return Object.keys(def.shape);
      const next = Object.hasOwn(def.shape, part) ? def.shape[part as string] : undefined;
      return next ? keysAt(next as AnySchema, rest) : [];
    }
    case "record":
      return part === undefined ? [] : keysAt(def.valueType as AnySchema, rest);
    case "array":
      return part === undefined ? [] : keysAt(def.element as AnySchema, rest);
    default:
      return [];
  }
}

import type { JsonSchema } from "./json-schema.ts";

/** The common interface for schemas of all libraries: it describes and validates. */
export interface Schema<T = unknown> extends SchemaCheck<T> {
  /** JSON Schema 2020-12 of the input. Created on first use, then cached. */
  readonly jsonSchema: JsonSchema;
}

/** A schema that only checks values. */
export interface SchemaCheck<T = unknown> {
  /** Never throws for an invalid value. Returns a promise only if the schema itself is asynchronous. */
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}

/** The result type of Standard Schema, so results of its libraries need no conversion. */
export type Validation<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The issue for a value that cannot be inspected: a throwing getter, a hostile proxy, a cycle. */
export function unreadable(cause: unknown): SchemaIssue {
  let reason = "";
  try {
    if (cause instanceof RangeError) return { message: "is nested too deeply or contains itself", path: [] };
    if (cause instanceof Error && typeof cause.message === "string") reason = `: ${cause.message}`;
  } catch {
    // The thrown value may be hostile too.
  }
  return { message: `could not be checked${reason}`, path: [] };
}

/** `edits[0].old_string: must be a string`: one line per issue, for a model. */
export function formatIssues(issues: readonly SchemaIssue[]): string[] {
  return boundIssues(issues, (issue) => {
    const path = pathText(pathOf(issue));
    if (path) return `${path}: ${issue.message}`;
    // Messages without a path need a subject.
    return /^\p{Ll}/u.test(issue.message) ? `the input ${issue.message}` : issue.message;
  });
}

/** The response to a hostile input must not be as long as the input. */
const MAX_ISSUES = 100;
const MAX_ISSUE_LENGTH = 500;

function boundIssues(issues: readonly SchemaIssue[], format: (issue: SchemaIssue) => string): string[] {
  const lines = issues.slice(0, MAX_ISSUES).map((issue) => {
    const line = format(issue);
    return line.length > MAX_ISSUE_LENGTH ? `${line.slice(0, MAX_ISSUE_LENGTH).toWellFormed()}…` : line;
  });
  if (issues.length > MAX_ISSUES) lines.push(`and ${issues.length - MAX_ISSUES} more`);
  return lines;
}

export function pathOf(issue: SchemaIssue): PropertyKey[] {
  return (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
}

export function pathText(path: readonly PropertyKey[]): string {
  let out = "";
  for (const part of path) {
    if (typeof part === "number") out += `[${part}]`;
    else if (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(String(part))) out += out ? `.${String(part)}` : String(part);
    else out += `[${JSON.stringify(String(part))}]`;
  }
  return out;
}

/** What all copies of Haft in this process share: a bundle, the command line, a linked package. Created when used. */
export function sharedByCopies<T>(name: string, create: () => T): T {
  const key = Symbol.for(`haft/${name}/1`);
  if (!(key in globalThis)) Object.defineProperty(globalThis, key, { value: create() });
  return (globalThis as unknown as Record<symbol, T>)[key] as T;
}

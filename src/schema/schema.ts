import type { JsonSchema } from "./json-schema.ts";

/** One shape for every schema library: what validates is what describes. */
export interface Schema<T = unknown> {
  /** JSON Schema 2020-12 of what a caller passes in. Made at first use, then kept. */
  readonly jsonSchema: JsonSchema;
  /** Never throws for a bad value. A promise only where the schema itself is asynchronous or still loading. */
  validate(value: unknown): Validation<T> | Promise<Validation<T>>;
}

/** The result shape of Standard Schema, so that libraries which speak it pass through unconverted. */
export type Validation<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** `edits[0].old_string: must be a string`: one line an issue, for a model. */
export function formatIssues(issues: readonly SchemaIssue[]): string[] {
  return boundIssues(issues, (issue) => {
    const path = pathText(pathOf(issue));
    if (path) return `${path}: ${issue.message}`;
    // Messages that speak of a place need a subject where the place is the whole input.
    return /^\p{Ll}/u.test(issue.message) ? `the input ${issue.message}` : issue.message;
  });
}

/** Enough for any honest mistake: what a hostile input is answered must not be as long as the input. */
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

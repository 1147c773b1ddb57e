import type { SchemaIssue } from "../schema/schema.ts";

/** `edits[0].old_string: must be a string`: one line an issue, for a model. */
export function formatIssues(issues: readonly SchemaIssue[]): string[] {
  return issues.map((issue) => {
    const path = pathText(pathOf(issue));
    return path ? `${path}: ${issue.message}` : issue.message;
  });
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

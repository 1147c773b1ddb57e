import { joinOr, listValues, nameType, typeNames } from "./describe-error.ts";
import type { CheckError } from "./describe-error.ts";
import { parsePointer } from "./resolve-ref.ts";
import type { SchemaIssue } from "./schema.ts";

const MAX_FORMS = 5;

type ToIssues = (errors: readonly CheckError[]) => SchemaIssue[];
type ValueAt = (instancePath: string) => unknown;

/**
 * A failed `anyOf` or `oneOf` reports every branch's errors. Keeps those of the branch that was evidently meant, or
 * says in one issue which forms there are.
 */
export function collapseUnions(errors: readonly CheckError[], toIssues: ToIssues, valueAt: ValueAt): SchemaIssue[] {
  const plain: CheckError[] = [];
  const issues: SchemaIssue[] = [];
  const taken = new Set<CheckError>();
  // An outer union is reported after what is inside it.
  for (const error of errors.toReversed()) {
    if (taken.has(error)) continue;
    if (!isFailedUnion(error)) {
      plain.unshift(error);
      continue;
    }
    const branches = branchesOf(error, errors);
    for (const branch of branches) for (const each of branch) taken.add(each);
    issues.unshift(...explainUnion(error, branches, toIssues, valueAt));
  }
  return [...toIssues(plain), ...issues];
}

function isFailedUnion({ keyword, params }: CheckError): boolean {
  if (keyword === "anyOf") return true;
  return keyword === "oneOf" && Array.isArray(params["passingSchemas"]) && params["passingSchemas"].length === 0;
}

function branchesOf(union: CheckError, errors: readonly CheckError[]): CheckError[][] {
  const prefix = `${union.schemaPath}/${union.keyword}/`;
  const branches = new Map<string, CheckError[]>();
  for (const error of errors) {
    const isBelow =
      error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`);
    if (!isBelow || !error.schemaPath.startsWith(prefix)) continue;
    const number = error.schemaPath.slice(prefix.length).split("/", 1)[0] ?? "";
    branches.set(number, [...(branches.get(number) ?? []), error]);
  }
  return [...branches.values()];
}

function explainUnion(
  union: CheckError,
  branches: CheckError[][],
  toIssues: ToIssues,
  valueAt: ValueAt,
): SchemaIssue[] {
  const here = union.instancePath;
  const isWrongKind = (error: CheckError): boolean =>
    error.instancePath === here && ["type", "const", "enum", "boolean"].includes(error.keyword);
  const isWrongTag = (error: CheckError): boolean =>
    (error.keyword === "const" || error.keyword === "enum") &&
    parsePointer(error.instancePath).length === parsePointer(here).length + 1;

  const rightKind = branches.filter((branch) => !branch.some(isWrongKind));
  const rightTag = rightKind.filter((branch) => !branch.some(isWrongTag));
  const meant = rightKind.length === 1 ? rightKind[0] : rightTag.length === 1 ? rightTag[0] : undefined;
  if (meant !== undefined) return collapseUnions(meant, toIssues, valueAt);

  const path = toIssues([{ ...union, keyword: "boolean", params: {} }])[0]?.path ?? [];
  if (rightKind.length === 0) {
    return [{ message: describeKinds(branches.flat().filter(isWrongKind), valueAt(here)), path }];
  }
  const tags = rightTag.length === 0 ? rightKind.flat().filter(isWrongTag) : [];
  const [tag] = tags;
  if (tag !== undefined && tags.every(({ instancePath }) => instancePath === tag.instancePath)) {
    return toIssues([{ ...tag, keyword: "enum", params: { allowedValues: valuesOf(tags) } }]);
  }
  const forms = rightKind.slice(0, MAX_FORMS).map((branch, at) => {
    const first = collapseUnions(branch, toIssues, valueAt).map(({ message, path: inner = [] }) => {
      const name = inner.slice(path.length).map(String).join(".");
      return name === "" ? message : `${name} ${message}`;
    });
    return `(${at + 1}) ${first.join(" and ")}`;
  });
  return [{ message: `matches none of the allowed forms: ${forms.join("; ")}`, path }];
}

/** No branch takes a value of this kind: all that they take, in one sentence. */
function describeKinds(errors: readonly CheckError[], found: unknown): string {
  const types = errors.filter(({ keyword }) => keyword === "type").flatMap(({ params }) => typeNames(params["type"]));
  const values = valuesOf(errors);
  // A branch such as { type: "string", const: "a" } fails on both; its value says more than its type.
  const parts = values.length > 0 ? [...typesBeside(errors), listValues(values)] : types;
  return parts.length === 0 ? "is not allowed here" : `must be ${joinOr(parts)}, got ${nameType(found)}`;
}

function typesBeside(errors: readonly CheckError[]): string[] {
  const valued = new Set(errors.filter(({ keyword }) => keyword !== "type").map(({ schemaPath }) => schemaPath));
  const bare = errors.filter(({ keyword, schemaPath }) => keyword === "type" && !valued.has(schemaPath));
  return bare.flatMap(({ params }) => typeNames(params["type"]));
}

function valuesOf(errors: readonly CheckError[]): unknown[] {
  const values = errors.flatMap(({ keyword, params }) =>
    keyword === "enum" ? (params["allowedValues"] as unknown[]) : keyword === "const" ? [params["allowedValue"]] : [],
  );
  return [...new Set(values)];
}

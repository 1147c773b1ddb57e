import { collapseUnions } from "./collapse-unions.ts";
import { describeError } from "./describe-error.ts";
import type { CheckError } from "./describe-error.ts";
import { propertiesOf, schemaAt } from "./find-property.ts";
import { asSchema } from "./json-schema.ts";
import type { JsonSchema } from "./json-schema.ts";
import { followRef, parsePointer } from "./resolve-ref.ts";
import type { SchemaIssue } from "./schema.ts";

type CollectErrors = (schema: JsonSchema, value: unknown) => CheckError[];

/** Turns a failed check into issues that a model can act on: each problem once, at its path, in words. */
export function explainErrors(root: JsonSchema, value: unknown, collect: CollectErrors): SchemaIssue[] {
  const errors = expandConditions(root, value, collect(root, value), collect);
  const toIssues = (some: readonly CheckError[]): SchemaIssue[] =>
    withoutNoise(some).flatMap((error) => issuesOf(root, value, error));
  const issues = unique(collapseUnions(errors, toIssues, (path) => valueAt(value, parsePointer(path)).value));
  return issues.length > 0 ? issues : [{ message: "does not match the schema", path: [] }];
}

/** The validator says that a `then` failed, but not why; what it demands is checked once more by itself. */
function expandConditions(
  root: JsonSchema,
  value: unknown,
  errors: CheckError[],
  collect: CollectErrors,
): CheckError[] {
  return errors.flatMap((error) => {
    if (error.keyword !== "if") return [error];
    if (error.params["failingKeyword"] === "else") return [];
    const then = asSchema(schemaAtPointer(root, `${error.schemaPath.slice(1)}/then`));
    if (then === undefined) return [error];
    const { $defs, definitions } = root;
    const part = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }), ...then };
    const inner = collect(part, valueAt(value, parsePointer(error.instancePath)).value);
    if (inner.length === 0) return [error];
    return inner.map((each) => ({
      ...each,
      schemaPath: `${error.schemaPath}/then${each.schemaPath.slice(1)}`,
      instancePath: error.instancePath + each.instancePath,
    }));
  });
}

/** Follows a schema path of the validator, which passes through references without naming them. */
function schemaAtPointer(root: JsonSchema, pointer: string): unknown {
  let current: unknown = root;
  for (const key of parsePointer(pointer)) {
    while (typeof current === "object" && current !== null && !Object.hasOwn(current, key)) {
      current = followRef(root, current as JsonSchema);
    }
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

/** Errors that only repeat what another one says better. */
function withoutNoise(errors: readonly CheckError[]): CheckError[] {
  const named = errors.filter(({ keyword }) => keyword === "propertyNames");
  return errors.filter((error) => {
    const { keyword, schemaPath, instancePath, params } = error;
    if (keyword === "boolean" && schemaPath.endsWith("/additionalProperties")) return false;
    if (named.some((each) => isInside(error, each, "/propertyNames"))) return false;
    if (keyword !== "additionalProperties") return true;
    // Properties that the schema for further ones refused have their own errors.
    const isExplained = (name: unknown): boolean =>
      errors.some(
        (other) =>
          other.keyword !== "boolean" &&
          other.schemaPath.startsWith(`${schemaPath}/additionalProperties`) &&
          parsePointer(other.instancePath)[parsePointer(instancePath).length] === name,
      );
    return !(params["additionalProperties"] as unknown[]).every(isExplained);
  });
}

function isInside(error: CheckError, outer: CheckError, keyword: string): boolean {
  return error !== outer && error.schemaPath.startsWith(outer.schemaPath + keyword);
}

function issuesOf(root: JsonSchema, value: unknown, error: CheckError): SchemaIssue[] {
  const { path, value: found } = valueAt(value, parsePointer(error.instancePath));
  const at = (message: string): SchemaIssue => ({ message, path });
  const { params } = error;
  switch (error.keyword) {
    case "required":
      return names(params["requiredProperties"]).map((name) => at(`is missing the required property "${name}"`));
    case "additionalProperties":
    case "unevaluatedProperties": {
      const known = [...propertiesOf(root, schemaAt(root, path) ?? {}).keys()];
      const all = names(params[error.keyword]);
      const unknown = all.filter((name) => error.keyword === "additionalProperties" || !known.includes(name));
      const advice = known.length === 0 ? "" : `; the properties are ${known.join(", ")}`;
      return unknown.map((name) => at(`has the unknown property "${name}"${advice}`));
    }
    case "propertyNames":
      return names(params["propertyNames"]).map((name) =>
        at(`has a property with the name "${name}", which is not allowed`),
      );
    default:
      return [at(describeError(error, found))];
  }
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The value at a pointer, and the path to it with list positions as numbers. */
function valueAt(start: unknown, keys: readonly string[]): { value: unknown; path: (string | number)[] } {
  const path: (string | number)[] = [];
  let value = start;
  for (const key of keys) {
    path.push(Array.isArray(value) ? Number(key) : key);
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  }
  return { value, path };
}

function unique(issues: readonly SchemaIssue[]): SchemaIssue[] {
  const seen = new Set<string>();
  return issues.filter((issue) => {
    const key = JSON.stringify([issue.path, issue.message]);
    return !seen.has(key) && seen.add(key);
  });
}

import type { CheckError } from "./compile-json-schema.ts";
import { isObject, type JsonSchema, memberOf, parsePointer } from "./json-schema.ts";
import { propertiesOf, schemaAt, typeOfValue } from "./schema-properties.ts";
import type { SchemaIssue } from "./schema.ts";

/** Converts validation errors to issues for a model: each problem once, with its path, in plain words. */
export function explainErrors(root: JsonSchema, value: unknown, errors: readonly CheckError[]): SchemaIssue[] {
  const toIssues = (some: readonly CheckError[]): SchemaIssue[] =>
    some.flatMap((error) => issuesOf(root, value, error));
  const issues = unique(collapseUnions(errors, toIssues, (path) => valueAt(value, parsePointer(path)).value));
  return issues.length > 0 ? issues : [{ message: "does not match the schema", path: [] }];
}

const UNKNOWN_PROPERTY = "unknown_property";

export function isUnknownProperty(issue: SchemaIssue): boolean {
  return "code" in issue && issue.code === UNKNOWN_PROPERTY;
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
      const advice = known.length === 0 ? "" : `; the properties are ${known.join(", ")}`;
      return names(params[error.keyword]).map((name) =>
        known.includes(name)
          ? at(`has the property "${name}", which is not allowed with the others`)
          : Object.assign(at(`has the unknown property "${name}"${advice}`), { code: UNKNOWN_PROPERTY }),
      );
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

/** The value at a pointer, and its path with list indexes as numbers. */
function valueAt(start: unknown, keys: readonly string[]): { value: unknown; path: (string | number)[] } {
  const path: (string | number)[] = [];
  let value = start;
  for (const key of keys) {
    path.push(Array.isArray(value) ? Number(key) : key);
    value = memberOf(value, key);
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

const MAX_FORMS = 5;

type ToIssues = (errors: readonly CheckError[]) => SchemaIssue[];
type ValueAt = (instancePath: string) => unknown;

/** Of a failed `anyOf` or `oneOf`, keeps the errors of the branch that was meant, or lists the alternatives. */
function collapseUnions(errors: readonly CheckError[], toIssues: ToIssues, valueAt: ValueAt): SchemaIssue[] {
  const plain: CheckError[] = [];
  const issues: SchemaIssue[] = [];
  const taken = new Set<CheckError>();
  // An outer union is reported after its inner errors.
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
  return [{ message: `matches none of the alternatives: ${forms.join("; ")}`, path }];
}

/** No branch accepts a value of this kind: lists the accepted ones in one sentence. */
function describeKinds(errors: readonly CheckError[], found: unknown): string {
  const types = errors.filter(({ keyword }) => keyword === "type").flatMap(({ params }) => typeNames(params["type"]));
  const values = valuesOf(errors);
  // A branch such as { type: "string", const: "a" } fails for both; its value is more useful than its type.
  const parts = values.length > 0 ? [...typesWithoutValues(errors), listValues(values)] : types;
  return parts.length === 0 ? "is not allowed here" : `must be ${joinOr(parts)}, got ${nameType(found)}`;
}

function typesWithoutValues(errors: readonly CheckError[]): string[] {
  const valued = new Set(errors.filter(({ keyword }) => keyword !== "type").map(({ schemaPath }) => schemaPath));
  const bare = errors.filter(({ keyword, schemaPath }) => keyword === "type" && !valued.has(schemaPath));
  return bare.flatMap(({ params }) => typeNames(params["type"]));
}

function valuesOf(errors: readonly CheckError[]): unknown[] {
  const values = errors.flatMap(({ keyword, params }) =>
    keyword === "enum" ? listOf(params["allowedValues"]) : keyword === "const" ? [params["allowedValue"]] : [],
  );
  return [...new Set(values)];
}

const MAX_LISTED = 20;
const MAX_SHOWN = 60;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "PT15M",
  email: "name@example.org",
  uri: "https://example.org/page",
  url: "https://example.org/page",
  uuid: "0f8fad5b-d9cb-469f-a165-70867728950e",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  hostname: "example.org",
};

/** Describes a failed keyword for the sender of the value. */
function describeError({ keyword, params }: CheckError, found: unknown): string {
  const limit = String(params["limit"]);
  switch (keyword) {
    case "type":
      return `must be ${joinOr(typeNames(params["type"]))}, got ${nameType(found, params["type"] === "integer")}`;
    case "enum":
      return `must be ${listValues(listOf(params["allowedValues"]))}, got ${showValue(found)}`;
    case "const":
      return `must be ${showValue(params["allowedValue"])}, got ${showValue(found)}`;
    case "minimum":
      return `must be at least ${limit}, got ${showValue(found)}`;
    case "maximum":
      return `must be at most ${limit}, got ${showValue(found)}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}, got ${showValue(found)}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}, got ${showValue(found)}`;
    case "multipleOf":
      return `must be a multiple of ${String(params["multipleOf"])}, got ${showValue(found)}`;
    case "minLength":
      return `must have at least ${plural(params["limit"], "character")}, has ${countOf(found)}`;
    case "maxLength":
      return `must have at most ${plural(params["limit"], "character")}, has ${countOf(found)}`;
    case "minItems":
      return `must have at least ${plural(params["limit"], "item")}, has ${countOf(found)}`;
    case "maxItems":
      return `must have at most ${plural(params["limit"], "item")}, has ${countOf(found)}`;
    case "minProperties":
      return `must have at least ${limit} ${limit === "1" ? "property" : "properties"}, has ${countOf(found)}`;
    case "maxProperties":
      return `must have at most ${limit} ${limit === "1" ? "property" : "properties"}, has ${countOf(found)}`;
    case "uniqueItems":
      return "must not contain the same item twice";
    case "pattern":
      return `must match the pattern ${String(params["pattern"])}, got ${showValue(found)}`;
    case "format":
      return describeFormat(String(params["format"]), found);
    case "contains":
      return "must contain an item that its schema requires";
    case "dependentRequired":
    case "dependencies":
      return `also needs ${quoteAll(params["dependencies"])}, because "${String(params["property"])}" is given`;
    case "boolean":
      return "is not allowed here";
    case "not":
      return `must not match the schema that is excluded, got ${showValue(found)}`;
    case "oneOf":
      return "matches several of the alternatives, but must match exactly one";
    case "~refine":
      return String(params["message"]);
    default:
      return "does not match the schema";
  }
}

function typeNames(type: unknown): string[] {
  return [type].flat().map((each) => TYPE_NAMES[String(each)] ?? String(each));
}

/** The type of a value, or the number itself if the type alone would not show the problem. */
function nameType(value: unknown, showNumber = false): string {
  if (typeof value === "number") return showNumber || !Number.isFinite(value) ? String(value) : "number";
  return typeOfValue(value) ?? typeof value;
}

function listValues(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_LISTED).map(showValue).join(", ");
  const more = values.length - MAX_LISTED;
  if (values.length === 1) return shown;
  return more > 0 ? `one of ${shown} and ${more} more` : `one of ${shown}`;
}

function showValue(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean" && value !== null) {
    return typeOfValue(value) ?? typeof value;
  }
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function joinOr(parts: readonly string[]): string {
  const distinct = [...new Set(parts)];
  const last = distinct.at(-1) ?? "";
  return distinct.length < 2 ? last : `${distinct.slice(0, -1).join(", ")} or ${last}`;
}

function describeFormat(format: string, found: unknown): string {
  const example = Object.hasOwn(FORMAT_EXAMPLES, format) ? `, such as ${FORMAT_EXAMPLES[format]}` : "";
  return `must have the format ${format}${example}; got ${showValue(found)}`;
}

function countOf(value: unknown): number {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 0;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function plural(count: unknown, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function quoteAll(names: unknown): string {
  return (Array.isArray(names) ? names : [names]).map((name) => `"${String(name)}"`).join(", ");
}

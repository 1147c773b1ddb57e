import type { InferOutput, SchemaSource } from "./infer.ts";
import { isJsonType, isObject, type JsonSchema } from "./json-schema.ts";
import type { SchemaProblem } from "./lint-json-schema.ts";
import {
  type Schema,
  type SchemaCheck,
  type SchemaIssue,
  sharedByCopies,
  unreadable,
  type Validation,
} from "./schema.ts";
import { dateHint, splitConversions } from "./convert-input.ts";
import { describeStandard, type StandardSchema } from "./standard-schema.ts";

type Validator = (value: unknown) => Validation<unknown>;

/** Checks JSON Schemas, and validates by them. */
interface JsonSchemaEngine {
  /** What makes a schema unusable: a keyword with a wrong value, a pattern that may take forever. */
  lint(schema: unknown): readonly SchemaProblem[];
  /** For a schema without problems. */
  makeValidator(root: JsonSchema): Validator;
}

let own: JsonSchemaEngine | undefined;

/** The runtime brings it, and `toSchema`: a bundle that only defines tools does without. */
export function provideEngine(engine: JsonSchemaEngine): void {
  own = engine;
}

function shared(): { make?: (root: JsonSchema) => Validator } {
  return sharedByCopies("validator", () => ({}));
}

/** For the tools of other copies of Haft in this process: a bundle that only defines tools has no engine. */
export function shareEngine(engine: JsonSchemaEngine): void {
  shared().make ??= (root) => {
    refuseProblems(engine, root);
    return engine.makeValidator(root);
  };
}

function refuseProblems(engine: JsonSchemaEngine, schema: JsonSchema): void {
  const problems = engine.lint(schema);
  if (problems.length === 0) return;
  const list = problems.map(({ path, message }) => `- ${path} ${message}`);
  throw new TypeError(`This JSON Schema cannot be used:\n${list.join("\n")}`);
}

/** As `toSchema`, which also provides the validator. */
export function readSchema<const S extends SchemaSource>(source: S): Schema<InferOutput<S>> {
  return normalise(source) as Schema<InferOutput<S>>;
}

/** Only checks a value of the program: it may have functions and objects of classes, which JSON Schema cannot describe. */
export function readCheck<const S extends SchemaSource>(source: S): SchemaCheck<InferOutput<S>> {
  if (!isStandard(source)) return readSchema(source);
  const { validate } = source["~standard"];
  return { validate: (value) => settle(validate(value)) as ReturnType<SchemaCheck<InferOutput<S>>["validate"]> };
}

function isSchema(value: unknown): value is Schema {
  return isObject(value) && "jsonSchema" in value && typeof value["validate"] === "function";
}

function normalise(source: unknown): Schema {
  if (isStandard(source)) return fromStandard(source);
  if (isSchema(source)) return source;
  if (Array.isArray(source)) return fromJsonSchema(parameterListToJsonSchema(source));
  if (!isObject(source)) throw new TypeError(`A schema must be an object, got ${nameOf(source)}. ${ACCEPTED}`);
  rejectLookAlikes(source);
  return fromJsonSchema(source);
}

const ACCEPTED = "Accepted: Zod, Valibot, ArkType, other Standard Schemas, TypeBox, JSON Schema, a list of parameters.";

function isStandard(source: unknown): source is StandardSchema {
  // ArkType's types are functions.
  if ((typeof source !== "object" && typeof source !== "function") || source === null) return false;
  if (!("~standard" in source)) return false;
  const standard = source["~standard"];
  return isObject(standard) && typeof standard["validate"] === "function";
}

function fromStandard(source: StandardSchema): Schema {
  refuseValues(source);
  let described: ReturnType<typeof splitConversions> | undefined;
  const describe = (): ReturnType<typeof splitConversions> =>
    (described ??= splitConversions(describeStandard(source)));
  // Read once, because some libraries create it on each access.
  const standard = source["~standard"];
  const mayConvert = standard.jsonSchema !== undefined || standard.vendor === "zod" || standard.vendor === "valibot";
  return {
    get jsonSchema() {
      return describe().jsonSchema;
    },
    validate(value) {
      try {
        const { convert } = mayConvert ? describe() : {};
        if (!convert) return settle(standard.validate(value));
        const result = standard.validate(convert(value));
        return result instanceof Promise
          ? result.then((each) => withDateHints(each, value)).catch(refusal)
          : withDateHints(result, value);
      } catch (cause) {
        return refusal(cause);
      }
    },
  };
}

function settle<T>(result: Validation<T> | Promise<Validation<T>>): Validation<T> | Promise<Validation<T>> {
  return result instanceof Promise ? result.catch(refusal) : result;
}

/** "Expected a date, received a string" does not say what to write. */
function withDateHints<T>(result: Validation<T>, given: unknown): Validation<T> {
  if (!result.issues) return result;
  const issues = result.issues.map((issue) => {
    const hint = /date/i.test(issue.message) ? dateHint(valueAt(given, issue.path ?? [])) : undefined;
    return hint === undefined ? issue : { ...issue, message: `${issue.message}: ${hint}` };
  });
  return { issues };
}

function valueAt(value: unknown, path: NonNullable<SchemaIssue["path"]>): unknown {
  return path.reduce<unknown>((inner, step) => {
    const key = typeof step === "object" ? step.key : step;
    return typeof inner === "object" && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined;
  }, value);
}

/** Types of Zod and Valibot that no JSON can become, and what to write instead. */
const REFUSED: Readonly<Record<string, string>> = {
  file: "a path or a text in base64 (`z.base64()`), and make the file in the tool",
  blob: "a text in base64 (`v.base64()`), and make the blob in the tool",
  symbol: "a text or an enumeration",
  function: "the name of what to call",
  promise: "the value itself",
};

/** Calls could never satisfy such a schema, so the tool that has it is refused. */
function refuseValues(source: StandardSchema): void {
  const seen = new Set<unknown>();
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || seen.has(value) || depth > 20) return;
    seen.add(value);
    const node = value as { _zod?: { def?: unknown }; kind?: unknown; type?: unknown };
    const def = isObject(node._zod?.def) ? node._zod.def : node;
    const { type } = def;
    const isSchemaNode = def !== node || node.kind === "schema";
    if (isSchemaNode && typeof type === "string" && Object.hasOwn(REFUSED, type)) {
      throw new TypeError(`JSON has no value of the type ${type}. Use ${REFUSED[type]}.`);
    }
    if (!isSchemaNode && !Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return;
    for (const name of Object.keys(def)) {
      let inner: unknown;
      try {
        inner = (def as Record<string, unknown>)[name];
      } catch {
        // A recursive schema whose other part is defined later.
        continue;
      }
      visit(inner, depth + 1);
    }
  };
  if (source["~standard"].vendor === "zod" || source["~standard"].vendor === "valibot") visit(source, 0);
}

function refusal(cause: unknown): Validation<never> {
  return { issues: [unreadable(cause)] };
}

function fromJsonSchema(source: JsonSchema): Schema {
  if (own) refuseProblems(own, source);
  const schema = { jsonSchema: withoutDialect(source), validate: validatorOf(source) };
  fromJson.add(schema);
  return schema;
}

function validatorOf(root: JsonSchema): Schema["validate"] {
  let validate: Validator | undefined;
  return (value) => {
    validate ??= own ? own.makeValidator(root) : shared().make?.(root);
    if (validate) return validate(value);
    throw new Error('This bundle contains no validator, because it only defines tools. Import createHaft from "haft".');
  };
}

const fromJson = new WeakSet<Schema>();

/** Whether its JSON Schema says all that it checks. */
export function isJsonSchema(schema: Schema): boolean {
  return fromJson.has(schema);
}

function withoutDialect(source: JsonSchema): JsonSchema {
  if (source["$schema"] === undefined) return source;
  const { $schema: _, ...rest } = source;
  return rest;
}

/** Rejects objects that would pass as an empty JSON Schema, which accepts every input. */
function rejectLookAlikes(source: JsonSchema): void {
  if (typeof source["safeParse"] === "function") {
    throw new TypeError("Zod 3.24 or newer is needed.");
  }
  const members = Object.values(source);
  if (members.some(isStandard)) {
    throw new TypeError("This is an object of schemas: wrap it, for example in z.object({ … }).");
  }
  const keys = Object.keys(source);
  if (keys.length > 0 && !keys.some((key) => KEYWORDS.has(key))) {
    throw new TypeError(`This object has no keyword of JSON Schema, only ${keys.slice(0, 5).join(", ")}. ${ACCEPTED}`);
  }
}

const KEYWORDS = new Set(
  [
    "$schema $id $ref $defs $dynamicRef $anchor $comment definitions type enum const default title examples",
    "properties required additionalProperties patternProperties propertyNames unevaluatedProperties minProperties",
    "maxProperties dependentRequired dependentSchemas dependencies items prefixItems contains allOf anyOf oneOf not if",
    "format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems",
    "description uniqueItems readOnly writeOnly deprecated contentEncoding contentMediaType",
  ].flatMap((line) => line.split(" ")),
);

function nameOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/** One entry of a parameter list, the shortest form of an input schema. */
export interface Parameter {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "array" | "object";
  readonly description?: string;
  /** Default: true, unless there is a `default`. */
  readonly required?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  /** JSON Schema of an array's items. */
  readonly items?: JsonSchema;
}

/** Throws a TypeError with all problems of the list. */
function parameterListToJsonSchema(list: readonly unknown[]): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const problems: string[] = [];
  for (const [at, entry] of list.entries()) {
    const problem = problemOf(entry);
    if (problem !== undefined) {
      problems.push(`- parameter ${at}: ${problem}`);
      continue;
    }
    const parameter = entry as Parameter;
    if (Object.hasOwn(properties, parameter.name)) {
      problems.push(`- parameter ${at}: the name "${parameter.name}" is already used`);
    }
    properties[parameter.name] = toProperty(parameter);
    if (parameter.required ?? parameter.default === undefined) required.push(parameter.name);
  }
  if (problems.length > 0) throw new TypeError(`This list of parameters cannot be used:\n${problems.join("\n")}`);
  return {
    type: "object",
    properties,
    required: required.length > 0 ? required : undefined,
    additionalProperties: false,
  };
}

function problemOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return "must be an object with at least a name and a type";
  const { name, type } = entry;
  if (typeof name !== "string" || name === "") return "must have a name";
  if (name === "__proto__") return "must not be named __proto__";
  if (!isJsonType(type) || type === "null") {
    return `"${name}" must have one of the types string, integer, number, boolean, array, object`;
  }
  if (entry["required"] !== undefined && typeof entry["required"] !== "boolean") {
    return `"${name}" has a "required" that is neither true nor false`;
  }
  return undefined;
}

function toProperty({ type, description, default: fallback, enum: allowed, items }: Parameter): JsonSchema {
  return { type, description, enum: allowed, items, default: fallback };
}

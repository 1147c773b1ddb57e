import { asSchema, followRef, formatPointer, isObject, type JsonSchema, refOf } from "./json-schema.ts";

/** A part of a schema that a model sees in a simplified form. The gate validates calls with the complete schema. */
export interface Simplification {
  /** JSON Pointer into the tool's schema. */
  path: string;
  what: string;
}

interface PortableSchema {
  schema: JsonSchema;
  simplified: readonly Simplification[];
  /** With strict rules: why the provider cannot enforce this schema. */
  blockers: readonly string[];
}

const MAX_NODES = 5_000;
const MAX_DEPTH = 40;

const cache = new WeakMap<JsonSchema, Map<SchemaRules, PortableSchema>>();

/** Converts a schema to `rules`: flat at the root, without references, and with supported keywords only. */
export function toPortableSchema(schema: JsonSchema, rules: SchemaRules): PortableSchema {
  let byRules = cache.get(schema);
  if (!byRules) cache.set(schema, (byRules = new Map()));
  let converted = byRules.get(rules);
  if (!converted) byRules.set(rules, (converted = convert(schema, rules)));
  return converted;
}

type Path = readonly PropertyKey[];
/** The enclosing schemas. Meeting one of them again is recursion. */
type Open = readonly JsonSchema[];

interface Conversion {
  readonly root: JsonSchema;
  readonly rules: SchemaRules;
  readonly simplified: Simplification[];
  readonly blockers: Set<string>;
  readonly defs: Map<JsonSchema, Definition>;
  nodes: number;
}

interface Definition {
  name: string;
  schema: JsonSchema;
}

function convert(root: JsonSchema, rules: SchemaRules): PortableSchema {
  const to: Conversion = { root, rules, simplified: [], blockers: new Set(), defs: new Map(), nodes: 0 };
  const flat = flatten(to, root, [], [root]);
  const object = withoutUnions(to, { ...flat.schema, type: "object" }, [], flat.open);
  const schema = writeSchema(to, { properties: {}, ...object }, [], flat.open);
  if (to.defs.size > 0) {
    schema["$defs"] = Object.fromEntries([...to.defs.values()].map((def) => [def.name, def.schema]));
  }
  return { schema, simplified: to.simplified, blockers: [...to.blockers] };
}

function report(to: Conversion, path: Path, what: string): void {
  const pointer = `#${formatPointer(path)}`;
  if (!to.simplified.some((each) => each.path === pointer && each.what === what))
    to.simplified.push({ path: pointer, what });
}

/** Merges references and `allOf` into one schema. Unions stay. */
function flatten(to: Conversion, schema: JsonSchema, path: Path, open: Open): { schema: JsonSchema; open: Open } {
  const { $ref: _ref, $dynamicRef: _dynamic, $recursiveRef: _recursive, allOf, ...own } = schema;
  let joined: JsonSchema = own;
  let inside = open;
  const add = (part: JsonSchema): void => {
    if (inside.includes(part))
      return report(to, path, "a reference to itself without a property in between was removed");
    const flat = flatten(to, part, path, [...inside, part]);
    inside = flat.open;
    joined = mergeSchemas(joined, flat.schema, (what) => report(to, path, what));
  };
  if (refOf(schema) !== undefined) {
    const target = followRef(to.root, schema);
    if (target) add(target);
    else report(to, path, `the dangling reference ${refOf(schema)} was removed`);
  }
  for (const part of Array.isArray(allOf) ? allOf : []) add(asSchema(part) ?? {});
  return { schema: joined, open: inside };
}

/** Converts a subschema. */
function convertPart(to: Conversion, value: unknown, path: Path, open: Open): JsonSchema {
  const schema = asSchema(value) ?? {};
  if (++to.nodes > MAX_NODES || path.length > 2 * MAX_DEPTH) {
    report(to, [], "is too large to be shown completely: the deepest parts are shown as any value");
    to.blockers.add("the schema is too large");
    return {};
  }
  const target = refOf(schema) === undefined ? undefined : followRef(to.root, schema);
  const definition = target && to.defs.get(target);
  if (definition) return refTo(to, definition, schema);
  if (open.includes(target ?? schema)) return cutRecursion(to, target ?? schema, schema, path);
  const flat = flatten(to, schema, path, [...open, schema]);
  return writeSchema(to, joinUnions(to, flat.schema, path, flat.open), path, flat.open);
}

function cutRecursion(to: Conversion, target: JsonSchema, at: JsonSchema, path: Path): JsonSchema {
  if (!to.rules.references) {
    report(to, path, "is recursive; this level is shown without its details");
    to.blockers.add("the schema is recursive");
    const { type } = flatten(to, target, path, [target]).schema;
    const description = at["description"] ?? target["description"];
    return {
      type,
      items: type === "array" ? {} : undefined,
      description: [description, "(the same structure again, as deep as needed)"].filter(Boolean).join(" "),
    };
  }
  const existing = to.defs.get(target);
  if (existing) return refTo(to, existing, at);
  const definition: Definition = { name: `form${to.defs.size + 1}`, schema: {} };
  to.defs.set(target, definition);
  const flat = flatten(to, target, path, [target]);
  // Nothing is open inside a definition, so the next reference finds the definition itself.
  definition.schema = writeSchema(to, joinUnions(to, flat.schema, path, []), path, []);
  return refTo(to, definition, at);
}

function refTo(to: Conversion, { name }: Definition, { description }: JsonSchema): JsonSchema {
  const ref: JsonSchema = { $ref: `#/$defs/${name}` };
  // Strict providers allow no other keyword next to a reference.
  return to.rules.allRequired || description === undefined ? ref : { ...ref, description };
}

function branchesOf(to: Conversion, schema: JsonSchema, path: Path): JsonSchema[] | undefined {
  const { anyOf, oneOf } = schema;
  if (Array.isArray(anyOf) && Array.isArray(oneOf)) report(to, path, "of anyOf and oneOf, only anyOf is shown");
  const list: unknown[] | undefined = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  return list?.map((branch) => asSchema(branch) ?? {});
}

/** Merges the alternatives of an object into one object with the properties of all of them. */
function withoutUnions(to: Conversion, schema: JsonSchema, path: Path, open: Open): JsonSchema {
  const branches = branchesOf(to, schema, path)?.map((branch) => flatten(to, branch, path, open));
  const { anyOf: _any, oneOf: _one, ...base } = schema;
  const optional = [schema["then"], schema["else"], ...Object.values(asObject(schema["dependentSchemas"]))];
  let joined = base;
  for (const part of optional) {
    if (!isObject(part)) continue;
    const flat = flatten(to, part, path, open);
    const { properties } = withoutUnions(to, flat.schema, path, flat.open);
    if (isObject(properties)) joined = { ...joined, properties: { ...properties, ...asObject(joined["properties"]) } };
  }
  if (!branches) return joined;
  const forms = branches
    .filter((branch) => mayBeObject(branch.schema))
    .map((branch) => withoutUnions(to, branch.schema, path, branch.open));
  if (forms.length < branches.length) report(to, path, "alternatives that are not objects were removed");
  if (forms.length > 1) report(to, path, `${forms.length} alternatives were merged into one object`);
  return joinForms(joined, forms);
}

function mayBeObject({ type, properties }: JsonSchema): boolean {
  return type === undefined ? true : [type].flat().includes("object") || properties !== undefined;
}

function joinUnions(to: Conversion, schema: JsonSchema, path: Path, open: Open): JsonSchema {
  const hasOptionalParts = isObject(schema["then"]) || isObject(schema["else"]) || isObject(schema["dependentSchemas"]);
  const branches = branchesOf(to, schema, path);
  if (!branches) return hasOptionalParts ? withoutUnions(to, schema, path, open) : schema;
  if (isObject(schema["properties"])) return withoutUnions(to, schema, path, open);
  return joinChoices(schema, branches);
}

function writeSchema(to: Conversion, schema: JsonSchema, path: Path, open: Open): JsonSchema {
  const { rules } = to;
  const hints: string[] = [];
  const written: JsonSchema = {};
  for (const [keyword, value] of Object.entries(constAsEnum(schema))) {
    if (WRITTEN_SEPARATELY.has(keyword) || value === undefined) continue;
    if (keyword === "format" && rules.formats && !rules.formats.has(String(value)))
      hints.push(`format: ${String(value)}`);
    else if (rules.keywords.has(keyword)) written[keyword] = value;
    else if (SHOWN_IN_WORDS.has(keyword))
      hints.push(`${keyword}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    else if (CHECKED_ONLY.has(keyword)) report(to, [...path, keyword], "is checked when a call comes, and not shown");
  }
  writeType(to, schema, written, hints);
  writeArray(to, schema, written, path, open);
  writeObject(to, schema, written, path, open);
  if (Array.isArray(schema["anyOf"])) {
    written["anyOf"] = schema["anyOf"].map((branch, at) => convertPart(to, branch, [...path, "anyOf", at], open));
  }
  for (const hint of hints) report(to, path, `"${hint}" is shown in words`);
  const description = [schema["description"], hints.length > 0 ? `(${hints.join(", ")})` : ""]
    .filter(Boolean)
    .join(" ");
  if (description !== "") written["description"] = description;
  if (
    rules.closed &&
    written["type"] === undefined &&
    written["anyOf"] === undefined &&
    written["$ref"] === undefined
  ) {
    to.blockers.add(`${formatPointer(path) || "the root"} has no type`);
  }
  return written;
}

function constAsEnum(schema: JsonSchema): JsonSchema {
  if (!("const" in schema)) return schema;
  const { const: only, ...rest } = schema;
  return { ...rest, enum: [only] };
}

function writeType(to: Conversion, schema: JsonSchema, written: JsonSchema, hints: string[]): void {
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  let type = schema["type"];
  if (type === undefined && isObject(schema["properties"])) type = "object";
  if (type === undefined && (schema["items"] !== undefined || schema["prefixItems"] !== undefined)) type = "array";
  if (Array.isArray(values)) {
    type ??= oneOrList([...new Set(values.map(jsonTypeOf))]);
    if (!to.rules.stringEnums || values.every((value) => typeof value === "string")) written["enum"] = values;
    else hints.push(`one of ${values.map((value) => JSON.stringify(value)).join(", ")}`);
  }
  if (type !== undefined) written["type"] = Array.isArray(type) ? oneOrList(type) : type;
}

function oneOrList(types: readonly unknown[]): unknown {
  return types.length === 1 ? types[0] : types;
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

function writeArray(to: Conversion, schema: JsonSchema, written: JsonSchema, path: Path, open: Open): void {
  const { prefixItems, items } = schema;
  const tuple: unknown[] | undefined = Array.isArray(prefixItems)
    ? prefixItems
    : Array.isArray(items)
      ? items
      : undefined;
  if (tuple) {
    report(to, path, "a tuple is shown as a list of any of its types");
    const rest = Array.isArray(items) ? schema["additionalItems"] : items;
    const parts = [...tuple, ...(isObject(rest) ? [rest] : [])].map((item, at) =>
      convertPart(to, item, [...path, "prefixItems", at], open),
    );
    const distinct = [...new Map(parts.map((part) => [JSON.stringify(part), part])).values()];
    written["items"] = distinct.length === 1 ? distinct[0] : { anyOf: distinct };
    if (to.rules.keywords.has("maxItems") && !isObject(rest) && rest !== true) written["maxItems"] ??= tuple.length;
  } else if (items !== undefined && items !== true) {
    written["items"] = convertPart(to, items, [...path, "items"], open);
  } else if ([written["type"]].flat().includes("array")) {
    // Several providers reject a list without `items`.
    written["items"] = {};
    if (to.rules.closed) to.blockers.add(`${formatPointer(path)} is a list of anything`);
  }
}

function writeObject(to: Conversion, schema: JsonSchema, written: JsonSchema, path: Path, open: Open): void {
  const { rules } = to;
  const { properties } = schema;
  const rest = schema["additionalProperties"] ?? schema["unevaluatedProperties"];
  const isOpen = rest === true || (isObject(rest) && !isNothing(rest));
  if (isObject(properties)) {
    const shown: Record<string, JsonSchema> = {};
    const requiredNames = Array.isArray(schema["required"])
      ? schema["required"].filter((name) => Object.hasOwn(properties, name))
      : [];
    for (const [name, property] of Object.entries(properties)) {
      const at = [...path, "properties", name];
      if (isNothing(property)) {
        report(to, at, "accepts nothing and is not shown");
        continue;
      }
      if (!rules.propertyName.test(name) && path.length > 0) report(to, at, "has a name that the provider may reject");
      const part = convertPart(to, property, at, open);
      shown[name] = rules.allRequired && !requiredNames.includes(name) ? orNull(part) : part;
    }
    written["properties"] = shown;
    const required = rules.allRequired
      ? Object.keys(shown)
      : requiredNames.filter((name) => Object.hasOwn(shown, name));
    if (required.length > 0 || rules.allRequired) written["required"] = required;
  }
  if (![written["type"]].flat().includes("object")) return;
  const acceptsAny = isOpen || isObject(schema["patternProperties"]) || (!isObject(properties) && rest !== false);
  if (rules.closed) {
    if (acceptsAny) to.blockers.add(`${formatPointer(path) || "the root"} accepts any property`);
    written["additionalProperties"] = false;
    written["properties"] ??= {};
    if (rules.allRequired) written["required"] ??= [];
  } else if (rules.keywords.has("additionalProperties")) {
    if (isObject(rest) && !isNothing(rest)) {
      written["additionalProperties"] = convertPart(to, rest, [...path, "additionalProperties"], open);
    } else if (typeof rest === "boolean") written["additionalProperties"] = rest;
  } else if (isOpen) report(to, [...path, "additionalProperties"], "further properties are accepted, but not shown");
}

function isNothing(value: unknown): boolean {
  const schema = asSchema(value);
  return schema !== undefined && isObject(schema["not"]) && Object.keys(schema["not"]).length === 0;
}

/** If a provider requires every property, null means an omitted one. The gate reads it like that. */
function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values } = schema;
  if (type !== undefined) {
    const nullable = { ...schema, type: [...new Set([type, "null"].flat())] };
    return Array.isArray(values) && !values.includes(null) ? { ...nullable, enum: [...values, null] } : nullable;
  }
  if (schema["$ref"] !== undefined) return { anyOf: [schema, { type: "null" }] };
  const choices = schema["anyOf"];
  if (!Array.isArray(choices) || choices.some((choice) => isObject(choice) && choice["type"] === "null")) return schema;
  return { ...schema, anyOf: [...choices, { type: "null" }] };
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** The part of JSON Schema that a provider supports. */
export interface SchemaRules {
  /** In addition to those that every provider supports. */
  readonly keywords: ReadonlySet<string>;
  /** Supported values of `format`. Default: all. */
  readonly formats?: ReadonlySet<string>;
  /** Whether a recursive schema may refer to its `$defs`. */
  readonly references: boolean;
  /** Every object has `additionalProperties: false`. */
  readonly closed?: boolean;
  /** Every property is required; optional ones may be null. */
  readonly allRequired?: boolean;
  readonly stringEnums?: boolean;
  readonly propertyName: RegExp;
}

/** Supported by every provider, with special rules. */
const WRITTEN_SEPARATELY: ReadonlySet<string> = new Set([
  ...["type", "description", "enum", "properties", "required", "items", "prefixItems", "anyOf", "oneOf"],
  ...["additionalProperties", "unevaluatedProperties"],
]);

/** If a provider does not support these, the description contains them. Other keywords mean nothing to a model. */
const SHOWN_IN_WORDS: ReadonlySet<string> = new Set([
  ..."minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems".split(" "),
  ...["minLength", "maxLength", "pattern", "format", "minProperties", "maxProperties", "default", "contentEncoding"],
]);

/** Too complex to describe: a call that violates them is rejected with a message. */
const CHECKED_ONLY: ReadonlySet<string> = new Set([
  ...["not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "patternProperties"],
  ...["propertyNames", "contains", "minContains", "maxContains", "contentSchema"],
]);

export const LIMITS = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split(" ");
export const PLAIN = [
  "title",
  "default",
  "format",
  "pattern",
  "minLength",
  "maxLength",
  "additionalProperties",
  ...LIMITS,
];
export const COMMON_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The rules that all providers have in common. */
export const COMMON_RULES: SchemaRules = { keywords: new Set(PLAIN), references: false, propertyName: COMMON_NAME };

/** Of two lower limits the larger applies, of two upper limits the smaller. */
const LOWER = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"]);
const UPPER = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"]);
const ANNOTATIONS = new Set(["title", "description", "default", "examples", "$comment", "$id", "$schema", "$anchor"]);

/** Merges two schemas that both apply. If a keyword cannot be merged, the first value stays, and `lost` is called. */
function mergeSchemas(first: JsonSchema, second: JsonSchema, lost: (what: string) => void): JsonSchema {
  const merged: JsonSchema = { ...first };
  for (const [keyword, value] of Object.entries(second)) {
    const before = merged[keyword];
    if (before === undefined) merged[keyword] = value;
    else if (JSON.stringify(before) !== JSON.stringify(value)) merged[keyword] = both(keyword, before, value, lost);
  }
  return merged;
}

function both(keyword: string, first: unknown, second: unknown, lost: (what: string) => void): unknown {
  if (LOWER.has(keyword)) return Math.max(Number(first), Number(second));
  if (UPPER.has(keyword)) return Math.min(Number(first), Number(second));
  if (ANNOTATIONS.has(keyword)) return first;
  if (keyword === "properties" && isObject(first) && isObject(second)) return mergeProperties(first, second);
  if (keyword === "required") return [...new Set([first, second].flat())];
  if (keyword === "type" || keyword === "enum") return overlap([first].flat(), [second].flat(), first);
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") return closest(first, second);
  if (keyword === "items" && isObject(first) && isObject(second)) return { allOf: [first, second] };
  if (keyword === "$defs" || keyword === "definitions") return { ...asObject(second), ...asObject(first) };
  lost(`two different values of ${keyword} both apply; only the first is shown`);
  return first;
}

function mergeProperties(first: Record<string, unknown>, second: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...first };
  for (const [name, property] of Object.entries(second)) {
    merged[name] = Object.hasOwn(merged, name) ? { allOf: [merged[name], property] } : property;
  }
  return merged;
}

function overlap(first: unknown[], second: unknown[], otherwise: unknown): unknown {
  const has = (list: unknown[], value: unknown): boolean =>
    list.some((each) => JSON.stringify(each) === JSON.stringify(value)) ||
    (value === "integer" && list.includes("number"));
  const common = [
    ...first.filter((value) => has(second, value)),
    ...second.filter((value) => value === "integer" && !first.includes(value) && has(first, value)),
  ];
  if (common.length === 0) return otherwise;
  return Array.isArray(otherwise) ? common : common[0];
}

function closest(first: unknown, second: unknown): unknown {
  if (first === false || second === false) return false;
  if (first === true) return second;
  return second === true ? first : { allOf: [first, second] };
}

/** Merges alternatives into one object with all properties. Required are those that every alternative requires. */
function joinForms(base: JsonSchema, forms: readonly JsonSchema[]): JsonSchema {
  const properties = new Map<string, unknown[]>();
  for (const form of forms) {
    for (const [name, property] of Object.entries(propertiesIn(form))) {
      properties.set(name, [...(properties.get(name) ?? []), property]);
    }
  }
  const own = propertiesIn(base);
  const joined: Record<string, unknown> = { ...own };
  for (const [name, found] of properties) {
    const choices = distinct(found);
    const either = choices.length === 1 ? choices[0] : { anyOf: choices };
    joined[name] = Object.hasOwn(own, name)
      ? choices.length === 1
        ? { allOf: [own[name], either] }
        : own[name]
      : either;
  }
  const lists = forms.map(requiredIn);
  const always = lists[0]?.filter((name) => lists.every((list) => list.includes(name))) ?? [];
  const required = [...new Set([...requiredIn(base), ...always])];
  const isClosed = base["additionalProperties"] === false || (forms.length > 0 && forms.every(isClosedForm));
  const requirements = lists.map((list) => [...new Set([...requiredIn(base), ...list])].join(", "));
  const hint =
    new Set(requirements).size > 1
      ? `Give one of these: ${requirements.map((names) => `{ ${names} }`).join(" or ")}.`
      : "";
  const description = [base["description"], hint].filter(Boolean).join(" ");
  const object: JsonSchema = { ...base, properties: joined };
  if (required.length > 0) object["required"] = required;
  if (isClosed) object["additionalProperties"] = false;
  if (description !== "") object["description"] = description;
  return object;
}

/** A choice below the root: fixed values become an enum, everything else stays a choice. */
function joinChoices(schema: JsonSchema, branches: readonly JsonSchema[]): JsonSchema {
  const { anyOf: _any, oneOf: _one, type, ...rest } = schema;
  const typed = branches.map((branch) =>
    type === undefined || branch["type"] !== undefined ? branch : { type, ...branch },
  );
  const choices = distinct(typed);
  const [only] = choices;
  if (choices.length === 1 && only) return { ...only, ...rest };
  const values = choices.map(fixedValues);
  if (values.every((list) => list !== undefined)) return { ...rest, enum: distinct(values.flat()) };
  return { ...rest, anyOf: choices };
}

function fixedValues(branch: JsonSchema): unknown[] | undefined {
  const { type: _type, ...rest } = branch;
  const keys = Object.keys(rest);
  if (keys.length === 1 && "const" in rest) return [rest["const"]];
  if (keys.length === 1 && Array.isArray(rest["enum"])) return rest["enum"];
  return keys.length === 0 && branch["type"] === "null" ? [null] : undefined;
}

function propertiesIn({ properties }: JsonSchema): Record<string, unknown> {
  return isObject(properties) ? properties : {};
}

function requiredIn({ required }: JsonSchema): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function isClosedForm(form: JsonSchema): boolean {
  return form["additionalProperties"] === false;
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

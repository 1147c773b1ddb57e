import { boundedTest } from "./exponential-regex.ts";
import { isFormat } from "./formats.ts";
import {
  addressOf,
  asSchema,
  eachSubschema,
  findDynamicAnchor,
  findRef,
  isObject,
  type JsonSchema,
} from "./json-schema.ts";

// JSON Schema 2020-12 as nested functions. It is our own, because a program that only defines tools must stay small, runs
// in places without `eval`, and validates at once, without waiting for a package to load.

/** A keyword that a value does not satisfy. */
export interface CheckError {
  readonly keyword: string;
  /** The schema that has the keyword, such as `#/properties/size`. References are not part of it. */
  readonly schemaPath: string;
  /** JSON Pointer to the value. */
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface CompiledSchema {
  check(value: unknown): boolean;
  /** What is wrong with the value, at most `max` errors. The errors of an `anyOf` or `oneOf` precede its own. */
  errors(value: unknown, max: number): CheckError[];
}

/** Compiles a linted schema: every reference leads to a schema, and no reference only to itself. */
export function compileJsonSchema(root: JsonSchema): CompiledSchema {
  const compiler = new Compiler(root);
  const check = compiler.compile(root);
  // A run without errors and dynamic references has no state.
  const shared = compiler.hasDynamicRefs ? undefined : new Run(undefined, 0);
  return {
    check: (value) => check(value, shared ?? new Run(undefined, 0), "", "", undefined),
    errors(value, max) {
      const run = new Run([], max);
      check(value, run, "", "#", undefined);
      return run.errors ?? [];
    },
  };
}

/** One validation. Without `errors` it ends at the first failure, and paths are not built. */
class Run {
  readonly errors: CheckError[] | undefined;
  readonly max: number;
  /** The addresses of the schema resources that were entered: the dynamic scope of `$dynamicRef`. */
  readonly scope: string[] = [];

  constructor(errors: CheckError[] | undefined, max: number) {
    this.errors = errors;
    this.max = max;
  }

  /** Returns false, so that a check can end with it. */
  fail(keyword: string, schemaPath: string, instancePath: string, params: Record<string, unknown>): false {
    if (this.errors && this.errors.length < this.max) this.errors.push({ keyword, schemaPath, instancePath, params });
    return false;
  }

  /** True if nothing more needs to be examined after a failure. */
  get isDone(): boolean {
    return this.errors === undefined || this.errors.length >= this.max;
  }
}

/** What the schemas for the same value have evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
class Evaluated {
  readonly names = new Set<string>();
  readonly items = new Set<number>();
  hasAllItems = false;

  add(other: Evaluated): void {
    for (const name of other.names) this.names.add(name);
    for (const item of other.items) this.items.add(item);
    this.hasAllItems ||= other.hasAllItems;
  }
}

type Check = (value: unknown, run: Run, at: string, path: string, seen: Evaluated | undefined) => boolean;

const always: Check = () => true;
const never: Check = (_, run, at, path) => run.fail("boolean", path, at, {});

type Entries = Record<string, unknown>;

class Compiler {
  readonly #root: JsonSchema;
  readonly #compiled = new Map<JsonSchema, { check: Check }>();
  /** Dynamic references are rare, and keeping their scope costs time. */
  readonly hasDynamicRefs: boolean;

  constructor(root: JsonSchema) {
    this.#root = root;
    this.hasDynamicRefs = hasKeyword(root, "$dynamicRef", new Set());
  }

  compile(source: unknown): Check {
    if (source === true || source === undefined) return always;
    const schema = source === false ? undefined : asSchema(source);
    if (schema === undefined) return never;
    const known = this.#compiled.get(schema);
    // A recursive schema refers to its own check, which exists when the first value arrives.
    if (known) return (value, run, at, path, seen) => known.check(value, run, at, path, seen);
    const entry = { check: always };
    this.#compiled.set(schema, entry);
    entry.check = this.#inScope(schema, this.#checkOf(schema));
    return entry.check;
  }

  #checkOf(schema: JsonSchema): Check {
    const checks = [
      checkType(schema),
      checkValues(schema),
      checkText(schema),
      checkNumber(schema),
      ...this.#references(schema),
      ...this.#combinations(schema),
      ...this.#objects(schema),
      ...this.#arrays(schema),
      checkRefinement(schema),
    ].filter((check) => check !== undefined);
    const rest = [this.#unevaluatedProperties(schema), this.#unevaluatedItems(schema)].filter(
      (check) => check !== undefined,
    );
    if (rest.length === 0) return every(checks);
    const own = every([...checks, ...rest]);
    // What a parent evaluated does not count, but what is evaluated here counts for the parent.
    return (value, run, at, path, seen) => {
      const evaluated = new Evaluated();
      const isValid = own(value, run, at, path, evaluated);
      if (isValid) seen?.add(evaluated);
      return isValid;
    };
  }

  #inScope(schema: JsonSchema, check: Check): Check {
    if (!this.hasDynamicRefs) return check;
    const address = addressOf(this.#root, schema);
    return (value, run, at, path, seen) => {
      if (run.scope.at(-1) === address) return check(value, run, at, path, seen);
      run.scope.push(address);
      const isValid = check(value, run, at, path, seen);
      run.scope.pop();
      return isValid;
    };
  }

  #references(schema: JsonSchema): Check[] {
    const { $ref, $dynamicRef, $recursiveRef } = schema;
    const checks: Check[] = [];
    for (const ref of [$ref, $recursiveRef]) {
      if (typeof ref === "string") checks.push(this.compile(findRef(this.#root, schema, ref) ?? false));
    }
    if (typeof $dynamicRef === "string") checks.push(this.#dynamic(schema, $dynamicRef));
    return checks;
  }

  /** Leads to the outermost resource in scope that has the anchor, if the schema that it names has it as a dynamic one. */
  #dynamic(schema: JsonSchema, ref: string): Check {
    const target = findRef(this.#root, schema, ref);
    const fallback = this.compile(target ?? false);
    const anchor = target?.["$dynamicAnchor"];
    if (typeof anchor !== "string" || !ref.endsWith(`#${anchor}`)) return fallback;
    const targets = new Map<string, Check | undefined>();
    return (value, run, at, path, seen) => {
      for (const address of run.scope) {
        if (!targets.has(address)) {
          const found = findDynamicAnchor(this.#root, address, anchor);
          targets.set(address, found && this.compile(found));
        }
        const check = targets.get(address);
        if (check) return check(value, run, at, path, seen);
      }
      return fallback(value, run, at, path, seen);
    };
  }

  #combinations(schema: JsonSchema): (Check | undefined)[] {
    const { allOf, anyOf, oneOf, not, if: condition } = schema;
    return [
      Array.isArray(allOf) ? every(allOf.map((sub, at) => below(`/allOf/${at}`, this.compile(sub)))) : undefined,
      Array.isArray(anyOf) ? checkAnyOf(this.#branches("anyOf", anyOf)) : undefined,
      Array.isArray(oneOf) ? checkOneOf(this.#branches("oneOf", oneOf)) : undefined,
      not === undefined ? undefined : checkNot(this.compile(not)),
      condition === undefined ? undefined : this.#condition(schema),
    ];
  }

  #branches(keyword: string, list: unknown[]): Check[] {
    return list.map((sub, at) => below(`/${keyword}/${at}`, this.compile(sub)));
  }

  #condition(schema: JsonSchema): Check {
    const condition = this.compile(schema["if"]);
    const then = below("/then", this.compile(schema["then"]));
    const otherwise = below("/else", this.compile(schema["else"]));
    return (value, run, at, path, seen) => {
      const evaluated = seen && new Evaluated();
      if (!quietly(run, condition, value, evaluated)) return otherwise(value, run, at, path, seen);
      if (evaluated) seen?.add(evaluated);
      return then(value, run, at, path, seen);
    };
  }

  #objects(schema: JsonSchema): (Check | undefined)[] {
    const { required, dependentRequired, dependentSchemas, dependencies, propertyNames } = schema;
    return [
      Array.isArray(required) && required.length > 0 ? checkRequired(required.map(String)) : undefined,
      checkCounts(schema),
      isObject(dependentRequired) ? checkDependentRequired("dependentRequired", dependentRequired) : undefined,
      isObject(dependencies) ? checkDependentRequired("dependencies", dependencies) : undefined,
      this.#dependentSchemas("dependentSchemas", dependentSchemas),
      this.#dependentSchemas("dependencies", dependencies),
      propertyNames === undefined ? undefined : checkPropertyNames(this.compile(propertyNames)),
      this.#properties(schema),
    ];
  }

  #dependentSchemas(keyword: string, map: unknown): Check | undefined {
    if (!isObject(map)) return undefined;
    const checks = Object.entries(map)
      .filter(([, sub]) => !Array.isArray(sub))
      .map(([name, sub]) => ({ name, check: below(pathTo(keyword, name), this.compile(sub)) }));
    if (checks.length === 0) return undefined;
    return onObjects((value, run, at, path, seen) =>
      all(checks, run, ({ name, check }) => !has(value, name) || check(value, run, at, path, seen)),
    );
  }

  #properties(schema: JsonSchema): Check | undefined {
    const { properties, patternProperties, additionalProperties: rest } = schema;
    const named = Object.entries(isObject(properties) ? properties : {}).map(([name, sub]) => ({
      name,
      step: pathTo("properties", name),
      check: this.compile(sub),
    }));
    const patterns = Object.entries(isObject(patternProperties) ? patternProperties : {}).map(([pattern, sub]) => ({
      matches: boundedTest(pattern),
      step: pathTo("patternProperties", pattern),
      check: this.compile(sub),
    }));
    const checkNamed = onObjects((value, run, at, path, seen) => {
      let isValid = true;
      // A plain loop: this is what most values spend their time in.
      for (const { name, step, check } of named) {
        const member = value[name];
        if (member === undefined || !Object.hasOwn(value, name)) continue;
        if (seen) seen.names.add(name);
        const isMemberValid = run.errors
          ? check(member, run, at + stepTo(name), path + step, undefined)
          : check(member, run, "", "", undefined);
        if (isMemberValid) continue;
        if (run.isDone) return false;
        isValid = false;
      }
      return isValid;
    });
    if (patterns.length === 0 && rest === undefined) return named.length > 0 ? checkNamed : undefined;
    const known = new Set(named.map(({ name }) => name));
    const checkRest = rest === undefined ? undefined : this.compile(rest);
    const isClosed = rest === false && patterns.length === 0;
    const checkOthers = onObjects((value, run, at, path, seen) => {
      const names = presentKeys(value);
      if (isClosed && !run.errors && !seen) return names.every((name) => known.has(name));
      const unknown: string[] = [];
      const isValid = all(names, run, (name) => {
        const matching = patterns.filter(({ matches: isNamed }) => isNamed(name));
        const inside = at + stepTo(name);
        const matches = all(matching, run, ({ step, check }) =>
          check(value[name], run, inside, path + step, undefined),
        );
        if (matching.length > 0) seen?.names.add(name);
        if (matching.length > 0 || known.has(name) || !checkRest) return matches;
        seen?.names.add(name);
        if (rest === false) unknown.push(name);
        return rest !== false && checkRest(value[name], run, inside, `${path}/additionalProperties`, undefined);
      });
      if (unknown.length > 0) run.fail("additionalProperties", path, at, { additionalProperties: unknown });
      return isValid;
    });
    return named.length > 0 ? every([checkOthers, checkNamed]) : checkOthers;
  }

  #unevaluatedProperties({ unevaluatedProperties: rest }: JsonSchema): Check | undefined {
    if (rest === undefined) return undefined;
    const check = this.compile(rest);
    return onObjects((value, run, at, path, seen) => {
      const names = presentKeys(value).filter((name) => !seen?.names.has(name));
      for (const name of names) seen?.names.add(name);
      if (rest !== false) {
        const inside = `${path}/unevaluatedProperties`;
        return all(names, run, (name) => check(value[name], run, at + stepTo(name), inside, undefined));
      }
      return names.length === 0 || run.fail("unevaluatedProperties", path, at, { unevaluatedProperties: names });
    });
  }

  #arrays(schema: JsonSchema): (Check | undefined)[] {
    const { contains, uniqueItems } = schema;
    return [
      uniqueItems === true ? checkUnique : undefined,
      contains === undefined ? undefined : checkContains(schema, this.compile(contains)),
      this.#items(schema),
    ];
  }

  #items({ prefixItems, items, additionalItems }: JsonSchema): Check | undefined {
    // A list in `items` is the tuple of drafts before 2020-12.
    const isOldTuple = Array.isArray(items);
    const tuple: unknown[] = isOldTuple ? items : Array.isArray(prefixItems) ? prefixItems : [];
    const rest = isOldTuple ? additionalItems : items;
    if (tuple.length === 0 && rest === undefined) return undefined;
    const first = tuple.map((sub) => this.compile(sub));
    const others = rest === undefined ? undefined : this.compile(rest);
    const tuplePath = isOldTuple ? "/items/" : "/prefixItems/";
    const restPath = isOldTuple ? "/additionalItems" : "/items";
    return onArrays((value, run, at, path, seen) => {
      let isValid = true;
      for (let index = 0; index < value.length; index++) {
        const check = first[index] ?? others;
        if (!check) break;
        seen?.items.add(index);
        const inside = run.errors ? path + (index < first.length ? tuplePath + index : restPath) : "";
        if (check(value[index], run, run.errors ? `${at}/${index}` : "", inside, undefined)) continue;
        isValid = false;
        if (run.isDone) return false;
      }
      return isValid;
    });
  }

  #unevaluatedItems({ unevaluatedItems: rest }: JsonSchema): Check | undefined {
    if (rest === undefined) return undefined;
    const check = this.compile(rest);
    return onArrays((value, run, at, path, seen) => {
      if (seen?.hasAllItems) return true;
      const indexes = [...value.keys()].filter((index) => !seen?.items.has(index));
      if (seen) seen.hasAllItems = true;
      const inside = `${path}/unevaluatedItems`;
      return all(indexes, run, (index) => check(value[index], run, `${at}/${index}`, inside, undefined));
    });
  }
}

function hasKeyword(schema: JsonSchema, keyword: string, visited: Set<JsonSchema>): boolean {
  if (schema[keyword] !== undefined) return true;
  if (visited.has(schema)) return false;
  visited.add(schema);
  let isFound = false;
  eachSubschema(schema, (sub) => {
    isFound ||= isObject(sub) && hasKeyword(sub, keyword, visited);
  });
  return isFound;
}

function every(checks: readonly Check[]): Check {
  const [first, second] = checks;
  if (!first) return always;
  if (!second) return first;
  return (value, run, at, path, seen) => {
    let isValid = true;
    for (const check of checks) {
      if (check(value, run, at, path, seen)) continue;
      if (run.isDone) return false;
      isValid = false;
    }
    return isValid;
  };
}

/** As `Array.every`, but goes on after a failure if the run collects errors. */
function all<T>(list: readonly T[], run: Run, isValid: (each: T) => boolean): boolean {
  let areValid = true;
  for (const each of list) {
    if (isValid(each)) continue;
    if (run.isDone) return false;
    areValid = false;
  }
  return areValid;
}

function below(step: string, check: Check): Check {
  return (value, run, at, path, seen) => check(value, run, at, run.errors ? path + step : "", seen);
}

/** Whether the value passes, without an error if it does not. */
function quietly(run: Run, check: Check, value: unknown, seen?: Evaluated): boolean {
  const quiet = run.errors ? new Run(undefined, 0) : run;
  if (quiet !== run) quiet.scope.push(...run.scope);
  return check(value, quiet, "", "", seen);
}

function onObjects(
  check: (value: Entries, run: Run, at: string, path: string, seen: Evaluated | undefined) => boolean,
): Check {
  return (value, run, at, path, seen) => !isObject(value) || check(value, run, at, path, seen);
}

function onArrays(
  check: (value: unknown[], run: Run, at: string, path: string, seen: Evaluated | undefined) => boolean,
): Check {
  return (value, run, at, path, seen) => !Array.isArray(value) || check(value, run, at, path, seen);
}

/** A property whose value is undefined is absent: JSON has none. */
function has(value: Entries, name: string): boolean {
  return value[name] !== undefined && Object.hasOwn(value, name);
}

function presentKeys(value: Entries): string[] {
  const names = Object.keys(value);
  return names.some((name) => value[name] === undefined) ? names.filter((name) => value[name] !== undefined) : names;
}

function stepTo(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function pathTo(keyword: string, name: string): string {
  return `/${keyword}${stepTo(name)}`;
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  array: Array.isArray,
  object: isObject,
  null: (value) => value === null,
};

function checkType({ type }: JsonSchema): Check | undefined {
  if (type === undefined) return undefined;
  const tests = [type].flat().map((name) => TYPES[String(name)] ?? (() => false));
  const [only] = tests;
  const test = only && tests.length === 1 ? only : (value: unknown) => tests.some((each) => each(value));
  return (value, run, at, path) => test(value) || run.fail("type", path, at, { type });
}

function checkValues({ const: only, enum: allowed }: JsonSchema): Check | undefined {
  const checks: Check[] = [];
  if (Array.isArray(allowed)) {
    const keys = new Set(allowed.map(keyOf));
    const params = { allowedValues: allowed };
    checks.push((value, run, at, path) => keys.has(keyOf(value)) || run.fail("enum", path, at, params));
  }
  if (only !== undefined) {
    const key = keyOf(only);
    checks.push((value, run, at, path) => keyOf(value) === key || run.fail("const", path, at, { allowedValue: only }));
  }
  return checks.length === 0 ? undefined : every(checks);
}

/** The same for equal JSON values, different for all others. */
function keyOf(value: unknown): unknown {
  if (typeof value === "string") return JSON.stringify(value);
  // `join` would write null as nothing.
  if (Array.isArray(value)) return `[${value.map((item) => String(keyOf(item))).join()}]`;
  if (!isObject(value)) return value;
  const members = Object.keys(value).toSorted();
  return `{${members.map((name) => `${JSON.stringify(name)}:${String(keyOf(value[name]))}`).join()}}`;
}

function checkText({ minLength, maxLength, pattern, format }: JsonSchema): Check | undefined {
  const checks: Check[] = [];
  const onText = (keyword: string, params: Record<string, unknown>, test: (text: string) => boolean): void => {
    checks.push(
      (value, run, at, path) => typeof value !== "string" || test(value) || run.fail(keyword, path, at, params),
    );
  };
  // A character has one or two code units, so most lengths need no counting.
  if (typeof minLength === "number") {
    const isLong = (text: string): boolean =>
      text.length >= minLength * 2 || (text.length >= minLength && [...text].length >= minLength);
    onText("minLength", { limit: minLength }, isLong);
  }
  if (typeof maxLength === "number") {
    const isShort = (text: string): boolean =>
      text.length <= maxLength || (text.length <= maxLength * 2 && [...text].length <= maxLength);
    onText("maxLength", { limit: maxLength }, isShort);
  }
  if (typeof pattern === "string") {
    onText("pattern", { pattern }, boundedTest(pattern));
  }
  if (typeof format === "string") onText("format", { format }, (text) => isFormat(format, text));
  return checks.length === 0 ? undefined : every(checks);
}

const LIMITS: readonly [string, (value: number, limit: number) => boolean][] = [
  ["minimum", (value, limit) => value >= limit],
  ["maximum", (value, limit) => value <= limit],
  ["exclusiveMinimum", (value, limit) => value > limit],
  ["exclusiveMaximum", (value, limit) => value < limit],
];

function checkNumber(schema: JsonSchema): Check | undefined {
  const checks: Check[] = [];
  for (const [keyword, isWithin] of LIMITS) {
    const limit = schema[keyword];
    if (typeof limit !== "number") continue;
    checks.push(
      (value, run, at, path) =>
        typeof value !== "number" || isWithin(value, limit) || run.fail(keyword, path, at, { limit }),
    );
  }
  const { multipleOf } = schema;
  if (typeof multipleOf === "number") {
    checks.push(
      (value, run, at, path) =>
        typeof value !== "number" || isMultiple(value, multipleOf) || run.fail("multipleOf", path, at, { multipleOf }),
    );
  }
  return checks.length === 0 ? undefined : every(checks);
}

/** The remainder of a division by an integer is exact, so only fractions may differ by rounding. */
const MAX_ROUNDING = 1e-6;

/** 0.3 is a multiple of 0.1, although the division gives 2.9999999999999996. */
function isMultiple(value: number, step: number): boolean {
  if (value % step === 0) return true;
  if (Number.isInteger(step)) return false;
  const times = value / step;
  if (!Number.isFinite(times)) return false;
  const rounding = Math.min(MAX_ROUNDING, 4 * Number.EPSILON * Math.max(1, Math.abs(times)));
  return Math.abs(times - Math.round(times)) <= rounding;
}

function checkAnyOf(branches: readonly Check[]): Check {
  return (value, run, at, path, seen) => {
    const before = run.errors?.length ?? 0;
    let isValid = false;
    for (const branch of branches) {
      const evaluated = seen && new Evaluated();
      if (!branch(value, run, at, path, evaluated)) continue;
      isValid = true;
      // Every branch that matches has evaluated something.
      if (!evaluated) break;
      seen?.add(evaluated);
    }
    if (!isValid) return run.fail("anyOf", path, at, {});
    if (run.errors) run.errors.length = before;
    return true;
  };
}

function checkOneOf(branches: readonly Check[]): Check {
  return (value, run, at, path, seen) => {
    const before = run.errors?.length ?? 0;
    const passingSchemas: number[] = [];
    for (const [index, branch] of branches.entries()) {
      const evaluated = seen && new Evaluated();
      if (!branch(value, run, at, path, evaluated)) continue;
      passingSchemas.push(index);
      if (evaluated) seen?.add(evaluated);
    }
    if (passingSchemas.length === 0) return run.fail("oneOf", path, at, { passingSchemas });
    if (run.errors) run.errors.length = before;
    return passingSchemas.length === 1 || run.fail("oneOf", path, at, { passingSchemas });
  };
}

function checkNot(check: Check): Check {
  return (value, run, at, path) => !quietly(run, check, value) || run.fail("not", path, at, {});
}

function checkRequired(required: readonly string[]): Check {
  return onObjects((value, run, at, path) => {
    if (required.every((name) => has(value, name))) return true;
    return run.fail("required", path, at, { requiredProperties: required.filter((name) => !has(value, name)) });
  });
}

function checkCounts(schema: JsonSchema): Check | undefined {
  const checks: Check[] = [];
  for (const [keyword, sizeOf] of [
    ["Items", (value: unknown) => (Array.isArray(value) ? value.length : undefined)],
    ["Properties", (value: unknown) => (isObject(value) ? presentKeys(value).length : undefined)],
  ] as const) {
    const { [`min${keyword}`]: min, [`max${keyword}`]: max } = schema;
    if (typeof min === "number") {
      checks.push(
        (value, run, at, path) => (sizeOf(value) ?? min) >= min || run.fail(`min${keyword}`, path, at, { limit: min }),
      );
    }
    if (typeof max === "number") {
      checks.push(
        (value, run, at, path) => (sizeOf(value) ?? max) <= max || run.fail(`max${keyword}`, path, at, { limit: max }),
      );
    }
  }
  return checks.length === 0 ? undefined : every(checks);
}

function checkDependentRequired(keyword: string, map: Entries): Check {
  const rules = Object.entries(map).flatMap(([property, names]) =>
    Array.isArray(names) ? [{ property, names: names.map(String) }] : [],
  );
  return onObjects((value, run, at, path) =>
    all(rules, run, ({ property, names }) => {
      const missing = has(value, property) ? names.filter((name) => !has(value, name)) : [];
      return missing.length === 0 || run.fail(keyword, path, at, { property, dependencies: missing });
    }),
  );
}

function checkPropertyNames(check: Check): Check {
  return onObjects((value, run, at, path) => {
    const wrong = presentKeys(value).filter((name) => !quietly(run, check, name));
    return wrong.length === 0 || run.fail("propertyNames", path, at, { propertyNames: wrong });
  });
}

const checkUnique: Check = onArrays((value, run, at, path) => {
  const isUnique = new Set(value.map(keyOf)).size === value.length;
  return isUnique || run.fail("uniqueItems", path, at, {});
});

function checkContains({ minContains, maxContains }: JsonSchema, check: Check): Check {
  const min = typeof minContains === "number" ? minContains : 1;
  const max = typeof maxContains === "number" ? maxContains : Infinity;
  return onArrays((value, run, at, path, seen) => {
    let count = 0;
    for (const [index, item] of value.entries()) {
      if (!quietly(run, check, item)) continue;
      count++;
      seen?.items.add(index);
    }
    return (count >= min && count <= max) || run.fail("contains", path, at, { minContains: min, maxContains: max });
  });
}

interface Refinement {
  check(value: unknown): boolean;
  error(value: unknown): string;
}

/** `Type.Refine` of TypeBox. */
function checkRefinement(schema: JsonSchema): Check | undefined {
  const refinements = schema["~refine"] as readonly Refinement[] | undefined;
  if (!Array.isArray(refinements)) return undefined;
  return (value, run, at, path) =>
    all(
      refinements as readonly Refinement[],
      run,
      (each) => each.check(value) || run.fail("~refine", path, at, { message: each.error(value) }),
    );
}

import { abortable, type Call, type CallIn, note, toolOf } from "../core/call.ts";
import { findDialect, renameParameters, takesOtherNames } from "../core/definition.ts";
import { type ToolError, ToolValidationError } from "../core/error.ts";
import { didYouMean } from "../core/nearest-name.ts";
import type { Stage } from "../core/stage.ts";
import { isWrittenAsText } from "../core/text-formats.ts";
import { calledName } from "../core/tool-catalog.ts";
import type { AnyTool } from "../core/tool.ts";
import { isObject, type JsonSchema, resolveRef } from "../schema/json-schema.ts";
import { admitsUnknown, itemAt, propertiesOf, typesOf } from "../schema/schema-properties.ts";
import { formatIssues, pathText, type SchemaIssue, type Validation } from "../schema/schema.ts";
import { isUnknownProperty } from "../schema/validation-messages.ts";
import { acceptInput, repairInput } from "./repair-input.ts";

/** Max depth of nested unions; deeper ones are not narrowed. */
const MAX_DEPTH = 8;

/**
 * For a union with a discriminator (`type: "move"`), only the alternatives that fit the value: a property of
 * another alternative is unknown. Other schemas stay as they are.
 */
function narrowUnion(root: JsonSchema, schema: JsonSchema, value: object, depth = 0): JsonSchema {
  const whole = "properties" in schema ? schema : (resolveRef(root, schema) ?? schema);
  const keyword = Array.isArray(whole["anyOf"]) ? "anyOf" : "oneOf";
  const alternatives = whole[keyword];
  if (!Array.isArray(alternatives) || depth >= MAX_DEPTH) return whole;
  const all = alternatives.filter(isObject).map((branch) => narrowUnion(root, branch, value, depth + 1));
  const meant = all.filter((branch) => !contradicts(root, branch, value));
  return meant.length === 0 ? whole : { ...whole, [keyword]: meant };
}

function contradicts(root: JsonSchema, branch: JsonSchema, value: object): boolean {
  for (const [name, property] of propertiesOf(root, branch)) {
    if (!Object.hasOwn(value, name)) continue;
    const allowed = "const" in property ? [property["const"]] : property["enum"];
    if (Array.isArray(allowed) && !allowed.includes((value as Record<string, unknown>)[name])) return true;
  }
  return false;
}

/** The keys of one object schema, cached. */
interface KnownKeys {
  properties: ReadonlyMap<string, JsonSchema>;
  isOpen: boolean;
}

/**
 * Finds unknown parameters. Schema libraries drop them silently, and a model whose misspelled
 * parameter was dropped believes that it was used.
 */
class UnknownParameters {
  readonly #root: JsonSchema;
  readonly #otherNames: readonly string[];
  /** Weak: the schema of list items may be a new object each time. */
  readonly #known = new WeakMap<JsonSchema, KnownKeys>();
  /** Set if every input has the same parameters. */
  readonly #top: KnownKeys | undefined;

  /** `otherNames`: aliases of parameters. */
  constructor(root: JsonSchema, otherNames: Iterable<string> = []) {
    this.#root = root;
    this.#otherNames = [...otherNames];
    this.#top = root["anyOf"] || root["oneOf"] || root["$ref"] ? undefined : this.#keysOf(root);
  }

  find(input: Record<string, unknown>): string[] | undefined {
    const { properties, isOpen } = this.#top ?? this.#keysOf(narrowUnion(this.#root, this.#root, input));
    let found: string[] | undefined;
    for (const key in input) {
      const schema = properties.get(key);
      const value = input[key];
      if (!schema) {
        if (!isOpen) found = add(found, [key], properties, this.#otherNames);
      } else if (typeof value === "object" && value !== null) {
        found = this.#findIn(value, schema, [key], found);
      }
    }
    return found;
  }

  /** A copy of an input that has only known parameters, and only short values; undefined for any other. */
  copyFlat(input: unknown): Record<string, unknown> | undefined {
    if (!this.#top || typeof input !== "object" || input === null) return undefined;
    if (Object.getPrototypeOf(input) !== Object.prototype) return undefined;
    const { properties } = this.#top;
    try {
      const copy: Record<string, unknown> = { ...input };
      for (const key in copy) if (!properties.has(key) || !isShort(copy[key])) return undefined;
      return copy;
    } catch {
      // A getter or a proxy trap threw. `acceptInput` reports it.
      return undefined;
    }
  }

  #findIn(value: object, schema: JsonSchema, path: PropertyKey[], before: string[] | undefined): string[] | undefined {
    let found = before;
    if (Array.isArray(value)) {
      for (const [i, element] of value.entries()) {
        if (typeof element !== "object" || element === null) continue;
        const item = itemAt(this.#root, schema, i);
        if (item) found = this.#findIn(element, item, [...path, i], found);
      }
      return found;
    }
    const { properties, isOpen } = this.#keysOf(narrowUnion(this.#root, schema, value));
    for (const key in value) {
      const inner = properties.get(key);
      const field: unknown = (value as Record<string, unknown>)[key];
      if (!inner) {
        if (!isOpen) found = add(found, [...path, key], properties);
      } else if (typeof field === "object" && field !== null) {
        found = this.#findIn(field, inner, [...path, key], found);
      }
    }
    return found;
  }

  #keysOf(schema: JsonSchema): KnownKeys {
    let keys = this.#known.get(schema);
    if (!keys) {
      const properties = propertiesOf(this.#root, schema);
      // The schema is not an object schema: its own validation reports what is wrong.
      keys = {
        properties,
        isOpen: admitsUnknown(this.#root, schema) || (properties.size === 0 && schema !== this.#root),
      };
      this.#known.set(schema, keys);
    }
    return keys;
  }
}

const SHORT_TEXT = 10_000;

function isShort(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "string") return value.length <= SHORT_TEXT && value.isWellFormed();
  return typeof value === "boolean";
}

/** Max reported parameters: more are not spelling mistakes. */
const MAX_FOUND = 20;
const MAX_NAME_LENGTH = 100;

function add(
  found: string[] = [],
  path: PropertyKey[],
  known: ReadonlyMap<string, JsonSchema>,
  otherNames: readonly string[] = [],
): string[] {
  if (found.length < MAX_FOUND) found.push(unknownParameter(path, [...known.keys()], otherNames));
  else if (found.length === MAX_FOUND) found.push("There are more unknown parameters.");
  return found;
}

function unknownParameter(path: readonly PropertyKey[], all: readonly string[], others: readonly string[]): string {
  const shown = path.map((part) => (typeof part === "string" ? part.slice(0, MAX_NAME_LENGTH) : part));
  const hint =
    didYouMean(String(path.at(-1)), [...all, ...others]) ??
    (all.length > 0 ? `Known parameters: ${all.join(", ")}.` : "There are no parameters here.");
  return `${pathText(shown)}: unknown parameter. ${hint}`;
}

const unknownParameters = new WeakMap<AnyTool, UnknownParameters>();

/** Turns the input into what the tool declared, or reports everything that is wrong with it. */
export function validate(): Stage {
  return {
    name: "validate",
    compile(tool) {
      return { enter: takesOtherNames(tool) ? this.enter : flatEnter(tool, this.enter!) };
    },
    enter(call) {
      const tool = toolOf(call);
      const input = acceptInput(call);
      if (takesOtherNames(tool)) acceptNames(call, tool, input);
      return check(call, tool, input, unknownOf(tool).find(input));
    },
  };
}

function check(
  call: CallIn<"validate">,
  tool: AnyTool,
  input: Record<string, unknown>,
  unknown: string[] | undefined,
): undefined | Promise<undefined> {
  const validation = tool.parameters.validate(input);
  if (validation instanceof Promise) {
    return abortable(
      call,
      validation.then((settled) => judge(call, tool, { input, unknown, validation: settled, repairs: [] })),
    );
  }
  if (validation.issues || unknown) return judge(call, tool, { input, unknown, validation, repairs: [] });
  call.accepted = input;
  call.input = validation.value;
  return undefined;
}

/** As `enter`, but with one pass over the input if it is what most are: known parameters with texts and numbers. */
function flatEnter(tool: AnyTool, enter: NonNullable<Stage["enter"]>): NonNullable<Stage["enter"]> {
  const known = unknownOf(tool);
  return (call) => {
    const input = known.copyFlat(call.input);
    return input ? check(call, tool, input, undefined) : enter(call);
  };
}

/** A repair may reveal the next mistake: a list that was encoded twice, then numbers in it that are text. */
const MAX_ROUNDS = 3;

interface Judged {
  input: Record<string, unknown>;
  unknown: string[] | undefined;
  validation: Validation<unknown>;
  /** The repairs so far. */
  repairs: readonly string[][];
}

function judge(call: CallIn<"validate">, tool: AnyTool, judged: Judged): undefined | Promise<undefined> {
  const { input, unknown, validation, repairs } = judged;
  if (unknown) throw invalid(tool, unknown, validation.issues ?? []);
  if (!validation.issues) {
    call.accepted = input;
    call.input = validation.value;
    noteRepairs(call, repairs.flat());
    return undefined;
  }
  const rules = { schema: tool.parameters.jsonSchema, isText: isWrittenAsText(call.input) };
  const more = repairs.length < MAX_ROUNDS ? repairInput(input, validation.issues, rules) : [];
  if (more.length === 0) throw invalid(tool, [], validation.issues);
  const again = (settled: Validation<unknown>): undefined | Promise<undefined> =>
    judge(call, tool, {
      input,
      unknown: unknownOf(tool).find(input),
      validation: settled,
      repairs: [...repairs, more],
    });
  const revalidation = tool.parameters.validate(input);
  return revalidation instanceof Promise ? abortable(call, revalidation.then(again)) : again(revalidation);
}

function noteRepairs(call: Call, repairs: readonly string[]): void {
  if (repairs.length > 0) note(call, "repairs", [...((call.facts?.["repairs"] as string[]) ?? []), ...repairs]);
}

function acceptNames(call: CallIn<"validate">, tool: AnyTool, input: Record<string, unknown>): void {
  const calledAs = calledName(tool, call.requestedName);
  call.dialect = findDialect(tool, calledAs, Object.keys(input));
  const { repairs, problems } = renameParameters(tool, input, calledAs);
  if (problems.length > 0) throw invalid(tool, problems, []);
  noteRepairs(call, repairs);
}

function unknownOf(tool: AnyTool): UnknownParameters {
  let check = unknownParameters.get(tool);
  if (!check)
    unknownParameters.set(
      tool,
      (check = new UnknownParameters(tool.parameters.jsonSchema, tool.parameterAliases.keys())),
    );
  return check;
}

function invalid(tool: AnyTool, problems: readonly string[], issues: readonly SchemaIssue[]): ToolError {
  // The search for unknown parameters gives better messages: it suggests similar names.
  const said = problems.length > 0 ? issues.filter((issue) => !isUnknownProperty(issue)) : issues;
  const all = [...formatIssues(said), ...problems];
  return new ToolValidationError(tool.name, { issues: all }, `${all.join("\n")}\n`, expected(tool));
}

/** The tool's parameters in one line: enough to correct most calls. */
function expected(tool: AnyTool): string {
  const schema = tool.parameters.jsonSchema;
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const parameters = Array.from(propertiesOf(schema, schema), ([name, property]) => {
    const types = [...typesOf(schema, property)];
    const type = types.length > 3 ? "any" : types.join(" or ");
    return `${name}${required.includes(name) ? "" : "?"}: ${type}`;
  });
  return `"${tool.name}" takes { ${parameters.join(", ")} }. Correct the call and send it again.`;
}

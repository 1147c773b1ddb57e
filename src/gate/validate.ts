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
import {
  acceptInput,
  type Reading,
  repairInput,
  repairKeys,
  type UnknownParameter,
  unwrapInput,
} from "./repair-input.ts";

/** Max depth of nested unions; deeper ones are not narrowed. */
const MAX_DEPTH = 8;

/** Of a union with a discriminator (`type: "move"`), only what fits: properties of other alternatives are unknown. */
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

/** Finds unknown parameters, which schema libraries drop silently while the model believes that they were used. */
class UnknownParameters {
  readonly #root: JsonSchema;
  /** Weak: the schema of list items may be a new object each time. */
  readonly #known = new WeakMap<JsonSchema, KnownKeys>();
  /** Set if every input has the same parameters. */
  readonly #top: KnownKeys | undefined;

  constructor(root: JsonSchema) {
    this.#root = root;
    this.#top = root["anyOf"] || root["oneOf"] || root["$ref"] ? undefined : this.#keysOf(root);
  }

  find(input: Record<string, unknown>): UnknownParameter[] | undefined {
    const { properties, isOpen } = this.#top ?? this.#keysOf(narrowUnion(this.#root, this.#root, input));
    let found: UnknownParameter[] | undefined;
    for (const key in input) {
      const schema = properties.get(key);
      const value = input[key];
      if (!schema) {
        if (!isOpen) found = add(found, [key], properties);
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

  #findIn(
    value: object,
    schema: JsonSchema,
    path: PropertyKey[],
    before: UnknownParameter[] | undefined,
  ): UnknownParameter[] | undefined {
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
  found: UnknownParameter[] = [],
  path: PropertyKey[],
  known: ReadonlyMap<string, JsonSchema>,
): UnknownParameter[] {
  if (found.length <= MAX_FOUND) found.push({ path, known: [...known.keys()] });
  return found;
}

/** One line for each, with the nearest names. */
function describeUnknown(tool: AnyTool, unknown: readonly UnknownParameter[] = []): string[] {
  const lines = unknown.slice(0, MAX_FOUND).map(({ path, known }) => {
    const shown = path.map((part) => (typeof part === "string" ? part.slice(0, MAX_NAME_LENGTH) : part));
    const others = path.length === 1 ? tool.parameterAliases.keys() : [];
    const hint =
      didYouMean(String(path.at(-1)), [...known, ...others]) ??
      (known.length > 0 ? `Known parameters: ${known.join(", ")}.` : "There are no parameters here.");
    return `${pathText(shown)}: unknown parameter. ${hint}`;
  });
  return unknown.length > MAX_FOUND ? [...lines, "There are more unknown parameters."] : lines;
}

const unknownParameters = new WeakMap<AnyTool, UnknownParameters>();

/** Turns the input into what the tool declared, or reports everything that is wrong with it. */
export function validate(): Stage {
  return {
    name: "validate",
    compile(tool) {
      return { enter: takesOtherNames(tool) ? this.enter : flatEnter(tool, this.enter!) };
    },
    enter: (call) => read(call, toolOf(call), acceptInput(call)),
  };
}

/** Checks one reading of the input, after names of other clients were replaced by the tool's own. */
function read(
  call: CallIn<"validate">,
  tool: AnyTool,
  reading: Reading,
  { wrappers, rounds } = { wrappers: 0, rounds: 0 },
): undefined | Promise<undefined> {
  const problems = takesOtherNames(tool) ? acceptNames(call, tool, reading) : [];
  return check(call, tool, { ...reading, problems, unknown: unknownOf(tool).find(reading.input), rounds, wrappers });
}

function check(call: CallIn<"validate">, tool: AnyTool, checked: Checked): undefined | Promise<undefined> {
  const validation = tool.parameters.validate(checked.input);
  if (validation instanceof Promise) {
    return abortable(
      call,
      validation.then((settled) => judge(call, tool, checked, settled)),
    );
  }
  return judge(call, tool, checked, validation);
}

/** As `enter`, but with one pass over the input if it is what most are: known parameters with texts and numbers. */
function flatEnter(tool: AnyTool, enter: NonNullable<Stage["enter"]>): NonNullable<Stage["enter"]> {
  const known = unknownOf(tool);
  return (call) => {
    const input = known.copyFlat(call.input);
    return input ? check(call, tool, { input, ...UNREPAIRED }) : enter(call);
  };
}

/** A repair may reveal the next mistake: a list that was encoded twice, then numbers in it that are text. */
const MAX_ROUNDS = 3;

interface Checked extends Reading {
  /** Parameters of other clients that cannot be used. */
  problems: readonly string[];
  unknown: readonly UnknownParameter[] | undefined;
  rounds: number;
  /** How many wrappers were removed. */
  wrappers: number;
}

const UNREPAIRED = { repairs: [], problems: [], unknown: undefined, rounds: 0, wrappers: 0 };

function judge(
  call: CallIn<"validate">,
  tool: AnyTool,
  checked: Checked,
  validation: Validation<unknown>,
): undefined | Promise<undefined> {
  const { input, repairs, problems, unknown, rounds, wrappers } = checked;
  if (!validation.issues && !unknown && problems.length === 0) {
    call.accepted = input;
    call.input = validation.value;
    if (repairs.length > 0) note(call, "repairs", repairs);
    return undefined;
  }
  const inner = wrappers < MAX_WRAPPERS ? unwrapAgain(call, tool, wrappers + 1) : undefined;
  if (inner) return read(call, tool, inner, { wrappers: wrappers + 1, rounds: 0 });
  const isLast = problems.length > 0 || rounds >= MAX_ROUNDS;
  const next = { wrappers, rounds: rounds + 1 };
  const renamed = isLast ? undefined : renameParametersSent(call, tool, checked);
  if (renamed) return read(call, tool, renamed, next);
  const more = isLast ? [] : repairValues(call, tool, checked, validation);
  if (more.length === 0) throw invalid(tool, checked, validation.issues ?? []);
  const unknownNow = unknownOf(tool).find(input);
  return check(call, tool, { input, repairs: [...repairs, ...more], problems, unknown: unknownNow, ...next });
}

/** The input as it was sent, with its own names: what other names mean depends on them, so all are read again. */
function renameParametersSent(call: Call, tool: AnyTool, { unknown = [], wrappers }: Checked): Reading | undefined {
  const top = unknown.filter(({ path }) => path.length === 1);
  const sent = top.length > 0 ? unwrapAgain(call, tool, wrappers) : undefined;
  const renames = sent ? repairKeys(sent.input, top, tool.parameterAliases) : [];
  return sent && renames.length > 0 ? { input: sent.input, repairs: [...sent.repairs, ...renames] } : undefined;
}

/** Names inside values first: only then is it known what the others must be. */
function repairValues(
  call: Call,
  tool: AnyTool,
  { input, unknown }: Checked,
  { issues = [] }: Validation<unknown>,
): string[] {
  const rules = { schema: tool.parameters.jsonSchema, isText: isWrittenAsText(call.input) };
  if (!unknown) return repairInput(input, issues, rules);
  return unknown.every(({ path }) => path.length > 1) ? repairKeys(input, unknown) : [];
}

/** A list of one, with a call in it, whose arguments are wrapped again. */
const MAX_WRAPPERS = 3;

/** The input as it was sent, without its outermost wrappers. A new copy: a reading that failed may have changed its own. */
function unwrapAgain(call: Call, tool: AnyTool, wrappers: number): Reading | undefined {
  let reading: Reading | undefined = acceptInput(call);
  for (let i = 0; i < wrappers && reading; i++) reading = unwrapInput(tool, reading, call.requestedName);
  return reading;
}

/** Gives the parameters the tool's own names, in the input itself. Returns what cannot be used. */
function acceptNames(call: CallIn<"validate">, tool: AnyTool, reading: Reading): readonly string[] {
  const calledAs = calledName(tool, call.requestedName);
  call.dialect = findDialect(tool, calledAs, Object.keys(reading.input));
  // A stored call and the answer of a hook have the tool's own names and units.
  const isOwn = call.isStored || call.sent !== undefined;
  const { repairs, problems } = renameParameters(tool, reading.input, isOwn ? tool.name : calledAs);
  reading.repairs = [...reading.repairs, ...repairs];
  return problems;
}

function unknownOf(tool: AnyTool): UnknownParameters {
  let check = unknownParameters.get(tool);
  if (!check) unknownParameters.set(tool, (check = new UnknownParameters(tool.parameters.jsonSchema)));
  return check;
}

function invalid(tool: AnyTool, checked: Checked, issues: readonly SchemaIssue[]): ToolError {
  const { wrappers, unknown } = checked;
  const wrapped = wrappers > 0 ? ["Send the parameters themselves, without anything around them."] : [];
  const problems = [...checked.problems, ...describeUnknown(tool, unknown), ...wrapped];
  // The search for unknown parameters gives better messages: it suggests similar names.
  const said = unknown ? issues.filter((issue) => !isUnknownProperty(issue)) : issues;
  const all = [...(checked.problems.length > 0 ? [] : formatIssues(said)), ...problems];
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

import { didYouMean } from "../core/nearest-name.ts";
import { pathText } from "../core/schema-issue.ts";
import { admitsUnknown, itemAt, propertiesOf } from "../schema/find-property.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { narrowUnion } from "./narrow-union.ts";

/** What one object schema says about its keys, read once. */
interface KnownKeys {
  properties: ReadonlyMap<string, JsonSchema>;
  isOpen: boolean;
}

/**
 * Finds parameters that a schema does not know. Libraries drop what they do not know, and a model whose misspelt
 * parameter was dropped believes that it was honoured.
 */
export class UnknownParameters {
  readonly #root: JsonSchema;
  readonly #otherNames: readonly string[];
  /** Weak: a schema of list items may be put together anew at each look. */
  readonly #known = new WeakMap<JsonSchema, KnownKeys>();
  /** Where every input has the same parameters: what is known of them. */
  readonly #top: KnownKeys | undefined;

  /** `otherNames`: aliases, under which a model may know the parameters. */
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

  #findIn(value: object, schema: JsonSchema, path: PropertyKey[], before: string[] | undefined): string[] | undefined {
    let found = before;
    if (Array.isArray(value)) {
      for (const [i, element] of value.entries()) {
        if (typeof element !== "object" || element === null) continue;
        const item = itemAt(this.#root, schema, i);
        if (item) found = this.#findIn(element as object, item, [...path, i], found);
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
      // Where no object is described at all there is nothing to misspell; the schema itself says what is wrong.
      keys = {
        properties,
        isOpen: admitsUnknown(this.#root, schema) || (properties.size === 0 && schema !== this.#root),
      };
      this.#known.set(schema, keys);
    }
    return keys;
  }
}

/** Whoever sends more unknown parameters than this did not misspell them. */
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

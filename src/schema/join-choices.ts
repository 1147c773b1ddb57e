import { isObject } from "./json-schema.ts";
import type { JsonSchema } from "./json-schema.ts";

/** One object that has the properties of all forms; required is what every form requires. */
export function joinForms(base: JsonSchema, forms: readonly JsonSchema[]): JsonSchema {
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
  return {
    ...base,
    properties: joined,
    ...(required.length > 0 ? { required } : {}),
    ...(isClosed ? { additionalProperties: false } : {}),
    ...(description === "" ? {} : { description }),
  };
}

/** A choice below the root: fixed values become one list of values, everything else stays a choice. */
export function joinChoices(schema: JsonSchema, branches: readonly JsonSchema[]): JsonSchema {
  const { anyOf: _any, oneOf: _one, type, ...rest } = schema;
  const typed = branches.map((branch) =>
    type === undefined || branch["type"] !== undefined ? branch : { type, ...branch },
  );
  const choices = distinct(typed) as JsonSchema[];
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

function distinct(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

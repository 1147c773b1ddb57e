/** Query parameters: typed values in handlers and clients, text in an address. Arrays are separated by commas. */
import { z } from "zod";
import { ApiError } from "../contracts/errors.ts";

/** Omitted values are left out. */
export function writeQuery(query: object): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return parameters;
}

/**
 * The values that the schema describes; text that cannot be converted stays text, and `checkQuery` refuses it. An empty value
 * is the same as none: a form sends one for each field that was left empty.
 */
export function readQuery(schema: z.ZodObject | undefined, parameters: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const name of new Set(parameters.keys())) {
    const text = parameters.get(name) ?? "";
    const field = schema && Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
    if (text !== "" || !field) query[name] = field ? fromText(unwrap(field), text) : text;
  }
  return query;
}

function fromText(field: z.core.$ZodType, text: string): unknown {
  if (field instanceof z.ZodArray) return text.split(",").map((item) => fromText(unwrap(field.element), item));
  if (field instanceof z.ZodNumber) return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
  if (field instanceof z.ZodBoolean) return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** One value of the schema from text. Undefined if it is not valid. */
export function readParameter(schema: z.ZodObject | undefined, name: string, text: string): unknown {
  const field = schema?.shape[name];
  if (!field) return undefined;
  const parsed = z.safeParse(field, fromText(unwrap(field), text));
  return parsed.success ? parsed.data : undefined;
}

/** Unknown names are refused: a misspelt filter must not look like one that matched everything. */
export function checkQuery<Schema extends z.ZodObject>(schema: Schema, query: object): z.output<Schema> {
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(schema.shape, name));
  if (unknown !== undefined) {
    const names = Object.keys(schema.shape).join(", ") || "none";
    throw new ApiError(
      "bad_request",
      `There is no query parameter "${unknown.slice(0, 50)}" here`,
      `Query parameters: ${names}.`,
    );
  }
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === "string" && value.includes("\0")) {
      throw new ApiError("bad_request", `The query parameter "${name}" has a NUL character`);
    }
  }
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0] ?? "");
  const field = schema.shape[name];
  const value: unknown = Object.entries(query).find(([key]) => key === name)?.[1];
  if (value === undefined) throw new ApiError("bad_request", `The query parameter "${name}" is missing`);
  throw new ApiError("bad_request", `"${name}" must be ${field ? expected(unwrap(field)) : issue?.message}`);
}

function expected(field: z.core.$ZodType): string {
  if (field instanceof z.ZodNumber) {
    const { minValue, maxValue } = field;
    return `a whole number from ${minValue ?? 0} to ${maxValue ?? Number.MAX_SAFE_INTEGER}`;
  }
  if (field instanceof z.ZodEnum) return `one of: ${field.options.join(", ")}`;
  if (field instanceof z.ZodArray) {
    const element = unwrap(field.element);
    return element instanceof z.ZodEnum ? `any of: ${element.options.join(", ")}` : "a list";
  }
  return field instanceof z.ZodBoolean ? "true or false" : "text";
}

function unwrap(field: z.core.$ZodType): z.core.$ZodType {
  return field instanceof z.ZodOptional ? unwrap(field.unwrap()) : field;
}

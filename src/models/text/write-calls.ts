import type { WrittenCall } from "./text-format.ts";

type WriteCall = (call: WrittenCall) => string;

/** Writes the calls one by one, with `before` and `after` around all of them. */
export function writeEach(write: WriteCall, { before = "", after = "", between = "\n" } = {}) {
  return (calls: readonly WrittenCall[]): string => `${before}${calls.map(write).join(between)}${after}`;
}

/** Writes all calls as one JSON list. */
export function writeList(before: string, after: string, asJson: (call: WrittenCall) => unknown = nameAndArguments) {
  return (calls: readonly WrittenCall[]): string => `${before}${JSON.stringify(calls.map(asJson))}${after}`;
}

export function nameAndArguments({ name, input }: WrittenCall): unknown {
  return { name, arguments: input };
}

/** The text of a value between two tags. */
export function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** CDATA ends at the first `]]>`, so one inside the value is split between two sections. */
export function cdata(text: string): string {
  return `<![CDATA[${text.replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
}

/** Writes a call as `before`, each parameter, and `after`. */
export function writeTags(
  before: (name: string) => string,
  parameter: (key: string, value: unknown) => string,
  after: (name: string) => string,
): WriteCall {
  return ({ name, input }) => {
    const parameters = Object.entries(input).map(([key, value]) => parameter(key, value));
    return [before(name), ...parameters, after(name)].join("");
  };
}

/** A value as a Python literal. */
function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${pythonLiteral(each)}`)
    .join(", ")}}`;
}

export function pythonCall({ name, input }: WrittenCall): string {
  return `${name}(${Object.entries(input)
    .map(([key, value]) => `${key}=${pythonLiteral(value)}`)
    .join(", ")})`;
}

/** A value in Gemma's notation, with its own marker instead of quotation marks. */
export function gemmaLiteral(value: unknown, quote: string): string {
  if (typeof value === "string") return `${quote}${value}${quote}`;
  if (Array.isArray(value)) return `[${value.map((each) => gemmaLiteral(each, quote)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${key}:${gemmaLiteral(each, quote)}`)
    .join(",")}}`;
}

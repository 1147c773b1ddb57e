import { ConfigError } from "./config-problem.ts";

export const MAX_BYTES = 1024 * 1024;
export const MAX_DEPTH = 64;
const MAX_VALUES = 50_000;

/**
 * Before any parser sees the text: deep nesting exhausts a parser's stack, and the process with it. Brackets in quotes and
 * comments count too, which no honest file notices.
 */
export function requireShallow(text: string, file: string, format: "yaml" | "json" | "toml"): void {
  let depth = 0;
  let line = 1;
  let runOfIndicators = 0;
  let indent = 0;
  let atStart = true;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === "\n") {
      line += 1;
      runOfIndicators = 0;
      indent = 0;
      atStart = true;
      continue;
    }
    if (char === " " || char === "\t") {
      if (atStart) indent += 1;
      continue;
    }
    atStart = false;
    if (char === "[" || char === "{") depth += 1;
    else if ((char === "]" || char === "}") && depth > 0) depth -= 1;
    // YAML nests by "- - - x" and by indentation as well.
    runOfIndicators = format === "yaml" && (char === "-" || char === "?") ? runOfIndicators + 1 : 0;
    const isIndicatorRun = runOfIndicators > MAX_DEPTH && /\s/.test(text[at + 1] ?? "");
    if (depth > MAX_DEPTH || isIndicatorRun || (format === "yaml" && indent > MAX_DEPTH * 16)) {
      throw new ConfigError([{ file, line, message: `Nested more than ${MAX_DEPTH} levels deep. Make it flatter.` }]);
    }
  }
}

/**
 * A copy of parsed data in plain objects. What aliases multiply or make cyclic ends here, and so does a key that would
 * reach an object's prototype.
 */
export function copyParsed(value: unknown, file: string): unknown {
  let values = 0;
  const fail = (message: string): never => {
    throw new ConfigError([{ file, message }]);
  };
  const copy = (each: unknown, depth: number): unknown => {
    values += 1;
    if (values > MAX_VALUES) fail(`Holds more than ${MAX_VALUES} values, aliases counted where they are used.`);
    if (depth > MAX_DEPTH) fail(`Nested more than ${MAX_DEPTH} levels deep, or an alias that holds itself.`);
    if (Array.isArray(each)) return each.map((item) => copy(item, depth + 1));
    if (typeof each !== "object" || each === null) return each;
    const prototype: unknown = Object.getPrototypeOf(each);
    // Dates and byte arrays of a format: the schema says what is expected instead.
    if (prototype !== Object.prototype && prototype !== null) return each;
    const fields: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(each)) {
      if (key === "__proto__") fail('"__proto__" cannot be a key. Remove it.');
      fields[key] = copy(field, depth + 1);
    }
    return fields;
  };
  return copy(value, 0);
}

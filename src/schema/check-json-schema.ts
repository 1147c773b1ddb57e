import { applyDefaults, hasDefaults } from "./apply-defaults.ts";
import type { CheckError } from "./describe-error.ts";
import { explainErrors } from "./explain-errors.ts";
import type { JsonSchema } from "./json-schema.ts";
import { loadPackage } from "./load-package.ts";
import type { SchemaIssue, Validation } from "./schema.ts";

/** Enough for any honest mistake; a hostile list of a million wrong items must not become a million issues. */
const MAX_ERRORS = 100;

interface TypeBox {
  Compile(schema: JsonSchema): { Check(value: unknown): boolean };
  Errors(schema: JsonSchema, value: unknown): [boolean, CheckError[]];
}
interface TypeBoxSystem {
  Settings: { Get(): { maxErrors: number }; Set(options: { maxErrors: number }): void };
}

/** Validates against a linted JSON Schema; compiles it at the first value. */
export function jsonSchemaValidator(root: JsonSchema): (value: unknown) => Validation<unknown> {
  let compiled: { check(value: unknown): boolean; hasDefaults: boolean } | undefined;
  return (value) => {
    compiled ??= compile(root);
    try {
      const filled = compiled.hasDefaults ? applyDefaults(root, value) : value;
      return compiled.check(filled) ? { value: filled } : { issues: explain(root, filled) };
    } catch (cause) {
      return { issues: [unreadable(cause)] };
    }
  };
}

/** The issue for a value that broke its own inspection: a throwing getter, a hostile proxy, a cycle. */
export function unreadable(cause: unknown): SchemaIssue {
  let reason = "";
  try {
    if (cause instanceof RangeError) return { message: "is nested too deeply or contains itself", path: [] };
    if (cause instanceof Error && typeof cause.message === "string") reason = `: ${cause.message}`;
  } catch {
    // What was thrown may be as hostile as the value.
  }
  return { message: `could not be checked${reason}`, path: [] };
}

function compile(root: JsonSchema): { check(value: unknown): boolean; hasDefaults: boolean } {
  const validator = typebox().Compile(root);
  return { check: (value) => validator.Check(value), hasDefaults: hasDefaults(root) };
}

function typebox(): TypeBox {
  return loadPackage<TypeBox>("typebox/schema", "Validating against a JSON Schema");
}

function explain(root: JsonSchema, value: unknown): SchemaIssue[] {
  const issues = explainErrors(root, value, collectErrors);
  if (issues.length < MAX_ERRORS) return issues;
  return [...issues.slice(0, MAX_ERRORS), { message: "there may be more problems; these are the first", path: [] }];
}

function collectErrors(schema: JsonSchema, value: unknown): CheckError[] {
  const { Settings } = loadPackage<TypeBoxSystem>("typebox/system", "Validating against a JSON Schema");
  const { maxErrors } = Settings.Get();
  // The setting belongs to the host as well; it is changed for this synchronous call only.
  Settings.Set({ maxErrors: MAX_ERRORS });
  try {
    return typebox().Errors(schema, value)[1];
  } finally {
    Settings.Set({ maxErrors });
  }
}

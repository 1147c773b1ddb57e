import { declarationOf, type FunctionDeclaration } from "../../core/definition.ts";
import { firstLine } from "../../core/first-line.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";

const compacted = new WeakMap<FunctionDeclaration, FunctionDeclaration>();

/** A tool in its name, one line, and the bare shape of its input: enough to call it, not to learn it. */
export function compactDeclaration(tool: AnyTool, dialect?: DialectName): FunctionDeclaration {
  const whole = declarationOf(tool, dialect);
  let compact = compacted.get(whole);
  if (!compact) {
    const description = firstLine(tool.description.short);
    compacted.set(whole, (compact = Object.freeze({ ...whole, description, parameters: strip(whole.parameters) })));
  }
  return compact;
}

/** Words for a reader; what a value may be does not depend on them. */
const ANNOTATIONS = new Set(["description", "title", "examples", "default", "deprecated", "$comment", "$schema"]);
/** Keywords whose values are schemas by name: there a "description" is a name. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const AS_THEY_ARE = new Set(["const", "enum", "required"]);

function strip(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.has(keyword));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, stripValue(keyword, value)]));
}

function stripValue(keyword: string, value: unknown): unknown {
  if (AS_THEY_ARE.has(keyword)) return value;
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? strip(item) : item));
  if (!isObject(value)) return value;
  if (!BY_NAME.has(keyword)) return strip(value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, isObject(part) ? strip(part) : part]));
}

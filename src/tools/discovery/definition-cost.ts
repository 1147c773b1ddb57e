import { firstLine, type TokenCounter } from "../../core/content.ts";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { declarationOf, type FunctionDeclaration } from "../../core/definition.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import type { DefinitionCost } from "./shown-tools.ts";

/** If an estimate differs from the budget by this factor, no exact count is needed. */
const SAFETY_MARGIN = 1.6;

/** The token cost of definitions. Counts are cached, and made only if an estimate is not conclusive. */
export function createDefinitionCost(counter: TokenCounter): DefinitionCost {
  const exact = cached((tool) => counter.count(definitionText(tool)));
  const estimated = cached((tool) => estimatedTokens.count(definitionText(tool)));
  return {
    of: exact,
    fits(tools, budget) {
      const likely = sumUpTo(tools, estimated, budget * SAFETY_MARGIN);
      if (likely * SAFETY_MARGIN <= budget) return true;
      if (likely > budget * SAFETY_MARGIN) return false;
      return sumUpTo(tools, exact, budget) <= budget;
    },
  };
}

/** Approximately what providers receive. */
export function definitionText(tool: AnyTool): string {
  const { name, description, parameters } = declarationOf(tool);
  return JSON.stringify({ name, description, parameters });
}

/** Stops when the sum exceeds `max`. */
function sumUpTo(tools: readonly AnyTool[], costOf: (tool: AnyTool) => number, max: number): number {
  let total = 0;
  for (const tool of tools) {
    total += costOf(tool);
    if (total > max) break;
  }
  return total;
}

function cached(count: (tool: AnyTool) => number): (tool: AnyTool) => number {
  const known = new WeakMap<AnyTool, number>();
  return (tool) => {
    let tokens = known.get(tool);
    if (tokens === undefined) known.set(tool, (tokens = count(tool)));
    return tokens;
  };
}

const compacted = new WeakMap<FunctionDeclaration, FunctionDeclaration>();

/** Name, one line of description and the input schema without annotations. */
export function compactDeclaration(tool: AnyTool, dialect?: DialectName): FunctionDeclaration {
  const whole = declarationOf(tool, dialect);
  let compact = compacted.get(whole);
  if (!compact) {
    const description = firstLine(tool.description.short);
    compacted.set(whole, (compact = Object.freeze({ ...whole, description, parameters: strip(whole.parameters) })));
  }
  return compact;
}

/** Keywords that do not affect validation. */
const ANNOTATIONS = new Set(["description", "title", "examples", "default", "deprecated", "$comment", "$schema"]);
/** Keywords whose values are schemas by name; there a "description" is a property name. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const UNCHANGED = new Set(["const", "enum", "required"]);

function strip(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.has(keyword));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, stripValue(keyword, value)]));
}

function stripValue(keyword: string, value: unknown): unknown {
  if (UNCHANGED.has(keyword)) return value;
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? strip(item) : item));
  if (!isObject(value)) return value;
  if (!BY_NAME.has(keyword)) return strip(value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, isObject(part) ? strip(part) : part]));
}

import type { SchemaSource } from "../schema/infer.ts";
import { toSchema } from "../schema/to-schema.ts";
import type { SchemaIssue } from "../schema/schema.ts";
import { toCategory, ToolCategory } from "./category.ts";
import { callDefinitionOf, declarationOf } from "./definition.ts";
import { toDescription } from "./description.ts";
import { toolError, ToolError, ToolValidationError } from "./error.ts";
import { renameParameters } from "./rename-parameters.ts";
import { formatIssues } from "./schema-issue.ts";
import { signatureOf } from "./signature.ts";
import {
  type AnyTool,
  attachBody,
  type ToolBody,
  type ToolContext,
  type ToolDialect,
  type ToolPermission,
  ToolKind,
} from "./tool.ts";
import type { ToolConfig, ToolOf } from "./tool-config.ts";
import { gateOf } from "./tool-gate.ts";

/** What providers and rules can both spell. `@` is for versions, `*` and `group:` for policies. */
const NAME = /^(?!group:)[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$/;

/** Makes a tool. The one way to make one, so that each has a schema, a kind and a body that only the gate can reach. */
export function createTool<const P extends SchemaSource, R, O extends SchemaSource = SchemaSource>(
  config: ToolConfig<P, O, R>,
): ToolOf<P, O, R> {
  const name = config.name ?? config.id;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new TypeError(
      `A tool needs a name of letters, digits and _ . : / - (at most 128); got ${JSON.stringify(name)}.`,
    );
  }
  const body = config.run ?? config.execute;
  if (typeof body !== "function") throw new TypeError(`Tool "${name}" needs a \`run(input, context)\` function.`);
  if (config.description === undefined) throw new TypeError(`Tool "${name}" needs a description: models choose by it.`);
  const source = config.parameters ?? config.inputSchema ?? config.schema ?? config.params;
  if (source === undefined) {
    throw new TypeError(`Tool "${name}" needs \`parameters\`: a schema, or [] for a tool that takes none.`);
  }
  const kind = config.kind ?? ToolKind.Execute;
  if (!Object.values<string>(ToolKind).includes(kind)) {
    throw new TypeError(`Tool "${name}" has kind ${JSON.stringify(kind)}; use "readonly", "write" or "execute".`);
  }
  const dialects = { ...config.dialects };
  const outputSource = config.output ?? config.outputSchema;
  const shared = config.concurrency ? config.concurrency === "shared" : config.isConcurrencySafe !== false;

  const tool: AnyTool = {
    name,
    title: config.title ?? config.displayName ?? config.label ?? name,
    description: toDescription(config.description),
    kind,
    category: toCategory(config.category ?? ToolCategory.CUSTOM),
    tags: [...(config.tags ?? [])],
    version: config.version ?? "1.0.0",
    aliases: aliasesOf(name, config.aliases, dialects),
    dialects,
    parameterAliases: parameterAliasesOf(config.parameterAliases, dialects),
    mode: config.mode ?? (config.async ? "background" : "inline"),
    strict: config.strict ?? false,
    parameters: named(name, "parameters", () => toSchema(source)),
    ...(outputSource === undefined ? {} : { output: named(name, "output", () => toSchema(outputSource)) }),
    limits: { ...config.limits },
    concurrency: shared ? "shared" : "exclusive",
    dependsOn: [...(config.dependsOn ?? [])],
    ...(config.cache ? { cache: cacheOf(name, kind, config.cache) } : {}),
    labels: [...(config.labels ?? [])],
    idempotent: config.idempotent ?? kind === ToolKind.ReadOnly,
    origin: { ...(config.origin ?? { type: "own" as const }) },
    ...(config.locks ? { locks: config.locks } : {}),
    ...optional("labelsOf", config.labelsOf),
    permission: permissionOf(config.permission),
    ...optional("signature", config.signature ?? config.extractSignatureContent),
    ...optional("rule", config.rule ?? config.abstractPermissionRule),
    ...optional("preview", config.preview),
    isReadOnly: kind === ToolKind.ReadOnly,
    isConcurrencySafe: shared,
    getFunctionDeclaration: (dialect) => declarationOf(tool, dialect),
    toCallParams: () => callDefinitionOf(tool),
    build: (params) => buildInvocation(tool, params),
    execute: (params, options) => gateOf(tool).executeTool(tool, params, options),
  };
  const check = config.validate;
  const run = body as ToolBody;
  attachBody(tool, check ? afterCheck(check as Check, run) : run);
  const { tags, aliases, limits, dependsOn, labels, origin, description } = tool;
  for (const part of [tags, aliases, limits, dependsOn, labels, origin, description, dialects]) Object.freeze(part);
  return Object.freeze(tool) as ToolOf<P, O, R>;
}

type Check = (input: unknown) => string | null | undefined | Promise<string | null | undefined>;

/** A tool's own check of what its schema cannot say comes first, inside the gate like the rest of its code. */
function afterCheck(check: Check, run: ToolBody): ToolBody {
  return async (input: unknown, context: ToolContext) => {
    const problem = await check(input);
    if (problem) throw toolError("invalid_input", `Parameter validation failed: ${problem}`);
    return run(input, context);
  };
}

function buildInvocation(tool: AnyTool, params: unknown): ReturnType<AnyTool["build"]> {
  const validation = tool.parameters.validate(withCanonicalNames(tool, params));
  if (validation instanceof Promise) {
    throw new ToolError(tool.name, "This tool's schema is asynchronous: call `execute`, which waits for it.");
  }
  if (validation.issues) throw invalidInput(tool, validation.issues);
  return {
    tool,
    params: validation.value,
    getDescription: () => describeCall(tool, validation.value),
    // The gate validates for itself: what was built may be old, and a transforming schema accepts only raw input.
    execute: (options) => gateOf(tool).executeTool(tool, params, options),
  };
}

function describeCall(tool: AnyTool, input: unknown): string {
  const signature = signatureOf(tool, input);
  return signature ? `${tool.title}: ${signature.text}` : tool.title;
}

function withCanonicalNames(tool: AnyTool, params: unknown): unknown {
  if (tool.parameterAliases.size === 0 || typeof params !== "object" || params === null) return params;
  const named = { ...(params as Record<string, unknown>) };
  const { conflicts } = renameParameters(tool, named);
  if (conflicts.length > 0) throw new ToolValidationError(tool.name, conflicts, conflicts.join("; "));
  return named;
}

function invalidInput(tool: AnyTool, issues: readonly SchemaIssue[]): ToolValidationError {
  return new ToolValidationError(tool.name, formatIssues(issues), formatIssues(issues).join("; "));
}

function permissionOf(wish: ToolPermission | ((input: never) => ToolPermission) | undefined): AnyTool["permission"] {
  if (typeof wish === "function") return wish as AnyTool["permission"];
  return () => wish ?? "auto";
}

function aliasesOf(
  name: string,
  aliases: readonly string[] | undefined,
  dialects: Readonly<Record<string, ToolDialect>>,
): readonly string[] {
  const all = new Set(aliases);
  for (const dialect of Object.values(dialects)) if (dialect.name) all.add(dialect.name);
  all.delete(name);
  for (const alias of all) {
    if (!NAME.test(alias)) throw new TypeError(`Tool "${name}" has an alias that is no tool name: "${alias}".`);
  }
  return [...all];
}

function parameterAliasesOf(
  aliases: Readonly<Record<string, string>> | undefined,
  dialects: Readonly<Record<string, ToolDialect>>,
): ReadonlyMap<string, string> {
  const all = new Map(Object.entries(aliases ?? {}));
  for (const dialect of Object.values(dialects)) {
    for (const [canonical, shown] of Object.entries(dialect.parameters ?? {})) all.set(shown, canonical);
  }
  return all;
}

function cacheOf(name: string, kind: ToolKind, cache: NonNullable<AnyTool["cache"]>): NonNullable<AnyTool["cache"]> {
  if (kind !== ToolKind.ReadOnly) throw new TypeError(`Tool "${name}" declares a cache but is not read-only.`);
  return cache;
}

function optional<K extends string, V>(key: K, value: V | undefined): { [k in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [k in K]?: V });
}

function named<T>(tool: string, what: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`Tool "${tool}" has ${what} that cannot be used: ${reason}`, { cause });
  }
}

import type { DescribedOutput } from "../schema/describe-output.ts";
import type { InferInput, InferOutput, SchemaSource } from "../schema/infer.ts";
import { formatIssues, type SchemaIssue } from "../schema/schema.ts";
import { readCheck, readSchema } from "../schema/read-schema.ts";
import { TAINT_LABELS } from "./call-summary.ts";
import { toCategory, ToolCategory } from "./category.ts";
import { checkKeys, checkWords, keysOf } from "./options.ts";
import { callDefinitionOf, declarationOf, renameParameters, takesOtherNames, toDescription } from "./definition.ts";
import { errorMessage, toolError, ToolError, ToolValidationError } from "./error.ts";
import { gateOf } from "./gate.ts";
import type { ToolOutput, ToolResult } from "./result.ts";
import { type Signature, signatureOf } from "./signature.ts";
import type { MaybePromise } from "./stage.ts";
import {
  alwaysAsks,
  type AnyTool,
  attachBody,
  bodyOf,
  type BuiltInFacts,
  type HostContext,
  type InputListeners,
  type ModelOutput,
  type ProviderOptions,
  saysNothing,
  neverAsks,
  type Preview,
  statesOnlyKind,
  type TaintLabel,
  type Tool,
  type ToolBody,
  type ToolAmount,
  type ToolCache,
  type ToolContext,
  type ToolDescription,
  type ToolDialect,
  ToolKind,
  type ToolLimits,
  type ToolOrigin,
  ToolPermission,
} from "./tool.ts";

/** Characters that both providers and rules accept. `@` is for versions, `*` and `group:` for policies. */
const NAME = /^(?!group:)[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$/;

/**
 * Makes a tool: the only way. Every tool has a schema, a kind, and code that only the gate can reach. A tool
 * that is registered in no runtime runs in the default one.
 *
 * @example
 * const add = createTool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   kind: "readonly",
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 */
export function createTool<
  const P extends SchemaSource,
  R,
  O extends SchemaSource = SchemaSource,
  C extends SchemaSource = SchemaSource,
>(config: ToolConfig<P, O, R, C>): ToolOf<P, O, R, C> {
  const name = config.name ?? config.id;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new TypeError(
      `A tool needs a name of at most 128 letters, digits and _ . : / -, not ${JSON.stringify(name)}.`,
    );
  }
  checkConfig(name, config);
  const body = config.execute ?? config.run;
  if (typeof body !== "function") throw unfit(name, `needs an \`execute(input, context)\` function.`);
  if (config.description === undefined) throw unfit(name, `needs a description for models.`);
  const source = config.inputSchema ?? config.parameters ?? config.schema ?? config.params;
  if (source === undefined) {
    throw unfit(name, `needs an \`inputSchema\`: a schema, or [] for no input.`);
  }
  const stated = kindOf(name, config);
  const kind = stated ?? ToolKind.Execute;
  if (!Object.values<string>(ToolKind).includes(kind)) {
    throw unfit(name, `has kind ${JSON.stringify(kind)}; use "readonly", "write" or "execute".`);
  }
  const dialects = { ...config.dialects };
  const outputSource = config.outputSchema ?? config.output;
  const { contextSchema } = config;
  const check = checkOf(config);
  const shared = config.concurrency ? config.concurrency === "shared" : config.isConcurrencySafe !== false;

  const origin: ToolOrigin = config.builtIn ? { type: "builtin" } : (config.origin ?? { type: "own" });
  const title = config.title ?? config.displayName ?? config.label ?? config.annotations?.title ?? name;
  const fields: Omit<AnyTool, ToolMethods> = {
    name,
    title,
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
    parameters: named(name, "an inputSchema", () => readSchema(source)),
    output: outputSource === undefined ? undefined : named(name, "an outputSchema", () => readSchema(outputSource)),
    contextSchema:
      contextSchema === undefined ? undefined : named(name, "a contextSchema", () => readCheck(contextSchema)),
    limits: { ...config.limits },
    concurrency: shared ? "shared" : "exclusive",
    dependsOn: [...(config.dependsOn ?? [])],
    cache: config.cache ? cacheOf(name, kind, config) : undefined,
    labels: [...(config.labels ?? [])],
    idempotent: config.idempotent ?? (config.annotations?.idempotentHint || kind === ToolKind.ReadOnly),
    origin: { ...origin },
    builtIn: config.builtIn,
    amount: config.amount,
    convertInput: config.convertInput,
    redirect: config.redirect,
    locks: config.locks,
    labelsOf: config.labelsOf,
    permission: permissionOf(name, { ...config, kind: stated, origin }),
    signature: config.signature ?? config.extractSignatureContent,
    rule: config.rule ?? config.abstractPermissionRule,
    toModelOutput: config.toModelOutput as AnyTool["toModelOutput"],
    providerOptions: config.providerOptions,
    inputListeners: inputListenersOf(config),
    preview: previewOf(config.preview as Tool["preview"], check, title),
    isReadOnly: kind === ToolKind.ReadOnly,
    isConcurrencySafe: shared,
  };
  const run = body as ToolBody;
  return finish(fields, check ? afterCheck(check, run) : run) as ToolOf<P, O, R, C>;
}

function unfit(name: string, problem: string, cause?: unknown): TypeError {
  return new TypeError(`Tool "${name}" ${problem}`, { cause });
}

/** A configuration whose input type is not known. */
type AnyConfig = ToolConfig<SchemaSource, SchemaSource, unknown>;

type ToolMethods = "getFunctionDeclaration" | "toCallParams" | "build" | "execute";

/** `original`: the tool of which this is a view. It runs in the same gate. */
function finish(fields: Omit<AnyTool, ToolMethods>, body: ToolBody, view?: ResultView, original?: AnyTool): AnyTool {
  const tool: AnyTool = {
    ...fields,
    getFunctionDeclaration: (dialect) => declarationOf(tool, dialect),
    toCallParams: () => callDefinitionOf(tool),
    build: (params) => {
      const built = buildInvocation(tool, params);
      return view ? { ...built, execute: (options) => tool.execute(params, options) } : built;
    },
    execute: (params, options) => {
      const result = gateOf(tool, original).execute(tool, params, options);
      return view ? result.then(view) : result;
    },
  };
  attachBody(tool, body);
  const { tags, aliases, limits, dependsOn, labels, origin, description, dialects } = tool;
  for (const part of [tags, aliases, limits, dependsOn, labels, origin, description, dialects]) Object.freeze(part);
  return Object.freeze(tool);
}

/** What `tool.execute` returns instead of the result of the gate. */
type ResultView = (result: ToolResult) => ToolResult;

/** A copy with further members, whose code gets another context and whose `execute` returns another view of the result. */
export function viewedTool(
  tool: AnyTool,
  { view, contextOf, extra }: { view: ResultView; contextOf?: (context: ToolContext) => ToolContext; extra?: object },
): AnyTool {
  const body = bodyOf(tool);
  const run: ToolBody = contextOf ? (input, context) => body(input, contextOf(context)) : body;
  return finish({ ...tool, ...extra }, run, view, tool);
}

/** A copy that a host attributes to where it comes from, such as a plugin. It runs in the gate that registers it. */
export function attributeTool(
  tool: AnyTool,
  changes: Pick<AnyTool, "origin"> & Partial<Pick<AnyTool, "category">>,
): AnyTool {
  // Only a built-in tool runs unasked without saying so.
  const isUnsaid = tool.origin.type === "builtin" && tool.permission === neverAsks && !tool.isReadOnly;
  const permission = isUnsaid ? saysNothing : tool.permission;
  // What a model writes is not for a plugin before it is a call.
  return finish({ ...tool, ...changes, builtIn: undefined, permission, inputListeners: undefined }, bodyOf(tool));
}

/**
 * The same tool as another program runs it: judged, asked about and recorded as the tool, and `body` hands the call out. It never
 * runs the tool's own code.
 */
export function delegatedTool(tool: AnyTool, changes: Partial<Omit<AnyTool, ToolMethods>>, body: ToolBody): AnyTool {
  const { locks: _locks, redirect: _redirect, cache: _cache, output: _output, toModelOutput: _shown, ...fields } = tool;
  return finish({ ...fields, ...changes, inputListeners: undefined, isDelegated: true }, body);
}

// oxfmt-ignore
export const CONFIG_KEYS = keysOf<ToolConfig<SchemaSource, SchemaSource, unknown>>({
  name: true, description: true, inputSchema: true, outputSchema: true, kind: true, needsApproval: true, execute: true,
  preview: true, title: true, contextSchema: true, category: true, tags: true, version: true, aliases: true,
  dialects: true, parameterAliases: true, convertInput: true, redirect: true, mode: true, strict: true, limits: true,
  concurrency: true, dependsOn: true, cache: true, labels: true, labelsOf: true, idempotent: true, origin: true,
  builtIn: true, amount: true, locks: true, signature: true, rule: true, toModelOutput: true, providerOptions: true,
  onInputStart: true, onInputDelta: true, onInputAvailable: true, parameters: true, output: true, permission: true,
  requireApproval: true, annotations: true, isReadOnly: true, run: true, id: true, label: true, displayName: true,
  schema: true, params: true, async: true, isConcurrencySafe: true, validate: true, validateParams: true,
  extractSignatureContent: true, abstractPermissionRule: true,
});
const LIMIT_KEYS = keysOf<ToolLimits>({
  timeoutMs: true,
  maxConcurrent: true,
  maxResultBytes: true,
  maxResultTokens: true,
});
const CACHE_KEYS = keysOf<ToolCache>({ ttlMs: true, key: true, resources: true });
const DIALECT_KEYS = keysOf<ToolDialect>({ name: true, parameters: true, description: true, schema: true });

function checkConfig<P extends SchemaSource, O extends SchemaSource, R, C extends SchemaSource>(
  name: string,
  config: ToolConfig<P, O, R, C>,
): void {
  const { limits, cache, dialects = {} } = config;
  checkKeys(`Tool "${name}"`, config, CONFIG_KEYS);
  checkKeys(`\`limits\` of tool "${name}"`, limits, LIMIT_KEYS);
  checkKeys(`\`cache\` of tool "${name}"`, cache, CACHE_KEYS);
  checkWords(`A label of tool "${name}"`, config.labels ?? [], TAINT_LABELS);
  for (const [family, dialect] of Object.entries(dialects)) {
    checkKeys(`The dialect "${family}" of tool "${name}"`, dialect, DIALECT_KEYS);
  }
}

type Check = (input: unknown) => string | null | undefined | Promise<string | null | undefined>;

function checkOf({ validate, validateParams }: { validate?: unknown; validateParams?: unknown }): Check | undefined {
  return (validate ?? validateParams) as Check | undefined;
}

/** The tool's own validation runs first, inside the gate like the rest of its code. */
function afterCheck(check: Check, run: ToolBody): ToolBody {
  return async (input: unknown, context: ToolContext) => {
    await requireValid(check, input);
    return run(input, context);
  };
}

/** The validation also comes before the preview: nobody is asked about input that would be refused. */
function previewOf(preview: Tool["preview"], check: Check | undefined, title: string): Tool["preview"] {
  if (!check) return preview;
  return async (input, context) => {
    await requireValid(check, input);
    return preview ? preview(input, context) : { title, content: [] };
  };
}

async function requireValid(check: Check, input: unknown): Promise<void> {
  const problem = await check(input);
  if (problem) throw toolError("invalid_input", `Parameter validation failed: ${problem}`);
}

/** The input as the tool's functions get it. Waits for schemas that are asynchronous: those of plugins with their own process. */
export async function validatedInput(tool: AnyTool, params: unknown): Promise<unknown> {
  const validation = await tool.parameters.validate(withCanonicalNames(tool, params));
  if (validation.issues) throw invalidInput(tool, validation.issues);
  return validation.value;
}

function buildInvocation(tool: AnyTool, params: unknown): ReturnType<AnyTool["build"]> {
  const validation = tool.parameters.validate(withCanonicalNames(tool, params));
  if (validation instanceof Promise) {
    validation.catch(() => undefined);
    throw new ToolError(tool.name, "This tool's schema is asynchronous: call `execute`, which waits for it.");
  }
  if (validation.issues) throw invalidInput(tool, validation.issues);
  return {
    tool,
    params: validation.value,
    getDescription: () => describeCall(tool, validation.value),
    // The gate validates again: the invocation may be old, and a transforming schema accepts only raw input.
    execute: (options) => gateOf(tool).execute(tool, params, options),
  };
}

function describeCall(tool: AnyTool, input: unknown): string {
  const signature = signatureOf(tool, input);
  if (signature instanceof Promise) {
    signature.catch(() => undefined);
    return tool.title;
  }
  return signature ? `${tool.title}: ${signature.text}` : tool.title;
}

function withCanonicalNames(tool: AnyTool, params: unknown): unknown {
  if (!takesOtherNames(tool) || typeof params !== "object" || params === null) return params;
  const named = structuredClone(params as Record<string, unknown>);
  const { problems } = renameParameters(tool, named, tool.name);
  if (problems.length > 0) throw new ToolValidationError(tool.name, problems, problems.join("; "));
  return named;
}

function invalidInput(tool: AnyTool, issues: readonly SchemaIssue[]): ToolValidationError {
  return new ToolValidationError(tool.name, formatIssues(issues), formatIssues(issues).join("; "));
}

/** A tool that does not say whether it asks: a built-in or read-only one runs, policy decides about any other. */
function permissionOf(
  name: string,
  config: Pick<AnyConfig, ApprovalKeys | "annotations" | "kind" | "origin">,
): AnyTool["permission"] {
  const stated = statedPermission(name, config);
  if (typeof stated === "function") return stated;
  if (stated !== undefined) return stated === ToolPermission.AUTO ? neverAsks : alwaysAsks;
  if (config.annotations?.destructiveHint && config.kind !== ToolKind.ReadOnly) return alwaysAsks;
  if (config.kind === ToolKind.ReadOnly || config.origin?.type === "builtin") return neverAsks;
  return config.kind === undefined ? saysNothing : statesOnlyKind;
}

type ApprovalKeys = "permission" | "needsApproval" | "requireApproval";

/** What a configuration says about approval. Throws if it says it twice in different ways. */
export function statedPermission(
  name: string,
  { permission, needsApproval, requireApproval }: Pick<AnyConfig, ApprovalKeys>,
): AnyConfig["permission"] {
  const isKnown = permission === undefined || Object.values<unknown>(ToolPermission).includes(permission);
  if (!isKnown && typeof permission !== "function") {
    const given = JSON.stringify(permission);
    throw unfit(name, `has permission ${given}; use "auto", "confirm" or a function.`);
  }
  const stated = new Set([
    permission,
    readNeedsApproval(name, needsApproval),
    readNeedsApproval(name, requireApproval),
  ]);
  stated.delete(undefined);
  if (stated.size < 2) return [...stated][0];
  throw unfit(name, `says twice whether it needs approval.`);
}

function readNeedsApproval(name: string, setting: AnyConfig["needsApproval"]): AnyConfig["permission"] {
  if (setting === undefined) return undefined;
  const toPermission = (asks: unknown): ToolPermission =>
    asks === false ? ToolPermission.AUTO : ToolPermission.CONFIRM;
  if (typeof setting === "boolean") return toPermission(setting);
  if (typeof setting !== "function") {
    throw unfit(name, `has needsApproval ${JSON.stringify(setting)}; use true, false or a function.`);
  }
  return (input, context) => {
    const asks = setting(input, context ?? ({} as HostContext));
    return asks instanceof Promise ? asks.then(toPermission) : toPermission(asks);
  };
}

function inputListenersOf({ onInputStart, onInputDelta, onInputAvailable }: InputListeners): AnyTool["inputListeners"] {
  const given = onInputStart ?? onInputDelta ?? onInputAvailable;
  return given && { onInputStart, onInputDelta, onInputAvailable };
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
    if (!NAME.test(alias)) throw unfit(name, `has an alias that is not a tool name: "${alias}".`);
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

/** What it may do to the world, by any of the names for that. Throws if they contradict each other. */
function kindOf(
  name: string,
  { kind, isReadOnly, annotations }: Pick<AnyConfig, "kind" | "isReadOnly" | "annotations">,
): ToolKind | undefined {
  const saysReadOnly = [isReadOnly, annotations?.readOnlyHint, kind && kind === ToolKind.ReadOnly];
  if (saysReadOnly.includes(true) && saysReadOnly.includes(false)) {
    throw unfit(name, `says that it is read-only and that it is not.`);
  }
  return kind ?? (saysReadOnly.includes(true) ? ToolKind.ReadOnly : undefined);
}

function cacheOf(
  name: string,
  kind: ToolKind,
  { cache, contextSchema }: Pick<AnyConfig, "cache" | "contextSchema">,
): AnyTool["cache"] {
  if (kind !== ToolKind.ReadOnly) throw unfit(name, `has a cache but is not read-only.`);
  if (contextSchema !== undefined) {
    throw unfit(name, `has a cache and a contextSchema.`);
  }
  return cache;
}

function named<T>(tool: string, what: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const reason = errorMessage(cause);
    throw unfit(tool, `has ${what} that cannot be used: ${reason}`, cause);
  }
}

/** The options of `createTool`. It also accepts the names of other systems for them. */
export interface ToolConfig<P extends SchemaSource, O extends SchemaSource, R, C extends SchemaSource = SchemaSource>
  extends OtherNames<P, O, R, C>, InputListeners {
  /** Letters, digits and `_ . : / -`; at most 128. */
  name?: string;
  /** What it does; models choose by it. */
  description: string | ToolDescription;
  /** For people. Default: the name. */
  title?: string;
  /** Any schema: Zod, Valibot, ArkType, TypeBox, JSON Schema, or a list of parameters. */
  inputSchema?: P;
  /** The schema of `details`; the tool's output is validated. */
  outputSchema?: O;
  /** The schema of the host's data, `context.host`. A call without such data fails before it has any effect. */
  contextSchema?: C;
  /** What it may do to the world. Default: `execute`, the strictest. Only `readonly` runs without approval by default. */
  kind?: ToolKind;
  /** Its key, or a label in any known language. Default: `custom`. */
  category?: string;
  /** Search keywords. */
  tags?: readonly string[];
  /** Default: `1.0.0`. */
  version?: string;
  /** Other names that calls may use. */
  aliases?: readonly string[];
  /** Its names in families of models. */
  dialects?: Readonly<Record<string, ToolDialect>>;
  /** Aliases of parameters, mapped to the canonical name: `{ file_path: "path" }`. */
  parameterAliases?: Readonly<Record<string, string>>;
  /** Replaces parameters of other clients that differ in more than their name, in the input itself, before validation. */
  convertInput?: AnyTool["convertInput"];
  /** The tool that an input means, if not this one. If the caller has that tool, it is called instead. */
  redirect?: AnyTool["redirect"];
  /** `background`: the caller gets a job, and the result later. */
  mode?: "inline" | "background";
  /** Requests structured output from providers. */
  strict?: boolean;
  /** Time, concurrency and size of the result. */
  limits?: ToolLimits<InferOutput<P>>;
  /** `exclusive`: no other call of the session runs at the same time. */
  concurrency?: "shared" | "exclusive";
  /** Tools whose calls in the same batch run first. */
  dependsOn?: readonly string[];
  /** For how long a result may be reused. */
  cache?: ToolCache<InferOutput<P>>;
  /** What its calls may bring into a session or send out of it. */
  labels?: readonly TaintLabel[];
  /** The labels of one call, if not every call has all of `labels`. */
  labelsOf?(input: InferOutput<P>, result?: ToolResult): readonly TaintLabel[];
  /** Running it twice has the same effect as once. Default: true for read-only tools. */
  idempotent?: boolean;
  /** Where it comes from. Default: own. */
  origin?: ToolOrigin;
  /** Only for the tools of Haft itself: makes the origin `builtin`. */
  builtIn?: BuiltInFacts;
  /** The parameter that budgets sum up: `{ parameter: "amount", unit: "EUR" }`. A decimal as text counts too. */
  amount?: ToolAmount;
  /** The resources that a call uses; two calls that share one never overlap. */
  locks?(input: InferOutput<P>): MaybePromise<readonly string[]>;
  /**
   * Whether a call needs the approval of a person if no rule decides. Default: false for read-only tools, true for all others,
   * unless the runtime's `defaultPermission` is `auto`.
   */
  // A method's type: its parameter is bivariant, so a configuration with any schema can be registered.
  needsApproval?: boolean | { of(input: InferOutput<P>, context: HostContext<HostOf<C>>): MaybePromise<boolean> }["of"];
  /** What rules match: the command, the path, the host. */
  signature?(input: InferOutput<P>): MaybePromise<string | Signature>;
  /** The rule that "always allow" would save. */
  rule?(input: InferOutput<P>): string | undefined;
  /** What an approver sees before deciding. */
  preview?(input: InferOutput<P>, context: ToolContext<HostOf<C>>): Preview | Promise<Preview>;
  /** The tool's code. Returns plain data, a string or a ToolOutput; or yields updates and then returns. */
  execute?(input: InferOutput<P>, context: ToolContext<HostOf<C>>): R;
  /** What the model gets, made from the validated output. Default: the output. `details` has the whole output in any case. */
  toModelOutput?(shown: {
    toolCallId: string;
    input: InferOutput<P>;
    output: OutputOf<O, R>;
  }): MaybePromise<ModelOutput>;
  /** Additions to its definition, by provider: `{ anthropic: { cacheControl: { type: "ephemeral" } } }`. */
  providerOptions?: ProviderOptions;
}

/** The type of the host's data: any, if the tool has no schema of it. */
export type HostOf<C extends SchemaSource> = SchemaSource extends C ? unknown : InferOutput<C>;

/** The names of other systems, each for one of `ToolConfig`. */
interface OtherNames<P extends SchemaSource, O extends SchemaSource, R, C extends SchemaSource> {
  /** As `inputSchema`. */
  parameters?: P;
  /** As `outputSchema`. */
  output?: O;
  /** As `execute`. */
  run?(input: InferOutput<P>, context: ToolContext<HostOf<C>>): R;
  /** As `needsApproval`: `confirm` is true, `auto` is false. */
  permission?:
    | ToolPermission
    | {
        of(input: InferOutput<P>, context?: HostContext<HostOf<C>>): MaybePromise<ToolPermission | undefined>;
      }["of"];
  /** As `needsApproval`. */
  requireApproval?: ToolConfig<P, O, R, C>["needsApproval"];
  /** `true` is kind `readonly`. */
  isReadOnly?: boolean;
  /** Of MCP: `readOnlyHint` is kind `readonly`, `destructiveHint` is `needsApproval`, `idempotentHint` is `idempotent`. */
  annotations?: ToolAnnotations;
  /** As `name`. */
  id?: string;
  /** As `title`. */
  label?: string;
  /** As `title`. */
  displayName?: string;
  /** As `inputSchema`. */
  schema?: P;
  /** As `inputSchema`. */
  params?: P;
  /** `true` is mode `background`. */
  async?: boolean;
  /** `false` is concurrency `exclusive`. */
  isConcurrencySafe?: boolean;
  /** Returns null or undefined if the input is valid, else the problem. */
  validate?(params: InferOutput<P>): string | null | undefined | Promise<string | null | undefined>;
  /** As `validate`. */
  validateParams?(params: InferOutput<P>): string | null | undefined | Promise<string | null | undefined>;
  /** As `signature`. */
  extractSignatureContent?(params: InferOutput<P>): string;
  /** As `rule`. */
  abstractPermissionRule?(params: InferOutput<P>): string;
}

/** The annotations of MCP, on a tool of the program's own. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** The type of `details` for a tool without an output schema, inferred from its return type. */
export type DetailsOf<R> =
  Awaited<R> extends AsyncGenerator<infer _Update, infer Out> ? DetailsOfValue<Out> : DetailsOfValue<Awaited<R>>;
type DetailsOfValue<V> =
  V extends ToolOutput<infer D> ? (V extends { details: infer Given } ? Given : D | undefined) : V;

/** Without an output schema, `O` is all sources, or never if the type of the configuration does not have it. */
type OutputOf<O extends SchemaSource, R> = SchemaSource extends O
  ? DetailsOf<R>
  : [O] extends [DescribedOutput]
    ? DetailsOf<R>
    : InferOutput<O>;

export type ToolOf<P extends SchemaSource, O extends SchemaSource, R, C extends SchemaSource = SchemaSource> = Tool<
  InferOutput<P>,
  OutputOf<O, R>,
  InferInput<P>,
  HostOf<C>
>;

import type { JsonSchema } from "../schema/json-schema.ts";
import { type Schema, type SchemaCheck, sharedByCopies } from "../schema/schema.ts";
import type { CallAuthority, Caller, CallOptions, Execute } from "./call.ts";
import type { TaintLabel } from "./call-summary.ts";
import type { Content } from "./content.ts";
import type { FunctionDeclaration, ToolCallDefinition } from "./definition.ts";
import type { Update } from "./events.ts";
import type { ToolResult } from "./result.ts";
import type { Signature } from "./signature.ts";
import type { LocalizedText } from "./localized-text.ts";
import type { MaybePromise } from "./stage.ts";

/** What a tool may do to the world. */
export const ToolKind = { ReadOnly: "readonly", Write: "write", Execute: "execute" } as const;
export type ToolKind = (typeof ToolKind)[keyof typeof ToolKind];

/** The tool's default; policy can override it. */
export const ToolPermission = { AUTO: "auto", CONFIRM: "confirm" } as const;
export type ToolPermission = (typeof ToolPermission)[keyof typeof ToolPermission];

/** What a tool does, for models and people. */
export interface ToolDescription {
  /** One sentence: what it does. */
  short: string;
  /** More about it, if a sentence is not enough. */
  long?: string;
  /** How to use it. */
  usageNotes?: readonly string[];
  /** What must not be missed. */
  important?: readonly string[];
  /** Inputs that show its use. */
  examples?: readonly ToolExample[];
}

export interface ToolExample {
  input: unknown;
  description?: string;
}

export interface ToolLimits<Input = unknown> {
  /** A function if the limit depends on the input (`sleep`, `exec`). */
  timeoutMs?: number | ((input: Input, options: Pick<CallOptions, "waitForEnd">) => number);
  maxConcurrent?: number;
  /** Default: the runtime's, 50 KiB; more lifts the default budget of tokens. */
  maxResultBytes?: number;
  /** In addition to the bytes, counted with the runtime's token counter. Default: 12,000, estimated. */
  maxResultTokens?: number;
}

/** What an approver sees before deciding: the diff, the exact command. */
export interface Preview {
  /** One line. */
  title: string;
  /** What else a person should know, one line each, such as the folder that a command runs in. */
  facts?: LocalizedText[];
  /** The diff, or another description of the effect. */
  content: Content[];
  /** What a command printed while it was previewed. Text of others: it is shown apart, so it cannot imitate the effect. */
  output?: string;
  /** Of the whole effect, also of what `content` leaves out. */
  counts?: { files: number; added: number; removed: number };
  /** The same replacement on many lines. Also in the difference. */
  replacements?: { before: string; after: string; lines: number }[];
  /** What `content` and `output` leave out, such as "12 of 4000 changed lines". The approval then needs a separate confirmation. */
  omitted?: string;
  /** Why the effect cannot be shown at all. The approval then needs a separate confirmation. */
  unshown?: string;
  /** All of it as text, if something is omitted. Kept for approvers, and not part of the question itself. */
  whole?: string;
  /**
   * The call was made already in a copy, where it changed nothing and was refused nothing. If only the tool itself asks, nobody is
   * asked: `execute` returns that result. Counts for built-in tools.
   */
  hasNoEffects?: boolean;
}

/** How a tool is shown to one family of models. */
export interface ToolDialect {
  name?: string;
  /** Canonical parameter name to the shown name. */
  parameters?: Readonly<Record<string, string>>;
  /** Default: the tool's own. */
  description?: string | ToolDescription;
  /** Its parameters, if more than their names differ: `convertInput` converts them. */
  schema?: JsonSchema;
}

/** The known dialects; a tool may add its own. */
export type DialectName = "snake" | "claude" | "codex" | "gemini" | "openclaw" | (string & {});

export interface ToolCache<Input = unknown> {
  ttlMs: number;
  /** The cache key of an input. Default: the canonical input. */
  key?(input: Input): string;
  /** The resources that the result depends on; a write that locks one of them drops the entry. Default: any write does. */
  resources?(input: Input): readonly string[];
}

/** Where a tool comes from. Tools of other origins cannot take built-in names. */
export type ToolOrigin =
  | { type: "builtin" }
  | { type: "own" }
  | { type: "mcp"; server: string }
  | { type: "plugin"; plugin: string }
  /** `user`: the owner of the client; only this user's calls can use the tool. */
  | { type: "client"; client: string; user?: string };

/** What other parts know of a built-in tool: literals, which `npm run tools:update` reads from the source. */
export interface BuiltInFacts {
  /** The title and the short description in Chinese. */
  zh: { title: string; short: string };
  /** The tools of other programs that do the same: their settings narrow this one too. Empty lists if none does. */
  sameAs: { opencode: readonly string[]; gemini: readonly string[] };
  /** Whether tool search always shows it. */
  isCore?: boolean;
  /** Whether it may call any tool, or read from MCP servers. */
  usesOtherTools?: boolean;
  /** Other programs' names for it, in lists of tools and in rules. */
  knownAs?: readonly string[];
  /** Names that mean only a part of what it does: aliases, and other tools that it does the work of. They deny it, and never allow it. */
  partlyKnownAs?: readonly string[];
  /** Other programs' names for it that mean something else outside rules. */
  knownInRules?: readonly string[];
}

/** The parameter of a tool that budgets sum up, with points between the names of nested ones: `order.total`. */
export interface ToolAmount {
  parameter: string;
  /** `EUR`, `tokens`; or the parameter that has it. */
  unit: string | { parameter: string };
}

export type { TaintLabel };

/** A tool. Only `createTool` makes one, so every tool has all fields. */
export interface Tool<Input = unknown, Details = unknown, Raw = Input, Host = unknown> {
  /** Its name. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** What it does; models choose by it. */
  readonly description: ToolDescription;
  /** What it may do to the world. */
  readonly kind: ToolKind;
  /** The key of its category. */
  readonly category: string;
  /** Search keywords. */
  readonly tags: readonly string[];
  /** Its version; several versions may be registered. */
  readonly version: string;
  /** Other names that calls may use, including those of the dialects. */
  readonly aliases: readonly string[];
  /** Its names in families of models. */
  readonly dialects: Readonly<Record<string, ToolDialect>>;
  /** Aliases of parameters, mapped to the canonical name. */
  readonly parameterAliases: ReadonlyMap<string, string>;
  /** `background`: the caller gets a job, and the result later. */
  readonly mode: "inline" | "background";
  /** Whether to request structured output from providers. */
  readonly strict: boolean;
  /** The schema of its input. */
  readonly parameters: Schema<Input>;
  /** The schema of the result's `details`. */
  readonly output?: Schema<Details>;
  /** The schema of the host's data. A call without such data fails before it has any effect. */
  readonly contextSchema?: SchemaCheck<Host>;
  /** Time, concurrency and size of the result. */
  readonly limits: ToolLimits<Input>;
  /** `exclusive`: no other call of the same session runs at the same time. */
  readonly concurrency: "shared" | "exclusive";
  /** Tools whose calls in the same batch run first. */
  readonly dependsOn: readonly string[];
  /** For how long a result may be reused. */
  readonly cache?: ToolCache<Input>;
  /** All labels that its calls may have. */
  readonly labels: readonly TaintLabel[];
  /** Whether running it twice has the same effect as once. */
  readonly idempotent: boolean;
  /** Where it comes from. */
  readonly origin: ToolOrigin;
  /** Only of a built-in tool. */
  readonly builtIn?: BuiltInFacts;
  /** What budgets of grants and limits sum up. */
  readonly amount?: ToolAmount;
  /** Another program runs it. An approved call waits until that program makes it again. */
  readonly isDelegated?: boolean;

  /**
   * Replaces parameters of other clients by the tool's own, in the input itself, before validation. `calledAs` is the name
   * that was called. The gate records `repairs` and refuses the call if there are `problems`. An input that was converted
   * may come again, under the tool's own name, so it must stay as it is then.
   */
  convertInput?(
    input: Record<string, unknown>,
    calledAs: string,
  ): { repairs: readonly string[]; problems: readonly string[] };
  /** The tool that this input means, with the input for it. If the caller has that tool, it is called instead. */
  redirect?(
    input: Readonly<Record<string, unknown>>,
    calledAs: string,
  ): { name: string; input: Record<string, unknown> } | undefined;
  /** The resources that this call uses; two calls that share one never overlap. A promise makes the call wait for it. */
  locks?(input: Input): MaybePromise<readonly string[]>;
  /** The labels of this call, a part of `labels`; given the result, the labels that it brought. */
  labelsOf?(input: Input, result?: ToolResult): readonly TaintLabel[];
  /** Whether this call asks a person if no rule decides. Undefined: the tool does not say. A promise makes the call wait for it. */
  permission(input: Input, context?: HostContext<Host>): MaybePromise<ToolPermission | undefined>;
  /** What rules match: the command, the paths, the addresses, or only text. A promise makes the call wait for it. */
  signature?(input: Input): MaybePromise<string | Signature>;
  /** The reusable rule that "always allow" would save; "" = never reusable. */
  rule?(input: Input): string | undefined;
  /** What an approver sees before deciding. */
  preview?(input: Input, context: ToolContext<Host>): Preview | Promise<Preview>;

  /** What a model gets of the validated output; see `ToolConfig`. The gate calls it. */
  toModelOutput?(shown: { toolCallId: string; input: Input; output: Details }): MaybePromise<ModelOutput>;
  /** Additions to its definition, by provider. */
  readonly providerOptions?: ProviderOptions;
  /** While a model writes the input of a call; see `ToolConfig`. */
  readonly inputListeners?: InputListeners;

  /** Whether its kind is `readonly`. */
  readonly isReadOnly: boolean;
  /** Whether its concurrency is `shared`. */
  readonly isConcurrencySafe: boolean;
  /** Its definition for a model. */
  getFunctionDeclaration(dialect?: DialectName): FunctionDeclaration;
  /** Its definition for a `ToolCallContext`. */
  toCallParams(): ToolCallDefinition;
  /** A validated call that has not run. Throws ToolValidationError. */
  build(params: Raw): ToolInvocation<Input, Details>;
  /** Runs through the gate of the runtime that the tool is registered in, or of the default runtime. */
  execute(params: Raw, options?: CallOptions<Host>): Promise<ToolResult<Details>>;
}

/** What a model gets: text, blocks, data, or the shapes of the AI SDK. */
export type ModelOutput =
  | string
  | readonly Content[]
  | { type: "text"; value: string }
  | { type: "json"; value: unknown }
  | { type: "content"; value: readonly unknown[] };

/** By provider. */
export type ProviderOptions = Record<string, { [option: string]: JsonData | undefined }>;
type JsonData = null | string | number | boolean | JsonData[] | { [key: string]: JsonData | undefined };

/** Nothing is decided about the call yet, and it may never run: they may only show what is coming. */
export interface InputListeners {
  /** A model has begun to write the input. */
  onInputStart?(call: { toolCallId: string }): MaybePromise<void>;
  /** The next piece of the input, as JSON text. */
  onInputDelta?(call: { toolCallId: string; inputTextDelta: string }): MaybePromise<void>;
  /** The whole input, before it is validated. */
  onInputAvailable?(call: { toolCallId: string; input: unknown }): MaybePromise<void>;
}

/** A tool of any input. */
// A registry holds tools of every input type; the gate passes each only input that its schema accepted.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyTool = Tool<any, any, any, any>;

/** A validated call that has not run. */
export interface ToolInvocation<Input = unknown, Details = unknown> {
  /** The tool. */
  readonly tool: Tool<Input, Details, never>;
  /** The validated input. */
  readonly params: Input;
  /** One line for a person. */
  getDescription(): string;
  /** Runs it, as `tool.execute` does. */
  execute(options?: CallOptions): Promise<ToolResult<Details>>;
}

/** The data of the host, for functions that decide about a call. */
export interface HostContext<Host = unknown> {
  /** As `callId`: the name of the AI SDK. */
  readonly toolCallId?: string;
  /** As `host`: the name of the AI SDK 6. */
  readonly experimental_context?: Host;
  /** As the call or `contextFor` gave it, checked by the tool's `contextSchema`. Undefined in a plugin's own process. */
  readonly host: Host;
}

/** The context of a running tool. */
export interface ToolContext<Host = unknown> extends HostContext<Host> {
  /** Of this call. */
  readonly callId: string;
  /** On whose behalf it is made. */
  readonly caller: Caller;
  /** Aborted by the caller, the time limit or shutdown; `signal.reason` says which. */
  readonly signal: AbortSignal;
  /** As `signal`: the name of the AI SDK. */
  readonly abortSignal?: AbortSignal;
  /** The folder to work in. */
  readonly workspace: string;
  /** The paths that this call may use; can only narrow the runtime's. */
  readonly allowedPaths: readonly string[] | undefined;
  /** As `CallOptions.waitForEnd`. */
  readonly waitForEnd: boolean;
  /** What this call may do, for tools that leave work for later. */
  readonly authority: CallAuthority;
  /** Reports a partial result. */
  update(partial: Update | string): void;
  /** Pauses the time limit while a person is asked; call the returned function to continue. */
  pauseTimeLimit(): () => void;
  /** A nested call: through the gate, in this call's slot, with its caller and no more than its rights. */
  readonly call: Execute<NestedCallOptions>;
}

export interface NestedCallOptions {
  /** The id of this step within the call, for repetitions. Default: the next number. */
  step?: number;
  onApprovalRequested?: CallOptions["onApprovalRequested"];
}

/** A tool's code. Only the gate runs it. */
export type ToolBody = (input: unknown, context: ToolContext) => unknown;

/** The permission of a tool that never asks: its answer is known before a call. */
export function neverAsks(): ToolPermission {
  return ToolPermission.AUTO;
}

/** The permission of a tool that always asks. */
export function alwaysAsks(): ToolPermission {
  return ToolPermission.CONFIRM;
}

/** The permission of a tool that states neither a kind nor a permission: policy decides, and asks by default. */
export function saysNothing(): undefined {
  return undefined;
}

/** The permission of a tool that changes things, states its kind, and no permission. */
export function statesOnlyKind(): undefined {
  return undefined;
}

let shared: WeakMap<object, ToolBody> | undefined;

/** The code of each tool. Not a property of the tool: it would be called by mistake, without the gate. */
function bodies(): WeakMap<object, ToolBody> {
  return (shared ??= sharedByCopies("bodies", () => new WeakMap<object, ToolBody>()));
}

export function attachBody(tool: AnyTool, body: ToolBody): void {
  bodies().set(tool, body);
}

/** Only for the gate. */
export function bodyOf(tool: AnyTool): ToolBody {
  const body = bodies().get(tool);
  if (!body) throw new TypeError(`"${String(tool.name)}" was not made by createTool.`);
  return body;
}

/** Whether a value was made by `createTool`, also by that of another copy of Haft in this process. */
export function isTool(value: unknown): value is AnyTool {
  return typeof value === "object" && value !== null && bodies().has(value);
}

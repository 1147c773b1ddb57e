import type { Schema } from "../schema/schema.ts";
import type { CallAuthority, Caller, CallOptions, Execute } from "./call.ts";
import type { Content } from "./content.ts";
import type { FunctionDeclaration, ToolCallDefinition } from "./definition.ts";
import type { Update } from "./events.ts";
import type { ToolResult } from "./result.ts";
import type { Signature } from "./signature.ts";

/** What a tool may do to the world. */
export const ToolKind = { ReadOnly: "readonly", Write: "write", Execute: "execute" } as const;
export type ToolKind = (typeof ToolKind)[keyof typeof ToolKind];

/** The tool's own default; policy has the last word. */
export const ToolPermission = { AUTO: "auto", CONFIRM: "confirm" } as const;
export type ToolPermission = (typeof ToolPermission)[keyof typeof ToolPermission];

export interface ToolDescription {
  /** One sentence: what it does. */
  short: string;
  long?: string;
  usageNotes?: readonly string[];
  important?: readonly string[];
  examples?: readonly ToolExample[];
}

export interface ToolExample {
  input: unknown;
  description?: string;
}

export interface ToolLimits<Input = unknown> {
  /** A function where the input itself says how long it takes (`sleep`, `exec`). */
  timeoutMs?: number | ((input: Input) => number);
  maxConcurrent?: number;
  maxResultBytes?: number;
  /** Besides the bytes; counted in what the runtime counts in. */
  maxResultTokens?: number;
}

/** What an approver is shown before saying yes: the diff, the exact command. */
export interface Preview {
  /** One line. */
  title: string;
  /** The diff, the command, or what else would happen. */
  content: Content[];
}

/** How a tool is called in one family of models: its name there, and the names of its parameters. */
export interface ToolDialect {
  name?: string;
  /** Canonical parameter name to the name shown. */
  parameters?: Readonly<Record<string, string>>;
}

/** The families of names that the design knows; a tool may add its own. */
export type DialectName = "snake" | "claude" | "openclaw" | (string & {});

export interface ToolCache<Input = unknown> {
  ttlMs: number;
  /** What makes two inputs the same; the canonical input by default. */
  key?(input: Input): string;
  /** Signatures of resources the answer depends on; a write that locks one of them drops the entry. Absent: any write does. */
  resources?(input: Input): readonly string[];
}

/** Where a tool comes from. Built-in names can never be taken by the others. */
export type ToolOrigin =
  | { type: "builtin" }
  | { type: "own" }
  | { type: "mcp"; server: string }
  | { type: "plugin"; plugin: string }
  /** `user`: whose client it is, and for whose calls alone it is there. */
  | { type: "client"; client: string; user?: string };

/** What a call may bring into a session or carry out of it; policy combines them. */
export type TaintLabel = "untrusted_input" | "sensitive_data" | "outside_effect";

/** Something that can be called. Only `createTool` makes one, so every tool has all of this. */
export interface Tool<Input = unknown, Details = unknown, Raw = Input> {
  /** How it is called. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** What it does; models choose by it. */
  readonly description: ToolDescription;
  /** What it may do to the world. */
  readonly kind: ToolKind;
  /** The key of its category. */
  readonly category: string;
  /** Words to find it by. */
  readonly tags: readonly string[];
  /** Beside other versions of the same tool. */
  readonly version: string;
  /** Further names under which calls are accepted; those of the dialects included. */
  readonly aliases: readonly string[];
  /** Its names in families of models. */
  readonly dialects: Readonly<Record<string, ToolDialect>>;
  /** Further parameter names under which input is accepted, to the canonical one. */
  readonly parameterAliases: ReadonlyMap<string, string>;
  /** `background`: the caller gets a job, and the result later. */
  readonly mode: "inline" | "background";
  /** Whether providers should be asked for structured output. */
  readonly strict: boolean;
  /** What its input must be. */
  readonly parameters: Schema<Input>;
  /** What `details` of its result is. */
  readonly output?: Schema<Details>;
  /** Time, concurrency and size of the result. */
  readonly limits: ToolLimits<Input>;
  /** `exclusive`: no other call of the same session runs at the same time. */
  readonly concurrency: "shared" | "exclusive";
  /** Tools whose calls in the same batch run before. */
  readonly dependsOn: readonly string[];
  /** For how long a result may be reused. */
  readonly cache?: ToolCache<Input>;
  /** All that a call of it may have. */
  readonly labels: readonly TaintLabel[];
  /** Whether running it twice does no more than running it once. */
  readonly idempotent: boolean;
  /** Where it comes from. */
  readonly origin: ToolOrigin;

  /** The resources this call touches; two calls with one in common never overlap. */
  locks?(input: Input): readonly string[];
  /** Those of this very call, of `labels`; with its result, those that the result brought. */
  labelsOf?(input: Input, result?: ToolResult): readonly TaintLabel[];
  /** Whether this call asks a person if no rule decides. */
  permission(input: Input): ToolPermission;
  /** What a rule is matched against: the command, the paths, the addresses, or just a text. */
  signature?(input: Input): string | Signature;
  /** The reusable rule that "always allow" would save; "" = never reusable. */
  rule?(input: Input): string;
  /** What an approver is shown before saying yes. */
  preview?(input: Input, context: ToolContext): Promise<Preview>;

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
  /** Runs through the gate of the runtime that the tool is registered in, or of the default one. Never around it. */
  execute(params: Raw, options?: CallOptions): Promise<ToolResult<Details>>;
}

/** A tool of any input. */
// A registry holds tools of every input type; the gate hands each only what its own schema accepted.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyTool = Tool<any, any, any>;

/** A validated call that has not run. */
export interface ToolInvocation<Input = unknown, Details = unknown> {
  /** The tool. */
  readonly tool: Tool<Input, Details, never>;
  /** The input, as the schema made it. */
  readonly params: Input;
  /** One line for a person. */
  getDescription(): string;
  /** Runs it, as `tool.execute` does. */
  execute(options?: CallOptions): Promise<ToolResult<Details>>;
}

/** What a running tool is given besides its input. */
export interface ToolContext {
  /** Of this call. */
  readonly callId: string;
  /** On whose behalf it is made. */
  readonly caller: Caller;
  /** Aborted by the caller, by the time limit or by shutdown, whichever comes first; `signal.reason` says which. */
  readonly signal: AbortSignal;
  /** The folder to work in. */
  readonly workspace: string;
  /** Of this call; may only narrow what the runtime allows. */
  readonly allowedPaths: readonly string[] | undefined;
  /** What this call may do: for tools that leave something to be done later. */
  readonly authority: CallAuthority;
  /** Reports a partial result. */
  update(partial: Update | string): void;
  /** Stops the time limit while a person is asked; call the function that it returns to start it again. */
  pauseTimeLimit(): () => void;
  /** A nested call: through the gate, in this call's slot, with its caller and no more than its rights. */
  readonly call: Execute<NestedCallOptions>;
}

export interface NestedCallOptions {
  /** Which step of this call it is: made again, it is recognised. Default: the next number. */
  step?: number;
  onApprovalRequested?: CallOptions["onApprovalRequested"];
}

/** A tool's code. Only the gate can reach it, so nothing can run it unguarded. */
export type ToolBody = (input: unknown, context: ToolContext) => unknown;

/** A base class whose constructor returns its argument: subclasses add private fields to an object that exists. */
const Given = function (object: object) {
  return object;
} as unknown as new (object: object) => object;

/** Holds the code in a private field: properties and symbols of a tool can be listed. */
class Stamped extends Given {
  #body: ToolBody;

  constructor(tool: AnyTool, body: ToolBody) {
    super(tool);
    this.#body = body;
  }

  static bodyOf(tool: object): ToolBody {
    return (tool as Stamped).#body;
  }

  static has(value: object): boolean {
    return #body in value;
  }
}

export function attachBody(tool: AnyTool, body: ToolBody): void {
  void new Stamped(tool, body);
}

/** For the gate alone. */
export function bodyOf(tool: AnyTool): ToolBody {
  return Stamped.bodyOf(tool);
}

/** Whether a value was made by `createTool`. */
export function isTool(value: unknown): value is AnyTool {
  return typeof value === "object" && value !== null && Stamped.has(value);
}

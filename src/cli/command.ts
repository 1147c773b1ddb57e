import type { CapabilityName } from "../capabilities/capability.ts";
import type { ApiClient } from "../contracts/index.ts";
import type { ToolEvent } from "../core/events.ts";
import type { Middleware } from "../core/stage.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export type OptionType = "flag" | "text" | "list" | "number" | "duration" | "moment";

export interface OptionSpec {
  type: OptionType;
  /** One line for the help. */
  about: string;
  /** The placeholder of the value in the help: `FILE`. */
  value?: string;
  short?: string;
  /** For numbers. */
  range?: readonly [min: number, max: number];
  /** The allowed values. */
  oneOf?: readonly string[];
  /** What a shell can offer after it. */
  completes?: "file" | "folder";
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

interface Values {
  flag: boolean;
  list: readonly string[];
  number: number | undefined;
  /** Milliseconds. */
  duration: number | undefined;
  /** Unix milliseconds. */
  moment: number | undefined;
}

type ValueOf<Spec extends OptionSpec> = Spec["type"] extends "text"
  ? (Spec extends { oneOf: readonly (infer Word extends string)[] } ? Word : string) | undefined
  : Values[Exclude<Spec["type"], "text">];

export type OptionValues<Specs extends OptionSpecs> = { readonly [Name in keyof Specs]: ValueOf<Specs[Name]> };

export interface OperandSpec {
  /** `NAME`. */
  name: string;
  isOptional?: boolean;
  /** Takes all remaining words. */
  isRest?: boolean;
  completes?: "tool" | "approval" | "file" | "folder";
  /** The command whose list has the values: `haft token list`. */
  listedBy?: string;
  /** The values, if they are few. */
  oneOf?: readonly string[];
}

/** A part of the API: `jobs`, `approvals`, … */
export type Resource = keyof ApiClient;

/** What a command gets: its words, and what it can use. */
export interface Invocation<Specs extends OptionSpecs = OptionSpecs, Uses extends Resource = Resource> {
  readonly operands: readonly string[];
  /** The words after `--`. */
  readonly rest: readonly string[];
  readonly options: OptionValues<Specs>;
  /** The whole command line as it was given. */
  readonly argv: readonly string[];
  /** The workspace, as an absolute path. */
  readonly folder: string;
  /** Whether `--folder` gave it. */
  readonly isFolderNamed: boolean;
  /** The server named by `--url` or HAFT_URL. */
  readonly url: string | undefined;
  readonly terminal: Terminal;
  readonly output: Output;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  readonly embedded: EmbedOptions;
  /** A client with the resources that the command `uses`. Opened at the first call, closed when the command ends. */
  connect(options?: ConnectOptions): Promise<Pick<ApiClient, Uses>>;
  /** Runs another command line at the same terminal; for `record` and `replay`. */
  run(argv: readonly string[], embedded: EmbedOptions): Promise<number>;
}

/** For a runtime in this process; a server has everything already. */
export interface ConnectOptions {
  /** Opens only these capabilities and what they need. Default: all. */
  only?: readonly CapabilityName[];
  /** Opens what a call of this tool needs. */
  tool?: string;
  /** Whether this process runs the background calls that it starts. Default: true. */
  runsJobs?: boolean;
  /** Whether MCP servers are started, which can take seconds. Default: true. */
  connectsMcp?: boolean;
  /** Opens another connection: the server of the first one has ended. */
  isNew?: boolean;
}

/** Added to a runtime that is opened in this process. */
export interface EmbedOptions {
  /** Replaces the runtime of the folder. */
  open?: () => Promise<{ client: ApiClient; close(): Promise<void> }>;
  middleware?: readonly Middleware[];
  onEvent?: (event: ToolEvent) => void;
}

export interface Command<Specs extends OptionSpecs = OptionSpecs, Uses extends Resource = Resource> {
  /** Command lines and what they do. The help shows them first. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  readonly operands?: readonly OperandSpec[];
  readonly options?: Specs;
  /** Whether the command takes words after `--`. */
  readonly takesRest?: boolean;
  readonly notes?: readonly string[];
  /** The resources that `connect` opens, and nothing else. */
  readonly uses?: readonly Uses[];
  /** Returns the exit code. Default: 0. */
  run(invocation: Invocation<Specs, Uses>): Promise<number | void>;
}

/** Infers the types of the options and of the client for `run`. */
export function defineCommand<const Specs extends OptionSpecs, const Uses extends Resource = never>(
  command: Command<Specs, Uses>,
): Command {
  return command as unknown as Command;
}

/** Used by every command that makes calls. */
export const MODE_OPTION = {
  type: "text",
  value: "MODE",
  about: "When to ask for approval",
  oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
} as const satisfies OptionSpec;

/** `--allow` and `--deny` of a call. Undefined if neither was given. */
export function callPolicy(
  allow: readonly string[],
  deny: readonly string[],
): { allow?: string[]; deny?: string[] } | undefined {
  if (allow.length === 0 && deny.length === 0) return undefined;
  return { allow: allow.length > 0 ? [...allow] : undefined, deny: deny.length > 0 ? [...deny] : undefined };
}

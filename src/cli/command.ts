import type { HaftClient } from "../client/create-client.ts";
import type { ToolEvent } from "../core/events.ts";
import type { Middleware } from "../core/stage.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export type OptionType = "flag" | "text" | "list" | "number" | "duration" | "moment";

export interface OptionSpec {
  type: OptionType;
  /** In one line, for the help. */
  about: string;
  /** What stands for the value in the help: `FILE`. */
  value?: string;
  short?: string;
  /** Of a number: the least and the most. */
  range?: readonly [min: number, max: number];
  /** The only values that it may have. */
  oneOf?: readonly string[];
  /** What a shell may offer after it. */
  completes?: "file" | "folder";
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

interface Values {
  flag: boolean;
  text: string | undefined;
  list: readonly string[];
  number: number | undefined;
  /** Milliseconds. */
  duration: number | undefined;
  /** Unix milliseconds. */
  moment: number | undefined;
}

export type OptionValues<Specs extends OptionSpecs> = { readonly [Name in keyof Specs]: Values[Specs[Name]["type"]] };

export interface OperandSpec {
  /** `NAME`. */
  name: string;
  isOptional?: boolean;
  /** Takes all that is left. */
  isRest?: boolean;
  completes?: "tool" | "approval" | "file" | "folder";
}

/** What a command is given: its words, and what it may use. */
export interface Invocation<Specs extends OptionSpecs = OptionSpecs> {
  readonly operands: readonly string[];
  /** What stands after `--`. */
  readonly rest: readonly string[];
  readonly options: OptionValues<Specs>;
  /** The workspace, as an absolute path. */
  readonly folder: string;
  /** The server that was named; undefined for the embedded one. */
  readonly url: string | undefined;
  readonly terminal: Terminal;
  readonly output: Output;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  readonly embedded: EmbedOptions;
  /** The server that was named, or one in this process; opened when first asked for, closed when the command ends. */
  connect(options?: ConnectOptions): Promise<HaftClient>;
  /** Runs another command line with what this one has; for `record` and `replay`. */
  run(argv: readonly string[], embedded: EmbedOptions): Promise<number>;
}

export interface ConnectOptions {
  /** Whether one in this process also runs the background calls that are made through it; else others do. True where absent. */
  runsJobs?: boolean;
  /** Whether one in this process starts the MCP servers, which takes seconds on a busy machine. True where absent. */
  connectsMcp?: boolean;
}

/** What is added to a runtime that is opened in this process. */
export interface EmbedOptions {
  /** One that is open already, in place of the folder's. */
  open?: () => Promise<{ client: HaftClient; close(): Promise<void> }>;
  middleware?: readonly Middleware[];
  onEvent?: (event: ToolEvent) => void;
}

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** A command line and what it does: the first thing that the help shows. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  readonly operands?: readonly OperandSpec[];
  readonly options?: Specs;
  /** Whether words after `--` are passed on. */
  readonly takesRest?: boolean;
  /** What needs more than a line. */
  readonly notes?: readonly string[];
  /** The exit code; 0 where it answers nothing. */
  run(invocation: Invocation<Specs>): Promise<number | void>;
}

/** Keeps the types of the options for `run`. */
export function defineCommand<const Specs extends OptionSpecs>(command: Command<Specs>): Command {
  return command as unknown as Command;
}

import { sharedByCopies } from "../schema/schema.ts";
import type { CommandStep } from "./call-summary.ts";
import type { MaybePromise } from "./stage.ts";
import type { AnyTool } from "./tool.ts";

/** What permission rules match in one call: a command, paths, addresses, or only text. Plain data. */
export interface Signature {
  /** One line for people and for text rules. */
  text: string;
  command?: CommandReading;
  /** Paths as the call gives them: relative to the workspace, or absolute. */
  reads?: readonly string[];
  changes?: readonly string[];
  urls?: readonly string[];
  /** How many things the call reads, creates, changes, deletes or sends, for rules such as `effect:delete>10`. */
  effects?: Effects;
}

/** What a call can do to things. */
export const EFFECTS = ["read", "create", "change", "delete", "send"] as const;
export type Effect = (typeof EFFECTS)[number];

/** A number for each effect; `unknown` if it is only known when the call runs. */
export type Effects = Partial<Readonly<Record<Effect, number | "unknown">>>;

/** A shell command, parsed by the same code that runs it: the judged command is the one that runs. */
export interface CommandReading {
  text: string;
  /** Where it would run. Default: the workspace. */
  directory?: string;
  /** Every simple command: each must be allowed for the whole to be allowed. */
  parts: readonly CommandPart[];
  /** Everything that it runs, under every name, also inside wrappers and nested shells: one denied part denies the whole. */
  seen: readonly string[];
  /** Files that it reads and changes, as far as known programs' arguments show. */
  reads: readonly string[];
  changes: readonly string[];
  /** Files of redirections: allowing the command allows these too. */
  inputs: readonly string[];
  outputs: readonly string[];
  /** What it may do beyond these lists, for deny and ask rules. */
  hides?: HiddenParts;
  /** Why only a rule for exactly this text may allow it. */
  closed?: string;
  /** Why not even such a rule may allow it: more runs than its text shows. */
  undetermined?: string;
  /** Set if it was not parsed completely: the lists are incomplete, and a person decides. */
  problem?: string;
}

/** What a command's words do not show before it runs. */
export interface HiddenParts {
  /** Beginnings of commands whose rest is unknown; an empty one may become any command. */
  commands: readonly string[];
  /** Programs that are not known to start no others. */
  programs?: readonly string[];
  /** Words that may become any file. */
  reads: readonly string[];
  changes: readonly string[];
}

export interface CommandPart {
  program: string;
  /** Its forms in rules: as written, then without wrappers such as `timeout 5`. */
  forms: readonly CommandName[];
  /** For a program that runs others (`sh -c`, `sudo`): those commands; empty if they are not certain. */
  runs?: readonly string[];
  /** It needs no rule, for example because it only sets a harmless variable. */
  harmless?: true;
  /** Why no rule about commands may allow it. */
  closed?: string;
}

export interface CommandName {
  text: string;
  /** Only a rule without `*` may allow it: it contains another command, a secret, or words that are not certain. */
  exactOnly: boolean;
  /** A rule with `*` allows it only if it spells out these words: options that write elsewhere, execute or are unknown. */
  spelled?: readonly string[];
  /**
   * It may start other programs, as these words say. If there are deny or ask rules about commands, a rule with `*` must
   * spell them out as well: `npm run build *`, not `npm run *`.
   */
  starts?: readonly string[];
}

/** What only the parser of commands knows. */
export interface CommandParser {
  read(text: string): CommandReading;
  /** What each part of a command does, and why it asks. */
  steps(text: string): CommandStep[];
  /** How many words of a command a suggested rule keeps before its `*`; undefined if it should be the whole command. */
  prefixLength(text: string): number | undefined;
  /** Options that a `*` stands for in a rule with this beginning, and one that it does not. */
  prefixExamples(prefix: string): { covered: string[]; not: string };
}

const parserOfProcess = (): { parser?: CommandParser } => sharedByCopies("command-parser", () => ({}));

/** The parser is large, and comes with the first tool that uses it: a runtime without such a tool has no commands to explain. */
export function provideCommandParser(parser: CommandParser): void {
  parserOfProcess().parser ??= parser;
}

export function commandParser(): CommandParser | undefined {
  return parserOfProcess().parser;
}

/** Wrappers that run their command unchanged: a rule for the command also applies with the wrapper. */
export const TRANSPARENT_WRAPPERS: ReadonlySet<string> = new Set(
  "timeout time nice nohup stdbuf command builtin noglob xargs".split(" "),
);

/** Wrappers that change how their command runs, and programs that choose the names of the files that they write. */
export const NO_PREFIX_RULES: ReadonlySet<string> = new Set(
  "split csplit watch setsid ionice flock script parallel".split(" "),
);

export function signatureOf(tool: AnyTool, input: unknown): MaybePromise<Signature | undefined> {
  const signature = tool.signature?.(input);
  return signature instanceof Promise ? signature.then(toSignature) : toSignature(signature);
}

function toSignature(signature: string | Signature | undefined): Signature | undefined {
  return typeof signature === "string" ? { text: signature } : signature;
}

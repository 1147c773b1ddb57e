import type { AnyTool } from "./tool.ts";

/** What permission rules look at in one call: a command, paths, addresses, or only text. Plain data. */
export interface Signature {
  /** In a line, for people and for rules on text. */
  text: string;
  command?: CommandReading;
  /** Paths as the call gives them: relative to the workspace, or absolute. */
  reads?: readonly string[];
  changes?: readonly string[];
  urls?: readonly string[];
}

/** A shell command, parsed by the same code that will run it: what was judged is what runs. */
export interface CommandReading {
  text: string;
  /** Where it would run. Default: the workspace. */
  directory?: string;
  /** Every simple command: each must be allowed for the whole to be allowed. */
  parts: readonly CommandPart[];
  /** All that it runs under every name, inside wrappers and nested shells too: one forbidden forbids the whole. */
  seen: readonly string[];
  /** Files that it names for reading and for changing, as far as the words of known programs say. */
  reads: readonly string[];
  changes: readonly string[];
  /** Files that streams are redirected from and to: to allow the command is to allow these too. */
  inputs: readonly string[];
  outputs: readonly string[];
  /** What it may do beyond these lists: for rules that forbid, which must not lose to it. */
  hides?: HiddenParts;
  /** Why only a rule for exactly this text may allow it, however its parts look. */
  closed?: string;
  /** Why not even that: more comes to it than its text says. */
  undetermined?: string;
  /** Set when it was not read to its end: then the lists are only what was seen, and a person decides. */
  problem?: string;
}

/** What cannot be known from the words of a command before it runs. */
export interface HiddenParts {
  /** How commands begin whose rest is not known; an empty one may become any command. */
  commands: readonly string[];
  /** Words that may become any file. */
  reads: readonly string[];
  changes: readonly string[];
}

export interface CommandPart {
  program: string;
  /** How it may be named in a rule: as written, then without wrappers such as `timeout 5`. */
  forms: readonly CommandName[];
  /** Of a program that runs others (`sh -c`, `sudo`): those, one a text; none where they are not certain. */
  runs?: readonly string[];
  /** It does nothing that needs a rule, such as setting a harmless variable. */
  harmless?: true;
  /** Why no rule about commands may allow it. */
  closed?: string;
}

export interface CommandName {
  text: string;
  /** Only a rule without `*` may name it: what follows the beginning is another command. */
  exactOnly: boolean;
}

export function signatureOf(tool: AnyTool, input: unknown): Signature | undefined {
  const signature = tool.signature?.(input);
  return typeof signature === "string" ? { text: signature } : signature;
}

/**
 * One attack: a text for `bash -c`. The variables that it may use are set by `fixture.ts`: `$SECRETS` and `$TARGETS` are
 * lists of paths, `$OUT`, `$HOME` and `$STATE` are folders outside of the workspace, which is the working folder.
 */
export interface Attack {
  run: string;
  /** Programs without which it is skipped. */
  needs?: readonly string[];
  /** Runs before it in `work`, in the same sandbox. */
  before?: string;
  /** Not run without a sandbox, because it would reach processes or files that are not part of the fixture. */
  reachesMachine?: boolean;
  /** Only these profiles. Default: both. */
  profiles?: readonly ("look" | "work")[];
}

export type AttackList = Readonly<Record<string, Attack | string>>;

/** A program that runs once for every secret, as `$f`. */
export const eachSecret = (run: string): string => `for f in $SECRETS; do ${run}; done`;
/** A program that runs once for every file that must not change, as `$f`. */
export const eachTarget = (run: string): string => `for f in $TARGETS; do ${run}; done`;

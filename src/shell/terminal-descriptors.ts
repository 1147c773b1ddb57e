import { closeSync, openSync } from "node:fs";
import type { StdioOptions } from "node:child_process";

/**
 * The pseudo-terminal library leaves its descriptors inheritable, and Node cannot change that: without care every later
 * child could read and type on the terminals of others. So what starts a child covers or closes them there. The set is
 * per host process because descriptors are.
 */
const open = new Set<number>();

export function addTerminal(descriptor: number): { remove(): void } {
  open.add(descriptor);
  return { remove: () => void open.delete(descriptor) };
}

/** Runs `start` with stdio entries, to stand after the first three, that put /dev/null over every open terminal. */
export function withTerminalsCovered<Result>(start: (entries: Exclude<StdioOptions, string>) => Result): Result {
  if (open.size === 0) return start([]);
  const nothing = openSync("/dev/null", "r");
  try {
    const entries = Array.from({ length: Math.max(...open) - 2 }, (_, index) =>
      open.has(index + 3) ? nothing : "ignore",
    );
    return start(entries as Exclude<StdioOptions, string>);
  } finally {
    closeSync(nothing);
  }
}

/** The same for a child that another library starts: arguments for bash that close them and then become the program. */
export function closeTerminalsThenRun(file: string, args: readonly string[]): string[] | undefined {
  if (open.size === 0) return undefined;
  const closing = [...open].map((descriptor) => `${descriptor}>&-`).join(" ");
  return ["--noprofile", "--norc", "-c", `exec ${closing}; exec "$0" "$@"`, file, ...args];
}

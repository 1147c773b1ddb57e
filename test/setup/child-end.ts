import type { ChildProcess } from "node:child_process";

export interface ChildEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that has ended may have left its output open in another one: "close" never comes then. */
const CLOSE_GRACE_MS = 5_000;

/**
 * Resolves when the child has ended and its output was read. Also if it ended before, could not be started, or if its
 * output stays open: waiting for "exit" or "close" alone waits for ever in these cases.
 */
export function childEnd(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((resolve) => {
    const settle = (): void => resolve({ code: child.exitCode, signal: child.signalCode });
    const onExit = (): void => {
      // Output that nobody reads never ends.
      child.stdout?.resume();
      child.stderr?.resume();
      setTimeout(settle, CLOSE_GRACE_MS).unref();
    };
    child.once("close", settle);
    child.once("error", () => child.pid === undefined && settle());
    if (child.exitCode === null && child.signalCode === null) child.once("exit", onExit);
    else onExit();
  });
}

/** Resolves when the child has printed something, and rejects if it ends before. */
export async function childOutput(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    void childEnd(child).then(({ code, signal }) => reject(new Error(`The child ended (${signal ?? code}).`)));
  });
}

export async function killChild(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<ChildEnd> {
  const end = childEnd(child);
  child.kill(signal);
  return end;
}

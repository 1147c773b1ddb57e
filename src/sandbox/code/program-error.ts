/** What a program failed with, and where in it. */
export interface ProgramError {
  name: string;
  message: string;
  line?: number;
  column?: number;
  /** Of the failed call, where nobody caught it. */
  code?: string;
}

interface Thrown {
  name: string;
  message: string;
  stack?: string;
  code?: string;
}

const OUT_OF_MEMORY = { name: "RangeError", message: "The program needs more memory than it may have." };

/** Thrown by the program itself. */
export function readThrown({ name, message, stack, code }: Thrown): ProgramError {
  if (name === "InternalError" && /out of memory/.test(message)) return { ...OUT_OF_MEMORY, ...positionIn(stack) };
  return { name, message, ...positionIn(stack), ...(code === undefined ? {} : { code }) };
}

/** What the machine could not do. */
export function readProblem({ name, message, stack }: Thrown, isOutOfTime: boolean): ProgramError {
  if (isOutOfTime) return { name: "TimeoutError", message: "The program computed for longer than it may." };
  if (message === "interrupted") return { name: "AbortError", message: "The program was stopped." };
  if (/out of memory/.test(message)) return OUT_OF_MEMORY;
  return { name, message, ...positionIn(stack) };
}

/** The innermost place that is the program's; one line stands before its first. */
function positionIn(stack: string | undefined): { line?: number; column?: number } {
  const found = /\bprogram:(\d+):(\d+)/.exec(stack ?? "");
  return found ? { line: Math.max(1, Number(found[1]) - 1), column: Number(found[2]) } : {};
}

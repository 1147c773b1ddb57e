import type { CallToContinue } from "../../core/call.ts";
import type { ToolResult } from "../../core/result.ts";

/** Runs programs that can do nothing but call tools. */
export interface CodeRunner {
  /** The same call again: goes on where its program stopped, if that waits for somebody. */
  run(program: CodeToRun, host: CodeHost): Promise<CodeEnd>;
}

export interface CodeToRun {
  call: CallToContinue;
  source: string;
  language?: "javascript" | "typescript";
}

/** What a program needs from the call that runs it. */
export interface CodeHost {
  readonly signal: AbortSignal;
  call(
    step: number,
    name: string,
    input: unknown,
    onApprovalRequested: (approvalId: string) => Promise<void>,
  ): Promise<ToolResult>;
  search(query: string): unknown;
  describe(names: readonly string[]): unknown;
  print(line: string): void;
}

interface CodeEndBase {
  /** What it printed. */
  output: readonly string[];
  /** How many calls it made. */
  calls: number;
}

export type CodeEnd = CodeEndBase &
  (
    | { status: "done"; value: unknown }
    | { status: "failed"; error: { name: string; message: string; line?: number; column?: number; code?: string } }
    | { status: "waits"; approvals: readonly string[] }
  );

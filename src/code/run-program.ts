import { textOf } from "../core/content.ts";
import type { ToolFailure } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { CodeThread, ProgramRequest, Settled, ThreadAnswer } from "./code-thread.ts";

/** What a program needs from outside. */
export interface ProgramHost {
  readonly signal: AbortSignal;
  /** Makes the call of one step, through the gate. `onAsked` is awaited before the wait for a person. */
  call(
    step: number,
    name: string,
    input: unknown,
    onApprovalRequested: (approvalId: string) => Promise<void>,
  ): Promise<ToolResult>;
  search(query: string): unknown;
  describe(names: readonly string[]): unknown;
  print(line: string): void;
  /** Saves the program. Another process can resume it. */
  save(state: ProgramState): Promise<void>;
}

/** A waiting program as data. */
export interface ProgramState {
  snapshot: Uint8Array;
  output: readonly string[];
  calls: number;
  /** Number of its last request. A request that is repeated is made once. */
  lastStep: number;
  /** Ids of the pending approvals that it waits for. */
  approvals: readonly string[];
}

export interface ProgramLimits {
  /** CPU time, without the time of its calls. */
  cpuMs: number;
  maxCalls: number;
  maxPrintedBytes: number;
}

interface ProgramEndBase {
  output: readonly string[];
  calls: number;
}
export type ProgramEnd = ProgramEndBase &
  (
    | { status: "done"; value: unknown }
    | { status: "failed"; error: ProgramError }
    | { status: "waits"; approvals: readonly string[] }
  );

export type ProgramStart = { source: string; language?: "javascript" | "typescript" } | { state: ProgramState };

/**
 * Runs a program to its end, or until all that is left is to wait for people. After its first approval request it is saved
 * before each new request. Requests after the last save are repeated with the same numbers.
 */
export async function runProgram(
  start: ProgramStart,
  { thread, host, limits }: { thread: CodeThread; host: ProgramHost; limits: ProgramLimits },
): Promise<ProgramEnd> {
  const resumed = "state" in start ? start.state : undefined;
  const output: string[] = [...(resumed?.output ?? [])];
  let outputBytes = output.join("\n").length;
  let calls = resumed?.calls ?? 0;
  let lastStep = resumed?.lastStep ?? 0;
  let cpuLeft = limits.cpuMs;
  let isSaved = resumed !== undefined;
  let running = 0;
  const requested = new Map<number, string>();
  const waiting = new Map<number, string>();
  const settled: Settled[] = [];
  /** Earlier requests of a resumed program that may still wait for a person. */
  const undecided = new Set<number>();
  let wake: () => void = () => undefined;

  const onAbort = (): void => {
    thread.interrupt();
    wake();
  };
  host.signal.addEventListener("abort", onAbort, { once: true });
  try {
    let answer = await begin();
    if (resumed) for (const { step } of answer.requests) undecided.add(step);
    for (;;) {
      host.signal.throwIfAborted();
      if (answer.ended) return { ...finish(answer.ended), output, calls };
      if (answer.problem) return failed(readProblem(answer.problem, answer.interrupted && cpuLeft <= 0));
      if (answer.snapshot) await save(answer.snapshot);
      for (const request of answer.requests) issue(request);
      if (settled.length === 0 && running > 0) await new Promise<void>((resolve) => (wake = resolve));
      host.signal.throwIfAborted();
      if (settled.length === 0 && running === 0) {
        if (waiting.size > 0) return { status: "waits", approvals: [...waiting.values()], output, calls };
        return failed({ name: "Error", message: "The program waits for a promise that nothing will ever resolve." });
      }
      answer = await send({ type: "settle", results: settled.splice(0), wantsSnapshot: isSaved });
    }
  } finally {
    host.signal.removeEventListener("abort", onAbort);
  }

  async function begin(): Promise<ThreadAnswer> {
    if ("state" in start) {
      return send({ type: "restore", snapshot: start.state.snapshot });
    }
    const { source, language } = start;
    if (language === "typescript") return send({ type: "start", source: await stripTypes(source) });
    const answer = await send({ type: "start", source });
    if (answer.problem?.name !== "SyntaxError") return answer;
    // It may be TypeScript. If not, the first error fits the source better.
    const stripped = await stripTypes(source).catch(() => undefined);
    if (stripped === undefined || language === "javascript") return answer;
    return send({ type: "start", source: stripped });
  }

  async function send(message: DistributiveOmit<Parameters<CodeThread["send"]>[0], "cpuMs">): Promise<ThreadAnswer> {
    const answer = await thread.send({ ...message, cpuMs: Math.max(1, cpuLeft) });
    cpuLeft -= answer.cpuMs;
    for (const line of answer.lines) print(line);
    return answer;
  }

  function print(line: string): void {
    host.print(line);
    if (outputBytes > limits.maxPrintedBytes) return;
    outputBytes += line.length + 1;
    output.push(outputBytes > limits.maxPrintedBytes ? "… what it printed after this is not kept" : line);
  }

  function issue(request: ProgramRequest): void {
    running++;
    void answerOf(request)
      .then((one) => one && settled.push(one))
      .finally(() => {
        running--;
        undecided.delete(request.step);
        wake();
      });
  }

  async function answerOf({ step, kind, name, input }: ProgramRequest): Promise<Settled | undefined> {
    try {
      const given: unknown = JSON.parse(input);
      if (kind === "search") return { step, ok: true, value: toJson(await host.search(name)) };
      if (kind === "describe") return { step, ok: true, value: toJson(await host.describe(given as string[])) };
      if (step > lastStep) calls++;
      lastStep = Math.max(lastStep, step);
      if (calls > limits.maxCalls)
        return refused(step, `A program may make ${limits.maxCalls} calls, and this is one more.`);
      const result = await host.call(step, name, given, (approvalId) => recordApprovalRequest(step, approvalId));
      if (result.status === "pending" && result.pending.kind === "approval") {
        waiting.set(step, result.pending.id);
        return undefined;
      }
      requested.delete(step);
      return readResult(step, result);
    } catch (error) {
      return refused(step, error instanceof Error ? error.message : String(error));
    }
  }

  async function recordApprovalRequest(step: number, approvalId: string): Promise<void> {
    requested.set(step, approvalId);
    undecided.delete(step);
    isSaved = true;
    const { snapshot } = await send({ type: "snapshot", wantsSnapshot: true });
    if (snapshot) await save(snapshot);
  }

  function save(snapshot: Uint8Array): Promise<void> {
    const before = undecided.size > 0 ? (resumed?.approvals ?? []) : [];
    const approvals = [...new Set([...before, ...requested.values()])];
    return host.save({ snapshot, output: [...output], calls, lastStep, approvals });
  }

  function failed(error: ProgramError): ProgramEnd {
    return { status: "failed", error, output, calls };
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function finish({ ok, value }: { ok: boolean; value: string }) {
  return ok
    ? { status: "done" as const, value: JSON.parse(value) as unknown }
    : { status: "failed" as const, error: readThrown(JSON.parse(value) as ProgramError & { stack?: string }) };
}

/** The program gets the details of a result if there are any, otherwise its text. A failure is thrown in the program. */
function readResult(step: number, result: ToolResult): Settled {
  if (result.status === "completed") {
    return { step, ok: true, value: toJson(result.details === undefined ? textOf(result.content) : result.details) };
  }
  if (result.status === "pending") {
    return refused(step, `${result.toolName} answers later, and its answer does not reach this program.`);
  }
  const { code, message, data }: ToolFailure = result.error;
  return { step, ok: false, value: toJson({ code, message, data, output: textOf(result.content) }) };
}

function refused(step: number, message: string): Settled {
  return { step, ok: false, value: toJson({ code: "failed", message }) };
}

function toJson(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** The failure of a program, and its place in the source. */
interface ProgramError {
  name: string;
  message: string;
  line?: number;
  column?: number;
  /** Of the failed call, if the program did not catch it. */
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
function readThrown({ name, message, stack, code }: Thrown): ProgramError {
  if (name === "InternalError" && /out of memory/.test(message)) return { ...OUT_OF_MEMORY, ...positionIn(stack) };
  return { name, message, ...positionIn(stack), ...(code === undefined ? {} : { code }) };
}

/** A failure of the virtual machine. */
function readProblem({ name, message, stack }: Thrown, isOutOfTime: boolean): ProgramError {
  if (isOutOfTime) return { name: "TimeoutError", message: "The program computed for longer than it may." };
  if (message === "interrupted") return { name: "AbortError", message: "The program was stopped." };
  if (/out of memory/.test(message)) return OUT_OF_MEMORY;
  return { name, message, ...positionIn(stack) };
}

/** The innermost position in the program. The wrapper adds one line before it. */
function positionIn(stack: string | undefined): { line?: number; column?: number } {
  const found = /\bprogram:(\d+):(\d+)/.exec(stack ?? "");
  return found ? { line: Math.max(1, Number(found[1]) - 1), column: Number(found[2]) } : {};
}

/** TypeScript as JavaScript on the same lines, so positions of errors stay correct. */
async function stripTypes(source: string): Promise<string> {
  const { createJiti } = await import("jiti");
  const jiti = createJiti(import.meta.url, { fsCache: false });
  const wrapped = `async () => {\n${source}\n}`;
  const code = jiti.transform({ source: wrapped, ts: true, retainLines: true, filename: "program.ts" });
  // It does not throw.
  if (code.includes("__JITI_ERROR__")) throw new SyntaxError("this is not TypeScript");
  // The wrapper is on lines of its own.
  const lines = code.slice(code.indexOf("{") + 1, code.lastIndexOf("}")).split("\n");
  return lines.slice(1).join("\n");
}

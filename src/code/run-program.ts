import { errorMessage, failureText } from "../core/error.ts";
import { textOf } from "../core/content.ts";
import { isForPerson, type PendingResult, type ToolResult } from "../core/result.ts";
import type { ProgramBudget, Spent } from "./program-budget.ts";
import type { CodeThread, ProgramRequest, Settled, ThreadAnswer, ThreadLimits } from "./code-thread.ts";
import { importInstalled } from "../schema/load-package.ts";

/** What a program needs from the call that runs it. */
export interface CodeHost {
  readonly signal: AbortSignal;
  /** Makes the call of one step through the gate. `onApprovalRequested` is awaited before the wait for a person. */
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

/** What a program needs from outside. */
export interface ProgramHost extends CodeHost {
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
  /** By it and everything that it called. A program inside another one shares what that one has left. */
  spent?: Spent;
}

interface ProgramEndBase {
  output: readonly string[];
  calls: number;
}
export type ProgramEnd = ProgramEndBase &
  (
    | { status: "done"; value: unknown }
    | { status: "failed"; error: ProgramError }
    /** `kind` of the first one: a permission, or a question of `ask_user`. */
    | { status: "waits"; approvals: readonly string[]; kind: PendingResult["pending"]["kind"] }
  );

export type ProgramStart = { source: string; language?: "javascript" | "typescript" } | { state: ProgramState };

/**
 * Runs a program to its end, or until it can only wait for people. From the first approval on, it is saved each time before
 * it makes new requests: after a restore it repeats the requests with the same numbers.
 */
export function runProgram(start: ProgramStart, options: ProgramRunOptions): Promise<ProgramEnd> {
  return new ProgramRun(start, options).run();
}

interface ProgramRunOptions {
  thread: CodeThread;
  host: ProgramHost;
  budget: ProgramBudget;
}

class ProgramRun {
  readonly #start: ProgramStart;
  readonly #thread: CodeThread;
  readonly #host: ProgramHost;
  readonly #budget: ProgramBudget;
  readonly #output: string[];
  #calls: number;
  #lastStep: number;
  /** Whether the program was saved, so every further state is saved too. */
  #isSaved: boolean;
  #running = 0;
  readonly #requestedApprovals = new Map<number, string>();
  readonly #waiting = new Map<number, PendingResult["pending"]>();
  #settled: Settled[] = [];
  /** Repeated requests of a resumed program that may still wait for an approval. */
  readonly #undecided = new Set<number>();
  #wake: () => void = () => undefined;

  constructor(start: ProgramStart, { thread, host, budget }: ProgramRunOptions) {
    this.#start = start;
    this.#thread = thread;
    this.#host = host;
    this.#budget = budget;
    const { output = [], calls = 0, lastStep = 0 } = "state" in start ? start.state : {};
    this.#output = [...output];
    this.#calls = calls;
    this.#lastStep = lastStep;
    this.#isSaved = "state" in start;
  }

  async run(): Promise<ProgramEnd> {
    const { signal } = this.#host;
    const onAbort = (): void => {
      this.#thread.interrupt();
      this.#wake();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      let answer = await this.#begin();
      if (this.#isSaved) for (const { step } of answer.requests) this.#undecided.add(step);
      for (;;) {
        signal.throwIfAborted();
        const end = await this.#handle(answer);
        if (end) return end;
        const results = this.#settled;
        this.#settled = [];
        answer = await this.#send({ type: "settle", results, wantsSnapshot: this.#isSaved });
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      // They were stopped too, and end soon.
      while (this.#running > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#budget.release(this.#thread);
    }
  }

  /** Starts the requests of an answer, and waits until one is settled. Returns the end if the program cannot continue. */
  async #handle(answer: ThreadAnswer): Promise<ProgramEnd | undefined> {
    if (answer.ended) return { ...finish(answer.ended), ...this.#summary() };
    if (answer.problem)
      return this.#failed(readProblem(answer.problem, answer.interrupted && this.#budget.cpuMsLeft <= 0));
    if (answer.snapshot) await this.#save(answer.snapshot);
    for (const request of answer.requests) this.#issue(request);
    if (this.#settled.length === 0 && this.#running > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#host.signal.throwIfAborted();
    if (this.#settled.length > 0 || this.#running > 0) return undefined;
    if (this.#waiting.size === 0) {
      return this.#failed({
        name: "Error",
        message: "The program waits for a promise that nothing will ever resolve.",
      });
    }
    const waiting = [...this.#waiting.values()];
    const kind = waiting[0]?.kind ?? "approval";
    return { status: "waits", approvals: waiting.map(({ id }) => id), kind, ...this.#summary() };
  }

  async #begin(): Promise<ThreadAnswer> {
    const start = this.#start;
    if ("state" in start) return this.#send({ type: "restore", snapshot: start.state.snapshot });
    const { source, language } = start;
    if (language === "typescript") return this.#send({ type: "start", source: await stripTypes(source) });
    const answer = await this.#send({ type: "start", source });
    if (answer.problem?.name !== "SyntaxError" || language === "javascript") return answer;
    // It may be TypeScript. If it is not valid as that either, the first error is the better one.
    const stripped = await stripTypes(source).catch(() => undefined);
    return stripped === undefined ? answer : this.#send({ type: "start", source: stripped });
  }

  async #send(message: DistributiveOmit<Parameters<CodeThread["send"]>[0], keyof ThreadLimits>): Promise<ThreadAnswer> {
    const maxRequests = this.#budget.maxCalls;
    const answer = await this.#budget.compute(this.#thread, (left) =>
      this.#thread.send({ ...message, ...left, maxRequests }),
    );
    for (const line of answer.lines) this.#print(line);
    return answer;
  }

  #print(line: string): void {
    if (this.#budget.printedBytesLeft < 0) return;
    this.#budget.takePrinted(line.length + 1);
    const shown = this.#budget.printedBytesLeft < 0 ? "… the output after this was dropped" : line;
    this.#host.print(shown);
    this.#output.push(shown);
  }

  #issue(request: ProgramRequest): void {
    this.#running++;
    void this.#answer(request)
      .then((settled) => settled && this.#settled.push(settled))
      .finally(() => {
        this.#running--;
        this.#undecided.delete(request.step);
        this.#wake();
      });
  }

  async #answer({ step, kind, name, input: json }: ProgramRequest): Promise<Settled | undefined> {
    try {
      const input: unknown = JSON.parse(json);
      if (kind === "search") return { step, ok: true, value: toJson(await this.#host.search(name)) };
      if (kind === "describe") {
        const names = Array.isArray(input) ? input.map(String) : [];
        return { step, ok: true, value: toJson(await this.#host.describe(names)) };
      }
      // A repeated request counts once.
      if (step > this.#lastStep) {
        this.#lastStep = step;
        const refusal = this.#budget.takeCall();
        if (refusal) return refused(step, refusal.message);
        this.#calls++;
      }
      const result = await this.#host.call(step, name, input, (id) => this.#recordApprovalRequest(step, id));
      if (result.status === "pending" && isForPerson(result.pending)) {
        this.#waiting.set(step, result.pending);
        return undefined;
      }
      this.#requestedApprovals.delete(step);
      return readResult(step, result);
    } catch (error) {
      return refused(step, errorMessage(error));
    }
  }

  async #recordApprovalRequest(step: number, approvalId: string): Promise<void> {
    this.#requestedApprovals.set(step, approvalId);
    this.#undecided.delete(step);
    this.#isSaved = true;
    const { snapshot } = await this.#send({ type: "snapshot", wantsSnapshot: true });
    if (snapshot) await this.#save(snapshot);
  }

  #save(snapshot: Uint8Array): Promise<void> {
    const earlier = this.#undecided.size > 0 && "state" in this.#start ? this.#start.state.approvals : [];
    const approvals = [...new Set([...earlier, ...this.#requestedApprovals.values()])];
    const { output, calls } = this.#summary();
    const { spent } = this.#budget;
    return this.#host.save({ snapshot, output: [...output], calls, lastStep: this.#lastStep, approvals, spent });
  }

  #failed(error: ProgramError): ProgramEnd {
    return { status: "failed", error, ...this.#summary() };
  }

  #summary(): ProgramEndBase {
    return { output: this.#output, calls: this.#calls };
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function finish({ ok, value }: { ok: boolean; value: string }) {
  const parsed: unknown = JSON.parse(value);
  if (ok) return { status: "done" as const, value: parsed };
  // Written by the prelude of the machine.
  return { status: "failed" as const, error: readThrown(parsed as Thrown) };
}

/** The program gets the details of a result if there are any and a model may see them, otherwise its text. A failure is thrown in the program. */
function readResult(step: number, result: ToolResult): Settled {
  if (result.status === "completed") {
    const { details, content, metadata } = result;
    return { step, ok: true, value: toJson(details === undefined || metadata.isForModel ? textOf(content) : details) };
  }
  if (result.status === "pending") {
    return refused(step, `${result.toolName} answers later, and its result does not reach this program.`);
  }
  const { code, data } = result.error;
  const message = failureText(result.error);
  return { step, ok: false, value: toJson({ code, message, data, output: textOf(result.content) }) };
}

function refused(step: number, message: string): Settled {
  return { step, ok: false, value: toJson({ code: "failed", message }) };
}

function toJson(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** The failure of a program, with its position in the source. */
export interface ProgramError {
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

const OUT_OF_MEMORY = { name: "RangeError", message: "The program exceeded its memory limit." };

/** Thrown by the program itself. */
function readThrown({ name, message, stack, code }: Thrown): ProgramError {
  if (name === "InternalError" && /out of memory/.test(message)) return { ...OUT_OF_MEMORY, ...positionIn(stack) };
  return { name, message, ...positionIn(stack), code };
}

/** A failure of the virtual machine. */
function readProblem({ name, message, stack }: Thrown, isOutOfTime: boolean): ProgramError {
  if (isOutOfTime) return { name: "TimeoutError", message: "The program exceeded its CPU time limit." };
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
  const { createJiti } = await importInstalled<typeof import("jiti")>("jiti");
  const jiti = createJiti(import.meta.url, { fsCache: false });
  const wrapped = `async () => {\n${source}\n}`;
  const code = jiti.transform({ source: wrapped, ts: true, retainLines: true, filename: "program.ts" });
  // Jiti does not throw.
  if (code.includes("__JITI_ERROR__")) throw new SyntaxError("this is not TypeScript");
  // The wrapper is on separate lines.
  const lines = code.slice(code.indexOf("{") + 1, code.lastIndexOf("}")).split("\n");
  return lines.slice(1).join("\n");
}

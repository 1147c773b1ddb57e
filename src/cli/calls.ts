/** Makes a call, shows its progress, asks for approvals at the terminal, and prints its result. */
import type { ApprovalInfo } from "../contracts/approvals.ts";
import type { CallFrame, CallRequest } from "../contracts/calls.ts";
import type { ApiClient } from "../contracts/index.ts";
import { type Content, textOf } from "../core/content.ts";
import { countOf } from "../core/results/count-of.ts";
import type { Update } from "../core/events.ts";
import { isForPerson, type ToolResult } from "../core/result.ts";
import type { Invocation } from "./command.ts";
import { errorCode, failureText } from "../core/error.ts";
import { CommandError, EXIT, exitCodeOf, explainFailedCall, isApiError } from "./exit-codes.ts";
import { askQuestion, watchQuestions } from "./mcp-questions.ts";
import { type Output, safe, safeLine } from "./output.ts";
import { isInteractive, type Terminal } from "./terminal.ts";

export interface CallDisplay extends Pick<Invocation, "terminal" | "output" | "interrupted"> {
  /** Prints the output of a command while it runs. */
  streamed?: StreamedOutput;
}

/** Ctrl-C cancels the call and waits for its end; a second Ctrl-C does not wait. */
export async function makeCall(
  client: Pick<ApiClient, "calls" | "approvals" | "questions">,
  request: CallRequest,
  { terminal, output, interrupted, streamed }: CallDisplay,
): Promise<ToolResult> {
  const { tool } = request;
  const disconnect = new AbortController();
  let callId: string | undefined;
  let stopListening = (): void => undefined;
  const cancel = (): void => {
    if (callId === undefined) return disconnect.abort();
    stopListening = terminal.onInterrupt(() => disconnect.abort());
    client.calls.cancel(callId).catch(() => disconnect.abort());
  };
  interrupted.addEventListener("abort", cancel, { once: true });
  const progress = createProgressLine(terminal, tool);
  const ended = new AbortController();
  let prompted: Promise<ToolResult | undefined> | undefined;
  let result: ToolResult | undefined;
  if (isInteractive(terminal) && tool.startsWith("mcp__")) void askQuestions().catch(() => undefined);
  try {
    for await (const frame of client.calls.stream(request, { signal: disconnect.signal })) {
      if (output.format === "jsonl") output.item(frame, () => []);
      await onFrame(frame);
    }
    if (!result) throw lostConnection(tool);
    return result;
  } catch (thrown) {
    // A server that refused the connection was never sent the call.
    if (!isApiError(thrown, "unreachable") || isRefused(thrown)) throw thrown;
    throw lostConnection(tool);
  } finally {
    interrupted.removeEventListener("abort", cancel);
    stopListening();
    ended.abort();
    progress.end();
  }

  async function onFrame(frame: CallFrame): Promise<void> {
    switch (frame.type) {
      case "started":
        callId = frame.callId;
        return;
      case "update":
        return streamed?.print(frame.update, progress) ? undefined : progress.show(frame.update);
      case "approval":
        // Not awaited: if the server waits for the answer, the result comes in this stream.
        if (isInteractive(terminal)) prompted = ask(frame.approvalId);
        return;
      case "result":
        result = await settle(frame.result);
    }
  }

  /** A call that only waits for the person at this terminal continues here. */
  async function settle(received: ToolResult): Promise<ToolResult> {
    if (received.status !== "pending" || !isForPerson(received.pending)) {
      ended.abort();
      return received;
    }
    const later = await (prompted ?? (isInteractive(terminal) ? ask(received.pending.id) : undefined));
    return later === undefined ? received : settle(later);
  }

  /** An MCP server may ask while it works. */
  async function askQuestions(): Promise<void> {
    const { serverKey } = await import("../core/tool-catalog.ts");
    const signal = AbortSignal.any([ended.signal, interrupted]);
    await watchQuestions(client, signal, async (question) => {
      if (!tool.startsWith(`mcp__${serverKey(question.server)}__`)) return;
      progress.pause();
      await askQuestion(client, question, { terminal, signal }).finally(() => progress.resume());
    });
  }

  async function ask(approvalId: string): Promise<ToolResult | undefined> {
    progress.pause();
    const signal = AbortSignal.any([ended.signal, interrupted]);
    const { promptForApproval } = await import("./terminal-approver.ts");
    return promptForApproval(client, approvalId, { terminal, output, signal, onAnswered: () => progress.resume() });
  }
}

/** Prints the pieces of output that a running command reports. */
export class StreamedOutput {
  readonly #output: Output;
  #endsWithNewline = true;
  /** Whether something was printed. */
  started = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Returns whether the update was a piece of output. */
  print({ details }: Update, progress: ProgressLine): boolean {
    const isOutput = typeof details === "object" && details !== null && "output" in details;
    if (!isOutput || typeof details.output !== "string") return false;
    progress.pause();
    this.#output.raw(safe(details.output));
    this.started = true;
    this.#endsWithNewline = details.output.endsWith("\n");
    if (this.#endsWithNewline) progress.resume();
    return true;
  }

  /** The lines that follow the output in a result: how the command ended, and where the rest is. */
  linesAfter(result: ToolResult): string[] {
    const shown = textOf(result.content);
    const { output } = (result.details ?? {}) as { output?: unknown };
    const body = typeof output === "string" ? output.replace(/\n+$/, "") : "";
    const rest = (shown.startsWith(body) ? shown.slice(body.length) : shown).trim();
    return [...(this.#endsWithNewline ? [] : [""]), ...(rest === "" ? [] : [safe(rest)])];
  }
}

interface ProgressLine {
  show(update: Update): void;
  /** Clears the line and keeps it clear while a question is shown. */
  pause(): void;
  resume(): void;
  end(): void;
}

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const BAR_LENGTH = 20;
/** A call that ends sooner shows no progress. */
const FIRST_DRAW_MS = 300;
const DRAW_INTERVAL_MS = 120;
const SILENT: ProgressLine = {
  show: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  end: () => undefined,
};

function isRefused({ cause }: Error): boolean {
  return errorCode(cause instanceof Error ? cause.cause : undefined) === "ECONNREFUSED";
}

/** The server may have made the call before it ended. */
function lostConnection(tool: string): CommandError {
  return new CommandError(`The server ended before the call of "${safeLine(tool)}" did, so the outcome is unknown.`, {
    exitCode: EXIT.toolFailed,
    code: "unknown_outcome",
    next: "`haft audit query` shows what is known. Check the effect before you make the call again.",
  });
}

/** One line on stderr with the last update; only at a terminal. */
function createProgressLine({ stderr, env }: Pick<Terminal, "stderr" | "env">, title: string): ProgressLine {
  if (!stderr.isTTY || env["TERM"] === "dumb" || env["CI"]) return SILENT;
  let last = "";
  let isDrawn = false;
  let frame = 0;
  let isPaused = false;
  const draw = (): void => {
    if (isPaused) return;
    const width = (stderr.columns ?? 80) - 1;
    frame = (frame + 1) % FRAMES.length;
    const line = [...`${FRAMES[frame]} ${title}${last === "" ? "" : `  ${last}`}`].slice(0, width).join("");
    stderr.write(`\r\x1b[2K${line}`);
    isDrawn = true;
  };
  const clear = (): void => {
    if (isDrawn) stderr.write("\r\x1b[2K");
    isDrawn = false;
  };
  let timer: NodeJS.Timeout | undefined = setTimeout(() => {
    draw();
    timer = setInterval(draw, DRAW_INTERVAL_MS).unref();
  }, FIRST_DRAW_MS).unref();
  return {
    show(update) {
      last = describeUpdate(update) ?? last;
    },
    pause() {
      isPaused = true;
      clear();
    },
    resume() {
      isPaused = false;
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
      clear();
    },
  };
}

function describeUpdate({ progress, content = [] }: Update): string | undefined {
  const text = safeLine(progress?.message ?? textOf(content).trimEnd().split("\n").at(-1) ?? "");
  if (!progress?.total) return text === "" ? undefined : text;
  const done = Math.min(1, Math.max(0, progress.done / progress.total));
  const bar = "█".repeat(Math.round(done * BAR_LENGTH)).padEnd(BAR_LENGTH, "░");
  return `${bar} ${Math.round(done * 100)} %  ${text}`;
}

/** Prints the result of a call. Returns the exit code. */
export function showResult(
  result: ToolResult,
  output: Output,
  { raw = false, streamed }: { raw?: boolean; streamed?: StreamedOutput } = {},
): number {
  if (output.format !== "text") output.data(result, () => []);
  else if (raw) output.raw(result.content.map((block) => (block.type === "text" ? block.text : "")).join("\n"));
  else if (streamed?.started) for (const line of streamed.linesAfter(result)) output.raw(`${line}\n`);
  else if (result.status !== "pending") output.lines(contentLines(result));
  const { warnings = [], repairs = [], spill } = result.metadata;
  for (const warning of warnings) output.warn(safeLine(warning));
  if (repairs.length > 0) output.info(output.paintStderr("dim", `input repaired: ${safeLine(repairs.join("; "))}`));
  if (spill)
    output.info(
      output.paintStderr("dim", `the whole output, ${countOf(spill.bytes, "byte")}, is in ${safeLine(spill.ref)}`),
    );
  if (output.format !== "text") return exitCodeOf(result);
  if (result.status === "failed") {
    const { message, next } = explainFailedCall(result.error, safeLine(result.toolName));
    const { code } = result.error;
    const failed = output.paintStderr("red", `${safeLine(result.toolName)} failed`);
    output.notice(`${failed}${code === "failed" ? "" : ` (${code})`}: ${safe(message)}`);
    if (next !== undefined) output.notice(next);
  }
  if (result.status === "pending") showPending(result, output);
  return exitCodeOf(result);
}

/** The same after an approval. A call whose approval was not used has another exit code. */
export function showApprovedResult(result: ToolResult, { id, call }: ApprovalInfo, output: Output): number {
  const isAskedAgain = result.status === "pending" && isForPerson(result.pending) && result.pending.id !== id;
  const { outcome } = call;
  if (isAskedAgain && outcome === "changed" && output.format === "text")
    output.notice("Your answer was not used: what the preview shows has changed. The new question:");
  const exitCode = showResult(result, output);
  const isUnused = outcome === "changed" || outcome === "expired" || outcome === "cancelled";
  return isAskedAgain || (isUnused && result.status === "failed") ? EXIT.notCounted : exitCode;
}

const WAITS_FOR = { approval: "an approval", question: "an answer", job: "a job", client: "a client" } as const;

function showPending({ pending: { kind, id }, toolName }: ToolResult & { status: "pending" }, output: Output): void {
  const shown = safeLine(id);
  output.notice(`${output.paintStderr("yellow", `${safeLine(toolName)} waits`)} for ${WAITS_FOR[kind]}: ${shown}`);
  if (kind === "job") {
    output.notice(`  haft jobs show ${shown}   its state and result`);
    output.notice("  haft worker   runs it, if no server of this folder does");
  }
  if (kind === "question") {
    output.notice(`  haft approvals answer ${shown}   shows and answers it`);
    output.notice(`  haft approvals deny ${shown}     dismisses it`);
  }
  if (kind !== "approval") return;
  output.notice(`  haft approvals show ${shown}      what exactly would run`);
  output.notice(`  haft approvals approve ${shown}   yes, and run it`);
  output.notice(`  haft approvals deny ${shown}      no`);
}

function contentLines(result: ToolResult): string[] {
  const shown = result.content.map((block) => safe(textOfBlock(block))).filter((text) => text !== "");
  // The error message goes to stderr.
  if (result.status === "failed") return shown.filter((text) => text !== safe(failureText(result.error)));
  return shown;
}

export function textOfBlock(block: Content): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type}, ${block.mimeType}, ${countOf(sizeOf(block.data), "byte")}; use --json to get it]`;
    case "resource":
      return (
        block.resource.text ?? `[${block.resource.mimeType ?? "data"} ${block.resource.uri}; use --json to get it]`
      );
    case "resource_link":
      return `${block.title ?? block.name}: ${block.uri}`;
  }
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

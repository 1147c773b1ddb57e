import type { HaftClient } from "../client/create-client.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallFrame, CallRequest } from "../http/wire.ts";
import { promptForApproval } from "./ask-person.ts";
import { askQuestion } from "./ask-question.ts";
import type { Invocation } from "./command.ts";
import { createProgressLine } from "./progress-line.ts";
import { isInteractive } from "./terminal.ts";
import { watchQuestions } from "./watch-questions.ts";

export type CallWords = Pick<CallRequest, "session" | "mode" | "timeoutMs" | "id" | "policy" | "background">;

/**
 * Makes a call, shows that it goes on, and asks whoever sits at the terminal where it has to ask. Ctrl-C cancels it and waits
 * for its end; a second one does not wait.
 */
export async function makeCall(
  client: HaftClient,
  { tool, input, ...words }: { tool: string; input: unknown } & CallWords,
  invocation: Pick<Invocation, "terminal" | "output" | "interrupted">,
): Promise<ToolResult> {
  const { terminal, output, interrupted } = invocation;
  const hang = new AbortController();
  let callId: string | undefined;
  let stopListening = (): void => undefined;
  const cancel = (): void => {
    if (callId === undefined) return hang.abort();
    stopListening = terminal.onInterrupt(() => hang.abort());
    client.calls.cancel(callId).catch(() => hang.abort());
  };
  interrupted.addEventListener("abort", cancel, { once: true });
  const progress = createProgressLine(terminal, tool);
  const answered = new AbortController();
  let requested: Promise<ToolResult | undefined> | undefined;
  let result: ToolResult | undefined;
  // An MCP server may ask while it works.
  if (isInteractive(terminal) && tool.startsWith("mcp__")) void askQuestions().catch(() => undefined);
  try {
    for await (const frame of client.calls.stream(tool, input, { ...words, signal: hang.signal })) {
      if (output.format === "jsonl") output.item(frame, () => []);
      await onFrame(frame);
    }
    if (!result)
      throw new Error("The connection was lost before the call had ended. `haft audit query` tells what came of it.");
    return result;
  } finally {
    interrupted.removeEventListener("abort", cancel);
    stopListening();
    answered.abort();
    progress.end();
  }

  async function onFrame(frame: CallFrame): Promise<void> {
    switch (frame.type) {
      case "started":
        callId = frame.callId;
        return;
      case "update":
        return progress.show(frame.update);
      case "approval":
        // Where the server waits for the answer its result comes in this stream; so nobody waits for the person here.
        if (isInteractive(terminal)) requested = ask(frame.approvalId);
        return;
      case "result":
        result = await settle(frame.result);
    }
  }

  /** A call that was only waiting for the person at this terminal goes on here. */
  async function settle(ended: ToolResult): Promise<ToolResult> {
    if (ended.status !== "pending" || ended.pending.kind !== "approval") {
      answered.abort();
      return ended;
    }
    const given = await (requested ?? (isInteractive(terminal) ? ask(ended.pending.id) : undefined));
    return given === undefined ? ended : settle(given);
  }

  async function askQuestions(): Promise<void> {
    const { serverKey } = await import("../mcp/client/tool-definition.ts");
    const signal = AbortSignal.any([answered.signal, interrupted]);
    await watchQuestions(client, signal, async (question) => {
      if (!tool.startsWith(`mcp__${serverKey(question.server)}__`)) return;
      progress.pause();
      await askQuestion(client, question, { terminal, signal }).finally(() => progress.resume());
    });
  }

  function ask(approvalId: string): Promise<ToolResult | undefined> {
    progress.pause();
    const signal = AbortSignal.any([answered.signal, interrupted]);
    return promptForApproval(client, approvalId, { terminal, signal, onAnswered: () => progress.resume() });
  }
}

import type { Agent, AgentEvent, AgentResult, Message } from "../models/agent/agent.ts";
import { ToolCallContext } from "../core/tool-call-context.ts";
import { firstLine, textOf } from "../core/content.ts";
import type { CallMode } from "../core/call.ts";
import { openHaft } from "../host.ts";
import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { userName } from "./open-embedded.ts";
import { safe, safeLine } from "./output.ts";
import { createTerminalApprover } from "./terminal-approver.ts";
import { UsageError } from "./usage-error.ts";

export interface ConverseOptions {
  agent?: string | undefined;
  mode?: CallMode | undefined;
  steps?: number | undefined;
  model?: string | undefined;
}

/** A conversation with an agent at this terminal: what it says and does is shown, and what must be asked is asked here. */
export interface Conversation {
  readonly agent: Agent;
  send(text: string, signal: AbortSignal): Promise<AgentResult>;
  close(): Promise<void>;
}

export async function openConversation(
  { folder, url, terminal, output, embedded }: Invocation,
  { agent: name, mode, steps, model }: ConverseOptions,
): Promise<Conversation> {
  if (url !== undefined) {
    throw new UsageError(
      "An agent of this command works in this process.",
      "Leave --url out, or use `haft sessions send`.",
    );
  }
  const host = await openHaft(folder, {
    env: terminal.env,
    approver: createTerminalApprover({ input: terminal.stdin, output: terminal.stderr, by: userName() }),
    approvalWaitMs: false,
    onWarning: (warning) => output.warn(safe(warning)),
    middleware: embedded.middleware,
    overrides: model === undefined ? undefined : { agent: { model } },
  });
  if (embedded.onEvent) host.haft.on("*", embedded.onEvent);
  try {
    const agent = await host.agents.get(name);
    const show = createShow();
    const unsubscribe = host.agents.onAgentMessage((message) => show.line(safe(message)));
    const messages: Message[] = [];
    const context = new ToolCallContext();
    const session = `terminal-${process.pid}-${host.haft.executor.clock.now()}`;
    return {
      agent,
      async send(text, signal) {
        const answer = await agent.run(text, {
          messages: [...messages],
          context,
          signal,
          caller: { session, user: userName() },
          mode,
          limits: steps === undefined ? undefined : { steps },
          onEvent: (event) => show.event(event),
        });
        messages.push(...answer.messages);
        show.end();
        return answer;
      },
      async close() {
        unsubscribe();
        await host.close();
      },
    };
  } catch (error) {
    await host.close();
    throw error;
  }

  /** Words go to stdout as they come; what is done goes to stderr. */
  function createShow() {
    let isInLine = false;
    const end = (): void => {
      if (isInLine) terminal.stdout.write("\n");
      isInLine = false;
    };
    return {
      end,
      line(text: string): void {
        end();
        output.notice(text);
      },
      event(event: AgentEvent): void {
        if (output.format === "jsonl") return output.item(event, () => []);
        if (output.format !== "text") return;
        if (event.type === "text") {
          terminal.stdout.write(safe(event.text));
          isInLine = !event.text.endsWith("\n");
        } else if (event.type === "tool_call") {
          end();
          output.info(output.paintStderr("cyan", `→ ${safeLine(event.name)} ${safeLine(inputText(event.input))}`));
        } else if (event.type === "tool_result") {
          const { result } = event;
          const shown = result.status === "completed" ? result.display : textOf(result.content);
          const style = result.status === "failed" ? "red" : "dim";
          output.info(output.paintStderr(style, `  ${result.status}: ${safeLine(firstLine(shown))}`));
        }
      },
    };
  }
}

export function exitCodeOfAnswer({ stop }: AgentResult): number {
  switch (stop) {
    case "done":
    case "stopped":
      return EXIT.done;
    case "pending":
      return EXIT.pending;
    case "aborted":
      return EXIT.interrupted;
    case "limit":
    case "loop":
    case "error":
      return EXIT.failed;
  }
}

/** What a person should know besides the words. */
export function describeStop({ stop, error, context, messages }: AgentResult): string | undefined {
  if (error) return error.message;
  if (stop === "aborted") return "Stopped.";
  if (stop !== "pending") return undefined;
  const open = new Set(context.pending().map(({ callId }) => callId));
  const waiting = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const named = waiting.flatMap((result) =>
    result.status === "pending" && open.has(result.callId)
      ? [`${result.toolName} waits for ${result.pending.kind} ${result.pending.id}`]
      : [],
  );
  return `Not over: ${named.join("; ")}.`;
}

const MAX_INPUT_LENGTH = 160;

function inputText(input: unknown): string {
  const text = JSON.stringify(input) ?? "";
  return text.length <= MAX_INPUT_LENGTH ? text : `${text.slice(0, MAX_INPUT_LENGTH)}…`;
}

import type { Readable } from "node:stream";
import { firstLine, textOf } from "../../core/content.ts";
import type { CallMode } from "../../core/call.ts";
import type { Agent, AgentEvent, AgentResult, Message } from "../../models/agent/agent.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation, MODE_OPTION, type OptionSpecs } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { type Output, safe, safeLine } from "../output.ts";
import { editLine, TerminalKeys } from "../prompts.ts";
import { isInteractive, type Terminal, userName } from "../terminal.ts";
import { askTrust } from "./trust.ts";

const AGENT_OPTIONS = {
  agent: { type: "text", value: "NAME", about: "One of the configured agents" },
  model: { type: "text", value: "PROVIDER/NAME", about: "Instead of the configured model" },
  mode: MODE_OPTION,
  "no-tool-search": { type: "flag", about: "Give the model all tool definitions, without tool_search" },
} as const satisfies OptionSpecs;

export const run = defineCommand({
  examples: [
    ['haft run "Why does the build fail?"', "give the configured agent a task"],
    ['haft run "Rename parse to read everywhere" --mode plan', "make a plan; change nothing"],
    ['haft run "Summarize CHANGELOG.md" --json', "the answer and everything that was done, for a program"],
  ],
  operands: [{ name: "TASK", isRest: true }],
  options: {
    ...AGENT_OPTIONS,
    steps: { type: "number", value: "N", about: "Max number of model calls", range: [1, 10_000] },
  },
  notes: [
    "The configuration names the model: `agent.model: provider/name`. The variable PROVIDER_API_KEY has its key.",
    "A task that begins with /NAME uses that skill, or that command of .claude/commands.",
    "At a terminal, you are asked to approve calls. Without one, the run exits with 7 and the approval stays pending.",
    "Questions of ask_user are asked at the terminal too. Without one, the model decides itself.",
    "Ctrl-C ends the run and stops its calls.",
  ],
  async run(invocation) {
    const { operands, options, output, interrupted } = invocation;
    const conversation = await openConversation(invocation, options);
    try {
      const result = await conversation.send(operands.join(" "), interrupted);
      showEnd(result, output);
      return exitCodeOfAgent(result);
    } finally {
      await conversation.close();
    }
  },
});

export const chat = defineCommand({
  examples: [
    ["haft chat", "talk to the configured agent in this folder"],
    ["haft chat --agent reviewer", "to another one"],
  ],
  options: {
    ...AGENT_OPTIONS,
    steps: { type: "number", value: "N", about: "Max number of model calls per message", range: [1, 10_000] },
  },
  notes: [
    "Ctrl-C during a turn stops it; Ctrl-C or Ctrl-D at the prompt, or /exit, ends the chat.",
    "The conversation is not saved; those of `haft sessions` are.",
  ],
  async run(invocation) {
    const { options, output, terminal } = invocation;
    const conversation = await openConversation(invocation, options);
    try {
      for await (const line of linesOf(terminal)) {
        const text = line.trim();
        if (text === "/exit") break;
        if (text === "") continue;
        const turn = new AbortController();
        const stopListening = terminal.onInterrupt(() => turn.abort());
        try {
          showEnd(await conversation.send(text, turn.signal), output);
        } finally {
          stopListening();
        }
      }
    } finally {
      await conversation.close();
    }
  },
});

/** The typed lines. Between two lines the terminal is free for approvals. */
async function* linesOf(terminal: Terminal): AsyncGenerator<string> {
  if (!isInteractive(terminal)) {
    const { createInterface } = await import("node:readline");
    yield* createInterface({ input: terminal.stdin as unknown as Readable });
    return;
  }
  const { signal } = new AbortController();
  for (;;) {
    const keys = new TerminalKeys(terminal.stdin);
    let line: string | undefined;
    try {
      line = await editLine(keys, terminal.stderr, { prompt: "› ", text: "", signal });
    } finally {
      keys.close();
    }
    if (line === undefined) return;
    yield line;
  }
}

interface ConversationOptions {
  agent?: string | undefined;
  mode?: CallMode | undefined;
  steps?: number | undefined;
  model?: string | undefined;
  "no-tool-search"?: boolean | undefined;
}

/** A conversation at this terminal: shows what the agent says and does, and asks for approvals. */
interface Conversation {
  readonly agent: Agent;
  send(text: string, signal: AbortSignal): Promise<AgentResult>;
  close(): Promise<void>;
}

type OpenedBy = Pick<Invocation, "folder" | "url" | "terminal" | "output" | "embedded" | "interrupted">;

async function openConversation(
  { folder, url, terminal, output, embedded, interrupted }: OpenedBy,
  { agent: name, mode, steps, model, "no-tool-search": showsAll }: ConversationOptions,
): Promise<Conversation> {
  if (url !== undefined) {
    throw new UsageError("The agent of this command runs in this process.", "Omit --url, or use `haft sessions send`.");
  }
  const [{ openHaft }, { ToolCallContext }, { createTerminalApprover }, { ruleExamples }] = await Promise.all([
    import("../../host.ts"),
    import("../../core/tool-call-context.ts"),
    import("../terminal-approver.ts"),
    import("../../gate/permit/rules/rule-examples.ts"),
  ]);
  await askTrust(folder, { terminal, output, interrupted });
  const ask = createTerminalApprover({
    input: terminal.stdin,
    output: terminal.stderr,
    env: terminal.env,
    paint: output.paintStderr,
    isVerbose: output.isVerbose,
    by: userName(),
    describeGrant: async ({ caller, toolName: tool }, { scope, rules }) =>
      host.haft.policy.describeGrant(rules, { scope, caller, tool, isBroader: true }).sentence,
  });
  const host = await openHaft(folder, {
    ownsProcess: true,
    isUnattended: !isInteractive(terminal),
    env: terminal.env,
    approver: (approval, signal) =>
      ask({ ...approval, ruleExamples: approval.suggestedRules.map(ruleExamples) }, signal),
    approvalWaitMs: false,
    onWarning: (warning) => output.warn(safe(warning)),
    middleware: embedded.middleware,
    overrides: {
      agent: model === undefined ? undefined : { model },
      toolSearch: showsAll ? false : undefined,
    },
  });
  try {
    if (embedded.onEvent) host.haft.on("*", embedded.onEvent);
    const agent = await host.agents.get(name);
    const printer = new EventPrinter(terminal, output);
    const unsubscribe = host.agents.onAgentMessage((message) => printer.line(safe(message)));
    const messages: Message[] = [];
    const context = new ToolCallContext();
    const session = `terminal-${process.pid}-${host.haft.settings.clock.now()}`;
    return {
      agent,
      async send(text, signal) {
        const command = await host.agents.skills.readCommand(text);
        const result = await agent.run(command?.text ?? text, {
          messages: [...messages],
          // The text of a skill is not the user's.
          userMessage: text,
          policy: command?.policy,
          context,
          signal,
          caller: { session, user: userName() },
          mode,
          limits: steps === undefined ? undefined : { steps },
          onEvent: (event) => printer.event(event),
        });
        messages.push(...result.messages);
        printer.endLine();
        return result;
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
}

/** Prints the text of the agent to stdout as it arrives, and its calls to stderr. */
class EventPrinter {
  readonly #terminal: Terminal;
  readonly #output: Output;
  #isInLine = false;

  constructor(terminal: Terminal, output: Output) {
    this.#terminal = terminal;
    this.#output = output;
  }

  endLine(): void {
    if (this.#isInLine) this.#terminal.stdout.write("\n");
    this.#isInLine = false;
  }

  line(text: string): void {
    this.endLine();
    this.#output.notice(text);
  }

  event(event: AgentEvent): void {
    const { format, item, info, paintStderr } = this.#output;
    if (format === "jsonl") return item(event, () => []);
    if (format !== "text") return;
    if (event.type === "text") {
      this.#terminal.stdout.write(safe(event.text));
      this.#isInLine = !event.text.endsWith("\n");
    } else if (event.type === "tool_call") {
      this.endLine();
      info(paintStderr("cyan", `→ ${safeLine(event.name)} ${safeLine(inputText(event.input))}`));
    } else if (event.type === "tool_result") {
      const { result } = event;
      const shown = result.status === "completed" ? result.display : textOf(result.content);
      const style = result.status === "failed" ? "red" : "dim";
      info(paintStderr(style, `  ${result.status}: ${safeLine(firstLine(shown))}`));
    }
  }
}

function exitCodeOfAgent({ stop }: AgentResult): number {
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

function showEnd(result: AgentResult, output: Output): void {
  if (output.format === "json") output.data(result, () => []);
  const remark = describeStop(result);
  if (remark !== undefined) output.notice(safe(remark));
}

/** Why the agent stopped, if it was not done. */
function describeStop({ stop, error, context, messages }: AgentResult): string | undefined {
  if (error) return error.message;
  if (stop === "aborted") return "Stopped.";
  if (stop !== "pending") return undefined;
  const open = new Set(context.pending().map(({ callId }) => callId));
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const waiting = results.flatMap((result) =>
    result.status === "pending" && open.has(result.callId)
      ? [`${result.toolName} waits for ${result.pending.kind} ${result.pending.id}`]
      : [],
  );
  return `Not finished: ${waiting.join("; ")}.`;
}

const MAX_INPUT_LENGTH = 160;

function inputText(input: unknown): string {
  const text = JSON.stringify(input) ?? "";
  return text.length <= MAX_INPUT_LENGTH ? text : `${text.slice(0, MAX_INPUT_LENGTH)}…`;
}

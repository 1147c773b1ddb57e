import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { systemClock } from "../../core/clock.ts";
import { defineCommand } from "../command.ts";
import { openConversation, describeStop } from "../converse.ts";
import { editLine } from "../edit-line.ts";
import { safe } from "../output.ts";
import { isInteractive, type Terminal } from "../terminal.ts";
import { TerminalKeys } from "../terminal-keys.ts";

export const command = defineCommand({
  examples: [
    ["haft chat", "talk with the configured agent in this folder"],
    ["haft chat --agent reviewer", "with another one"],
  ],
  options: {
    agent: { type: "text", value: "NAME", about: "One of the configured agents" },
    model: { type: "text", value: "PROVIDER/NAME", about: "Another model than the configured one" },
    mode: {
      type: "text",
      value: "MODE",
      about: "How much is asked",
      oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    },
    steps: {
      type: "number",
      value: "N",
      about: "How often the model is asked at most, for each message",
      range: [1, 10_000],
    },
  },
  notes: [
    "Ctrl-C while it works stops its turn; Ctrl-C or Ctrl-D at the prompt, or /exit, ends the chat.",
    "What is said here is not kept. `haft sessions` has conversations that are.",
  ],
  async run(invocation) {
    const { options, output, terminal } = invocation;
    const conversation = await openConversation(invocation, { ...options, mode: options.mode as never });
    try {
      for await (const line of linesOf(terminal)) {
        const text = line.trim();
        if (text === "/exit") break;
        if (text === "") continue;
        const turn = new AbortController();
        const stopListening = terminal.onInterrupt(() => turn.abort());
        try {
          const answer = await conversation.send(text, turn.signal);
          if (output.format === "json") output.data(answer, () => []);
          const remark = describeStop(answer);
          if (remark !== undefined) output.notice(safe(remark));
        } finally {
          stopListening();
        }
      }
    } finally {
      await conversation.close();
    }
  },
});

/** What is typed, line by line; the terminal is free between two lines, for the questions of approvals. */
async function* linesOf(terminal: Terminal): AsyncGenerator<string> {
  if (!isInteractive(terminal)) {
    yield* createInterface({ input: terminal.stdin as unknown as Readable });
    return;
  }
  const { signal } = new AbortController();
  for (;;) {
    const keys = new TerminalKeys(terminal.stdin, systemClock, typeof terminal.stdin.setRawMode === "function");
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

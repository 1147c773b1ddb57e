import { randomUUID } from "node:crypto";
import { chat, EventType, type ModelMessage, type StreamChunk } from "@tanstack/ai";
import { createTanStackAdapter, type ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import { resolveTanStackApprovals, toTanStackTools } from "../../src/models/frameworks/tanstack.ts";
import type { Rig, StartOptions, Turn } from "./framework.suite.ts";
import { askedIn, findRun, readRun, saveRun, updateTexts, type World } from "./world.ts";

interface SavedRun {
  runId: string;
  messages: ModelMessage[];
  interrupts: string[];
}

/** The program keeps the messages of each thread, as TanStack's client does. */
export async function openRig({ folder, toolkit, haft }: World): Promise<Rig> {
  const tools = toTanStackTools(toolkit);

  async function play(
    threadId: string,
    calls: readonly ScriptedCall[],
    { messages, approved, interrupted, signal }: Play,
  ): Promise<Turn> {
    const abortController = new AbortController();
    signal?.addEventListener("abort", () => abortController.abort());
    const runId = randomUUID();
    const stream: AsyncIterable<StreamChunk> = chat({
      adapter: createTanStackAdapter(calls),
      messages,
      tools,
      middleware: [tools.middleware],
      threadId,
      runId,
      abortController,
      parentRunId: interrupted?.runId,
      resume: interrupted?.interrupts.map((interruptId) => ({
        interruptId,
        status: "resolved" as const,
        payload: { approved },
      })),
    });
    const turn: Turn = { run: threadId, asked: [], results: [], updates: [] };
    const saved: SavedRun = { runId, messages, interrupts: [] };
    for await (const chunk of stream) {
      if (chunk.type === EventType.CUSTOM && chunk.name === "tool-progress")
        turn.updates.push(...updateTexts(chunk.value));
      else if (chunk.type === EventType.TEXT_MESSAGE_CONTENT) turn.text = (turn.text ?? "") + chunk.delta;
      else if (chunk.type === EventType.MESSAGES_SNAPSHOT) saved.messages = chunk.messages as ModelMessage[];
      else if (chunk.type === EventType.TOOL_CALL_RESULT) {
        const text = JSON.stringify(chunk);
        turn.results.push({ callId: chunk.toolCallId, text, isError: text.includes("output-error") });
      } else if (chunk.type === EventType.RUN_FINISHED && chunk.outcome?.type === "interrupt") {
        saved.interrupts = chunk.outcome.interrupts.map(({ id }) => id);
      }
    }
    // Only an interrupted run has a snapshot.
    if (turn.text !== undefined) saved.messages = [...messages, ...spoken(calls, turn)];
    saveRun(folder, threadId, saved);
    return { ...turn, asked: await askedIn(haft, threadId) };
  }

  return {
    start(calls, { run = randomUUID(), signal }: StartOptions = {}) {
      const { messages = [] } = findRun<SavedRun>(folder, run) ?? {};
      return play(run, calls, { messages: [...messages, { role: "user", content: "go" }], signal });
    },
    answer({ run }, approved) {
      const interrupted = readRun<SavedRun>(folder, run);
      return play(run, [], { messages: interrupted.messages, approved, interrupted });
    },
    async resume({ run }) {
      const { messages } = readRun<SavedRun>(folder, run);
      await resolveTanStackApprovals(tools, { messages, threadId: run });
      return play(run, [], { messages });
    },
  };
}

/** The messages of a turn that has ended, as a client keeps them. */
function spoken(calls: readonly ScriptedCall[], { results, text = "" }: Turn): ModelMessage[] {
  const toolCalls = calls.map(({ id, name, input }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: JSON.stringify(input) },
  }));
  return [
    { role: "assistant", content: "", toolCalls },
    ...results.map(({ callId, text: content }) => ({ role: "tool" as const, toolCallId: callId, content })),
    { role: "assistant", content: text },
  ];
}

interface Play {
  messages: ModelMessage[];
  signal?: AbortSignal | undefined;
  approved?: boolean;
  /** The run whose interrupts are answered. */
  interrupted?: SavedRun;
}

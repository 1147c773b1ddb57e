// Scripted models for the frameworks: they make the given calls, then reply "done".
import type { Model, ModelRequest } from "@openai/agents-core";
import { Usage } from "@openai/agents-core";
import { type AnyTextAdapter, EventType } from "@tanstack/ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { MockLanguageModelV3 } from "ai6/test";

type StreamOf<T> = T extends ReadableStream<infer Part> ? Part : never;
type LanguageModelV3StreamPart = StreamOf<Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"]>;

export interface ScriptedCall {
  id: string;
  name: string;
  input: unknown;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

function contentFor(calls: readonly ScriptedCall[], hasAnswers: boolean) {
  if (hasAnswers) return [{ type: "text" as const, text: "done" }];
  return calls.map(({ id, name, input }) => ({
    type: "tool-call" as const,
    toolCallId: id,
    toolName: name,
    input: JSON.stringify(input),
  }));
}

function generateFor(calls: readonly ScriptedCall[]) {
  return async ({ prompt }: { prompt: readonly { role: string }[] }) => {
    const hasAnswers = prompt.at(-1)?.role === "tool";
    const unified = hasAnswers ? ("stop" as const) : ("tool-calls" as const);
    return {
      content: contentFor(calls, hasAnswers),
      finishReason: { unified, raw: undefined },
      usage,
      warnings: [],
    };
  };
}

function streamFor(calls: readonly ScriptedCall[]) {
  const generate = generateFor(calls);
  return async (options: { prompt: readonly { role: string }[] }) => {
    const { content, finishReason } = await generate(options);
    const chunks: LanguageModelV3StreamPart[] = [{ type: "stream-start", warnings: [] }];
    for (const part of content) {
      if (part.type === "tool-call") chunks.push(part);
      else {
        chunks.push({ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: part.text });
        chunks.push({ type: "text-end", id: "1" });
      }
    }
    chunks.push({ type: "finish", finishReason, usage });
    return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) };
  };
}

export function createModel7(calls: readonly ScriptedCall[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({ doGenerate: generateFor(calls), doStream: streamFor(calls) as never });
}

export function createModel6(calls: readonly ScriptedCall[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({ doGenerate: generateFor(calls), doStream: streamFor(calls) });
}

/** Records its requests in `requests`. */
export function createAgentsModel(calls: readonly ScriptedCall[]): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    async getResponse(request) {
      requests.push(request);
      const hasAnswers = Array.isArray(request.input) && request.input.at(-1)?.type === "function_call_result";
      return {
        usage: new Usage(),
        output: hasAnswers
          ? [
              {
                type: "message",
                role: "assistant",
                status: "completed",
                content: [{ type: "output_text", text: "done" }],
              },
            ]
          : calls.map(({ id, name, input }) => ({
              type: "function_call",
              callId: id,
              name,
              status: "completed",
              arguments: JSON.stringify(input),
            })),
      };
    },
    async *getStreamedResponse(request) {
      const { output } = await this.getResponse(request);
      const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: "response_done", response: { id: "response", usage, output: output as never } };
    },
  };
}

/** For chat() of TanStack AI. */
export function createTanStackAdapter(calls: readonly ScriptedCall[]): AnyTextAdapter {
  return {
    kind: "text",
    name: "scripted",
    model: "scripted",
    "~types": {} as AnyTextAdapter["~types"],
    async *chatStream({ messages, threadId = "thread", runId = "run" }) {
      yield { type: EventType.RUN_STARTED, threadId, runId };
      const hasAnswers = messages.at(-1)?.role === "tool";
      if (hasAnswers) {
        const messageId = "message";
        yield { type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" };
        yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: "done" };
        yield { type: EventType.TEXT_MESSAGE_END, messageId };
      }
      for (const { id: toolCallId, name: toolCallName, input } of hasAnswers ? [] : calls) {
        yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName };
        yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(input) };
        yield { type: EventType.TOOL_CALL_END, toolCallId };
      }
      yield { type: EventType.RUN_FINISHED, threadId, runId, finishReason: hasAnswers ? "stop" : "tool_calls" };
    },
    structuredOutput: () => Promise.reject(new Error("This model has no structured output.")),
  };
}

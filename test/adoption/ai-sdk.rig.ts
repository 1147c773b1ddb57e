import { randomUUID } from "node:crypto";
import { isStepCount, type ModelMessage, streamText, type ToolModelMessage } from "ai";
import type { Update } from "../../src/core/events.ts";
import { resolveAISDKApprovals, toAISDKTools } from "../../src/models/frameworks/ai-sdk.ts";
import { createModel7, type ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import type { Rig, Turn } from "./framework.suite.ts";
import { askedIn, findRun, readRun, saveRun, updateTexts, type World } from "./world.ts";

/** The program keeps the messages of each conversation, as a server with a chat does. */
export async function openRig(world: World): Promise<Rig> {
  const { folder, toolkit, haft } = world;

  async function play(
    run: string,
    messages: readonly ModelMessage[],
    calls: readonly ScriptedCall[],
    abortSignal?: AbortSignal,
  ): Promise<Turn> {
    const tools = toAISDKTools(toolkit, { call: { caller: { session: run } } });
    const resolved = messages.at(-1)?.role !== "user" ? await resolveAISDKApprovals(tools, messages) : [...messages];
    const result = streamText({
      model: createModel7(calls),
      tools,
      messages: resolved,
      stopWhen: isStepCount(3),
      abortSignal,
      experimental_toolApprovalSecret: "a secret",
    });
    const updates: string[] = [];
    for await (const part of result.fullStream) {
      if (part.type !== "tool-result" || !part.preliminary) continue;
      const output = part.output as Update & { status: string };
      if (output.status === "running") updates.push(...updateTexts(output));
    }
    const all = [...resolved, ...(await result.responseMessages)];
    saveRun(folder, run, all);
    return {
      run,
      asked: await askedIn(haft, run),
      results: resultsOf(all),
      updates,
      text: (await result.text) || undefined,
    };
  }

  return {
    start(calls, { run = randomUUID(), signal } = {}) {
      const earlier = findRun<ModelMessage[]>(folder, run) ?? [];
      return play(run, [...earlier, { role: "user", content: "go" }], calls, signal);
    },
    answer({ run }, approved) {
      const messages = readRun<ModelMessage[]>(folder, run);
      const content = messages.flatMap((message) =>
        message.role === "assistant" && typeof message.content !== "string"
          ? message.content.flatMap((part) =>
              part.type === "tool-approval-request"
                ? [{ type: "tool-approval-response" as const, approvalId: part.approvalId, approved }]
                : [],
            )
          : [],
      );
      return play(run, [...messages, { role: "tool", content }], []);
    },
    resume: ({ run }) => play(run, readRun<ModelMessage[]>(folder, run), []),
  };
}

function resultsOf(messages: readonly ModelMessage[]): Turn["results"] {
  return messages
    .filter((message): message is ToolModelMessage => message.role === "tool")
    .flatMap(({ content }) => content)
    .flatMap((part) =>
      part.type === "tool-result"
        ? [
            {
              callId: part.toolCallId,
              text: JSON.stringify(part.output),
              isError: part.output.type === "error-text" || part.output.type === "execution-denied",
            },
          ]
        : [],
    );
}

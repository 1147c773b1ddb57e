import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import type { Update } from "../../src/core/events.ts";
import { toLangChainTools } from "../../src/models/frameworks/langchain.ts";
import type { ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import type { Rig, Turn } from "./framework.suite.ts";
import { updateTexts, type World } from "./world.ts";

interface Interrupt {
  id: string;
  value: { approvalId: string; callId: string; actionRequests: { name: string }[] };
}

/** LangChain's own fake model. It calls each tool once in a conversation. */
function scriptedModel(calls: readonly ScriptedCall[]) {
  const model = fakeModel();
  const respond = (messages: readonly BaseMessage[]): AIMessage =>
    messages.at(-1)?.getType() === "tool"
      ? new AIMessage("done")
      : new AIMessage({
          content: "",
          tool_calls: calls.map(({ id, name, input }) => ({ id, name, args: input as object })),
        });
  for (let turn = 0; turn < 4; turn++) model.respond(respond);
  return model;
}

export async function openRig({ folder, toolkit }: World): Promise<Rig> {
  const file = join(folder, "checkpoints.json");
  const tools = toLangChainTools(toolkit, { DynamicStructuredTool });

  async function play(
    run: string,
    input: unknown,
    calls: readonly ScriptedCall[],
    signal?: AbortSignal,
  ): Promise<Turn> {
    // Another process may have written it.
    const checkpointer = readCheckpoints(file);
    const agent = createAgent({ model: scriptedModel(calls), tools, checkpointer });
    const updates: string[] = [];
    let state: { messages: BaseMessage[]; __interrupt__?: Interrupt[] } = { messages: [] };
    const stream = await agent.stream(input as never, {
      configurable: { thread_id: run },
      streamMode: ["custom", "values"],
      signal,
    });
    for await (const [mode, chunk] of stream) {
      if (mode === "values") state = { ...state, __interrupt__: undefined, ...(chunk as typeof state) };
      else updates.push(...updateTexts((chunk as { update: Update }).update));
    }
    writeFileSync(file, JSON.stringify({ storage: checkpointer.storage, writes: checkpointer.writes }, encodeBytes));
    const interrupts = state.__interrupt__ ?? [];
    return {
      run,
      asked: interrupts.map(({ value }) => ({
        approvalId: value.approvalId,
        callId: value.callId,
        toolName: value.actionRequests[0]!.name,
      })),
      results: state.messages
        .filter((message): message is ToolMessage => message.getType() === "tool")
        .map(({ tool_call_id: callId, content, status }) => ({
          callId,
          text: typeof content === "string" ? content : JSON.stringify(content),
          isError: status === "error",
        })),
      updates,
      text: interrupts.length > 0 ? undefined : (state.messages.at(-1)?.content as string),
    };
  }

  return {
    start: (calls, { run = randomUUID(), signal } = {}) =>
      play(run, { messages: [{ role: "user", content: "go" }] }, calls, signal),
    answer({ run }, approved) {
      const resume = { decisions: [approved ? { type: "approve" } : { type: "reject", message: "no" }] };
      return play(run, new Command({ resume }), []);
    },
    resume: ({ run, asked }) => play(run, new Command({ resume: { approvalId: asked[0]!.approvalId } }), []),
  };
}

function readCheckpoints(file: string): MemorySaver {
  const saver = new MemorySaver();
  return existsSync(file) ? Object.assign(saver, JSON.parse(readFileSync(file, "utf8"), decodeBytes)) : saver;
}

function encodeBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value;
}

function decodeBytes(_key: string, value: unknown): unknown {
  const bytes = (value as { bytes?: unknown } | null)?.bytes;
  return typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value;
}

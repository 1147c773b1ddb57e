import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Update } from "../../src/core/events.ts";
import { toMastraTools } from "../../src/models/frameworks/mastra.ts";
import { createModel6, type ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import type { Rig, Turn } from "./framework.suite.ts";
import { importFramework } from "./on-demand.ts";
import { updateTexts, type World } from "./world.ts";

/** The parts of Mastra that are used here: the package is not installed when the types are checked. */
interface MastraExports {
  Agent: new (config: object) => MastraAgent;
  Mastra: new (config: object) => { getAgent(name: string): MastraAgent };
  createTool: (fields: object) => object;
  LibSQLStore: new (config: { id: string; url: string }) => { close?(): Promise<void> };
}

interface MastraAgent {
  stream(prompt: string, options: object): Promise<MastraStream>;
  approveToolCall(options: { runId: string; toolCallId: string }): Promise<MastraStream>;
  declineToolCall(options: { runId: string; toolCallId: string; reason?: string }): Promise<MastraStream>;
  resumeStream(data: unknown, options: { runId: string; toolCallId: string }): Promise<MastraStream>;
}

interface MastraStream {
  fullStream: AsyncIterable<{ type: string; payload: Chunk }>;
  text: Promise<string>;
}

interface Chunk {
  toolCallId: string;
  toolName: string;
  suspendPayload: { approvalId: string };
  output: Update;
  result: { content: { text?: string }[] };
  error: { message?: string } | string;
}

export interface MastraRig extends Rig {
  /** What the model was given in each of its turns. */
  prompts: unknown[];
}

export async function openRig({ folder, toolkit }: World): Promise<MastraRig> {
  process.env["MASTRA_TELEMETRY_DISABLED"] = "1";
  const { Agent, Mastra, createTool, LibSQLStore } = await importFramework<MastraExports>("mastra");
  const storage = new LibSQLStore({ id: "store", url: `file:${join(folder, "mastra.db")}` });
  const tools = toMastraTools(toolkit, { createTool });
  const started = new Set<string>();
  const models: ReturnType<typeof createModel6>[] = [];
  const open = (calls: readonly ScriptedCall[]): MastraAgent => {
    const model = createModel6(calls);
    models.push(model);
    const agent = new Agent({ id: "agent", name: "agent", instructions: "Go.", model, tools });
    return new Mastra({ agents: { agent }, storage, logger: false }).getAgent("agent");
  };

  async function read(run: string, started: Promise<MastraStream>): Promise<Turn> {
    const turn: Turn = { run, asked: [], results: [], updates: [] };
    const stream = await started;
    for await (const { type, payload } of stream.fullStream) {
      if (type === "tool-call-suspended") {
        const { toolCallId: callId, toolName, suspendPayload } = payload;
        turn.asked.push({ approvalId: suspendPayload.approvalId, callId, toolName });
      } else if (type === "tool-output") turn.updates.push(...updateTexts(payload.output));
      else if (type === "tool-result" || type === "tool-error") {
        const isError = type === "tool-error";
        const text = isError ? errorText(payload.error) : payload.result.content.map((block) => block.text).join();
        turn.results.push({ callId: payload.toolCallId, text, isError });
      }
    }
    return { ...turn, text: turn.asked.length > 0 ? undefined : await stream.text };
  }

  const at = ({ run, asked }: Turn) => ({ runId: run, toolCallId: asked[0]!.callId });
  return {
    start(calls, { run = randomUUID(), signal } = {}) {
      // Each turn of an agent is a run of its own.
      const runId = started.has(run) ? randomUUID() : run;
      started.add(runId);
      return read(runId, open(calls).stream("go", { runId, abortSignal: signal }));
    },
    answer(turn, approved) {
      const agent = open([]);
      return read(
        turn.run,
        approved ? agent.approveToolCall(at(turn)) : agent.declineToolCall({ ...at(turn), reason: "no" }),
      );
    },
    resume: (turn) => read(turn.run, open([]).resumeStream({ approvalId: turn.asked[0]!.approvalId }, at(turn))),
    get prompts() {
      return models.flatMap(({ doStreamCalls }) => doStreamCalls.map(({ prompt }) => prompt));
    },
    close: async () => storage.close?.(),
  };
}

function errorText(error: Chunk["error"]): string {
  return typeof error === "string" ? error : (error.message ?? JSON.stringify(error));
}

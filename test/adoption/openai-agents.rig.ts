import { randomUUID } from "node:crypto";
import { Agent, Runner, RunState } from "@openai/agents-core";
import { resolveOpenAIAgentsApprovals, toOpenAIAgentsTools } from "../../src/models/frameworks/openai-agents.ts";
import { createAgentsModel, type ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import type { Rig, Turn } from "./framework.suite.ts";
import { askedIn, readRun, saveRun, type World } from "./world.ts";

type AnyAgent = Agent<undefined, "text">;

/** The state of each run is stored as text. */
export async function openRig({ folder, toolkit, haft }: World): Promise<Rig> {
  const createAgent = (run: string, calls: readonly ScriptedCall[]): AnyAgent =>
    new Agent({
      name: "agent",
      model: createAgentsModel(calls),
      tools: toOpenAIAgentsTools(toolkit, { call: { caller: { session: run } } }),
    });

  async function play(
    run: string,
    agent: AnyAgent,
    input: string | RunState<undefined, AnyAgent>,
    signal?: AbortSignal,
  ): Promise<Turn> {
    const ended = await new Runner({ tracingDisabled: true }).run(agent, input, { signal });
    saveRun(folder, run, ended.state.toString());
    const results = ended.newItems.flatMap((item) => {
      if (item.type !== "tool_call_output_item" || item.rawItem.type !== "function_call_result") return [];
      const text = JSON.stringify(item.rawItem.output);
      // A call that was rejected has no result of Haft.
      return [{ callId: item.rawItem.callId, text, isError: item.customData?.["status"] !== "completed" }];
    });
    const text = ended.interruptions.length > 0 ? undefined : ended.finalOutput;
    return { run, asked: await askedIn(haft, run), results, updates: [], text };
  }

  async function restore(run: string) {
    const agent = createAgent(run, []);
    return { agent, state: await RunState.fromString<undefined, AnyAgent>(agent, readRun<string>(folder, run)) };
  }

  return {
    start: (calls, { run = randomUUID(), signal } = {}) => play(run, createAgent(run, calls), "go", signal),
    async answer({ run }, approved) {
      const { agent, state } = await restore(run);
      for (const interruption of state.getInterruptions()) {
        if (approved) state.approve(interruption);
        else state.reject(interruption);
      }
      return play(run, agent, state);
    },
    async resume({ run }) {
      const { agent, state } = await restore(run);
      await resolveOpenAIAgentsApprovals(state);
      return play(run, agent, state);
    },
  };
}

import type { Agent } from "./agent.ts";
import type { Subagents } from "../../tools/agents/call-subagent.ts";

export interface SubagentDirectory {
  names(): readonly string[];
  /** Made when it is first called: a model that cannot be loaded harms nobody who does not use it. */
  get(name: string): Promise<Agent> | Agent;
}

/** Agents as `call_subagent` calls them: their calls are nested in its call, with its rights and no more. */
export function connectSubagents(directory: SubagentDirectory): Subagents {
  return {
    names: () => directory.names(),
    async run({ agent: name, instruction }, context) {
      const agent = await directory.get(name);
      const { mode, policy } = context.authority;
      const caller = { agent: agent.name };
      const { session, user } = context.caller;
      const answer = await agent.run(instruction, {
        parent: context,
        // The gate applies the same; what the model is shown must agree with it.
        caller: {
          ...caller,
          depth: context.caller.depth + 1,
          parent: context.caller,
          session,
          user,
        },
        signal: context.signal,
        mode,
        policy,
        onEvent: (event) => {
          if (event.type === "tool_call") context.update(`${name}: ${event.name}`);
        },
      });
      const { text, stop, steps, usage, error } = answer;
      return { text, stop, steps, usage, pending: answer.context.pending(), error };
    },
  };
}

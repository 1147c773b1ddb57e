import type { Agent } from "./agent.ts";
import type { Subagents } from "../../tools/agents/call-subagent.ts";

export interface SubagentDirectory {
  names(): readonly string[];
  /** Creates the agent on first use, so a model that cannot be loaded affects only its own agent. */
  get(name: string): Promise<Agent> | Agent;
}

/** The agents for `call_subagent`. Their calls are nested in its call and have no more rights. */
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
        // The gate sets the same caller. It is needed here for the tools that the model sees.
        caller: { ...caller, depth: context.caller.depth + 1, parent: context.caller, session, user },
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

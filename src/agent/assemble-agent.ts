import type { Agent, AgentEvent } from "./agent.ts";
import type { AgentDependencies } from "./agent-parts.ts";
import { runAgent } from "./run-agent.ts";

/** The agent that these parts make. */
export function assembleAgent(parts: AgentDependencies): Agent {
  const { name, toolkit } = parts;
  return {
    name,
    toolkit,
    model: parts.model.id,
    run: (input, options) => runAgent(parts, input, options),
    async *stream(input, options = {}) {
      const stopped = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, stopped.signal]) : stopped.signal;
      const waiting: AgentEvent[] = [];
      let wake = (): void => undefined;
      const onEvent = (event: AgentEvent): void | Promise<void> => {
        waiting.push(event);
        wake();
        return options.onEvent?.(event);
      };
      const run = runAgent(parts, input, { ...options, signal, onEvent });
      try {
        for (let isOver = false; !isOver;) {
          if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
          for (const event of waiting.splice(0)) {
            yield event;
            isOver ||= event.type === "run_finished";
          }
        }
      } finally {
        stopped.abort();
        await run;
      }
    },
  };
}

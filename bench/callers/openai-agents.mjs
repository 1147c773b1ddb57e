import { RunContext, tool as makeTool } from "@openai/agents";

export function makeCall({ run: execute, ...definition }) {
  const tool = makeTool({ ...definition, execute });
  const context = new RunContext();
  return (input) => tool.invoke(context, input);
}

/** It takes the model's own text. */
export const prepare = (input) => JSON.stringify(input);

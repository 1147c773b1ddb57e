import { RunContext, tool as makeTool } from "@openai/agents";
import * as add from "./add.mjs";

const { run: execute, ...definition } = add;

export function makeCall() {
  const tool = makeTool({ ...definition, execute });
  const context = new RunContext();
  return (input) => tool.invoke(context, input);
}

/** It takes the model's own text. */
export const prepare = (input) => JSON.stringify(input);

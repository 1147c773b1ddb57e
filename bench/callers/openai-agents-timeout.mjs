import { invokeFunctionTool, RunContext, tool as makeTool } from "@openai/agents";

/** `invoke` alone takes no notice of `timeoutMs`; this is what its runner calls. */
export function makeCall({ run: execute, ...definition }) {
  const tool = makeTool({ ...definition, execute, timeoutMs: 30_000 });
  const runContext = new RunContext();
  return (input) => invokeFunctionTool({ tool, runContext, input });
}

export const prepare = (input) => JSON.stringify(input);

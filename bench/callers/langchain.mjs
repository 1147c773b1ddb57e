import { tool as makeTool } from "@langchain/core/tools";

export function makeCall({ name, description, parameters, run }) {
  const tool = makeTool(run, { name, description, schema: parameters });
  return (input) => tool.invoke(input);
}

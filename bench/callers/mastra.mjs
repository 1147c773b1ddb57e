import { createTool } from "@mastra/core/tools";

export function makeCall({ name, description, parameters, run }) {
  const tool = createTool({ id: name, description, inputSchema: parameters, execute: run });
  const context = {};
  return (input) => tool.execute(input, context);
}

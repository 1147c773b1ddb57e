import { createTool } from "@mastra/core/tools";
import { description, name, parameters, run } from "./add.mjs";

export function makeCall() {
  const tool = createTool({ id: name, description, inputSchema: parameters, execute: run });
  const context = {};
  return (input) => tool.execute(input, context);
}

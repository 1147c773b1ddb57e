import { tool as makeTool } from "@langchain/core/tools";
import { description, name, parameters, run } from "./add.mjs";

export function makeCall() {
  const tool = makeTool(run, { name, description, schema: parameters });
  return (input) => tool.invoke(input);
}

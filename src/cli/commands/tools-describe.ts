import { defineCommand } from "../command.ts";
import { showTool } from "../show-tool.ts";

export const command = defineCommand({
  examples: [
    ["haft tools describe read", "its parameters, and how to call it"],
    ["haft tools describe exec --json", "with its schema, for a program"],
  ],
  operands: [{ name: "NAME", completes: "tool" }],
  async run({ connect, output, operands: [name = ""] }) {
    const client = await connect();
    output.data(await client.tools.get(name), (tool) => showTool(tool, output));
  },
});

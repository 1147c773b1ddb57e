import { defineCommand } from "../command.ts";
import { awaitTools } from "../settled-servers.ts";
import { showTool } from "../show-tool.ts";

export const command = defineCommand({
  examples: [
    ["haft tools describe read", "its parameters, and how to call it"],
    ["haft tools describe exec --json", "with its schema, for a program"],
  ],
  operands: [{ name: "NAME", completes: "tool" }],
  async run({ connect, url, interrupted, output, operands: [name = ""] }) {
    const client = await connect();
    await awaitTools(client, { url, interrupted, output }, name);
    output.data(await client.tools.get(name), (tool) => showTool(tool, output));
  },
});

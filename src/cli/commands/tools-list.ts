import { defineCommand } from "../command.ts";
import { awaitTools } from "../settled-servers.ts";
import { showToolList } from "../show-tool.ts";

export const command = defineCommand({
  examples: [
    ["haft tools list", "every tool that exists in this folder"],
    ["haft tools list --kind readonly", "only those that change nothing"],
    ["haft tools list --group group:fs --json", "a group, for a program"],
  ],
  options: {
    kind: { type: "text", value: "KIND", about: "Only of this kind", oneOf: ["readonly", "write", "execute"] },
    group: { type: "text", value: "GROUP", about: "group:fs, a category, or where a tool comes from" },
  },
  async run({ connect, url, interrupted, output, options: { kind, group } }) {
    const client = await connect();
    await awaitTools(client, { url, interrupted, output });
    const page = await client.tools.list({ kind, group });
    output.list(page, (tools) => showToolList(tools, output));
    if (page.items.length === 0) output.info("No tool fits. `haft tools list` shows all of them.");
  },
});

import type { McpPromptInfo } from "../../http/wire.ts";
import { selectServers } from "../chosen-servers.ts";
import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";

export const command = defineCommand({
  examples: [
    ["haft mcp prompts", "ready prompts that the servers have"],
    ["haft mcp prompts docs", "those of one server"],
  ],
  operands: [{ name: "SERVER", isOptional: true }],
  notes: ["`haft mcp prompt SERVER NAME KEY=VALUE` gives one, filled in."],
  async run({ connect, output, interrupted, operands: [server] }) {
    const client = await connect();
    const items: ({ server: string } & McpPromptInfo)[] = [];
    for (const name of await selectServers(client, { server, output, signal: interrupted })) {
      for (const prompt of (await client.mcp.prompts(name)).items) items.push({ server: name, ...prompt });
    }
    output.list({ items }, (all) =>
      showColumns(
        all.map(({ server: of, name, arguments: given, description, title }) => [
          safeLine(of),
          safeLine(name),
          given.map(({ name: key, isRequired }) => `${safeLine(key)}${isRequired ? "*" : ""}`).join(" "),
          safeLine(description ?? title ?? ""),
        ]),
        { paint: output.paint, styles: ["cyan", "bold", "dim"], columns: output.columns },
      ),
    );
    if (items.length === 0) output.info("There is none.");
  },
});

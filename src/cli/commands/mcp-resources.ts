import type { McpResourceInfo } from "../../http/wire.ts";
import { selectServers } from "../chosen-servers.ts";
import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";

export const command = defineCommand({
  examples: [
    ["haft mcp resources", "documents and data that the servers have"],
    ["haft mcp resources docs", "those of one server"],
  ],
  operands: [{ name: "SERVER", isOptional: true }],
  notes: ["`haft mcp read SERVER ADDRESS` reads one."],
  async run({ connect, output, interrupted, operands: [server] }) {
    const client = await connect();
    const items: ({ server: string } & Omit<McpResourceInfo, "uri"> & { uri: string; isTemplate: boolean })[] = [];
    for (const name of await selectServers(client, { server, output, signal: interrupted })) {
      const { resources, templates } = await client.mcp.resources(name);
      items.push(...resources.map((resource) => ({ server: name, ...resource, isTemplate: false })));
      items.push(
        ...templates.map(({ uriTemplate: uri, ...facts }) => ({ server: name, uri, ...facts, isTemplate: true })),
      );
    }
    output.list({ items }, (all) =>
      showColumns(
        all.map((item) => [
          safeLine(item.server),
          safeLine(item.uri),
          safeLine(item.mimeType ?? ""),
          safeLine(item.description ?? item.title ?? item.name),
        ]),
        { paint: output.paint, styles: ["cyan", "bold", "dim"], columns: output.columns },
      ),
    );
    if (items.length === 0) output.info("There is none.");
  },
});

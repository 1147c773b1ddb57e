import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { awaitTools } from "../settled-servers.ts";
import { showToolList } from "../show-tool.ts";

export const command = defineCommand({
  examples: [
    ["haft tools search rename a file", "in your own words"],
    ["haft tools search 'run shell' --limit 3 --json", "the best three, for a program"],
  ],
  operands: [{ name: "WORDS", isRest: true }],
  options: { limit: { type: "number", value: "N", range: [1, 1000], about: "At most so many" } },
  async run({ connect, url, interrupted, output, operands, options: { limit = 10 } }) {
    const client = await connect();
    await awaitTools(client, { url, interrupted, output });
    const { items } = await client.tools.list({ search: operands.join(" ") });
    const found = items.slice(0, limit);
    output.list({ items: found }, (tools) => showToolList(tools, output));
    if (found.length > 0) return EXIT.done;
    output.info("Nothing found. `haft tools list` shows all tools.");
    return EXIT.failed;
  },
});

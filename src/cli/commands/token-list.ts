import { defineCommand } from "../command.ts";
import { safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";
import { showTime } from "../show-time.ts";

export const command = defineCommand({
  examples: [["haft token list", "who may speak to servers of this folder, and what they may do"]],
  async run({ connect, output }) {
    const client = await connect();
    const page = await client.tokens.list();
    output.list(page, (tokens) =>
      showColumns(
        tokens.map(({ id, name, scopes, createdAt, expiresAt }) => [
          id,
          safeLine(name),
          scopes.join(","),
          `made ${showTime(createdAt)}${expiresAt === undefined ? "" : `, until ${showTime(expiresAt)}`}`,
        ]),
        { paint: output.paint, styles: ["bold", "cyan"] },
      ),
    );
    if (page.items.length === 0) output.info("There is none. `haft token create NAME` makes one.");
  },
});

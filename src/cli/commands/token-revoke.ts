import { defineCommand } from "../command.ts";

export const command = defineCommand({
  examples: [["haft token revoke 1a2b3c", "its id, as `haft token list` shows it"]],
  operands: [{ name: "ID" }],
  async run({ connect, output, operands: [id = ""] }) {
    const client = await connect();
    await client.tokens.revoke(id);
    output.info(`${id} is not accepted any more.`);
  },
});

import { selectServers } from "../chosen-servers.ts";
import { defineCommand } from "../command.ts";
import { safe } from "../output.ts";
import { readCallInput } from "../read-call-input.ts";
import { textOfBlock } from "../show-result.ts";

export const command = defineCommand({
  examples: [["haft mcp prompt docs review file=README.md", "a prompt of a server, filled in"]],
  operands: [{ name: "SERVER" }, { name: "NAME" }, { name: "KEY=VALUE", isRest: true, isOptional: true }],
  async run({ connect, terminal, output, interrupted, operands: [server = "", name = "", ...words] }) {
    const client = await connect();
    await selectServers(client, { server, output, signal: interrupted });
    const given = Object.entries(await readCallInput(words, terminal));
    const texts = Object.fromEntries(
      given.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    );
    output.data(await client.mcp.prompt(server, { name, arguments: texts }), ({ messages }) =>
      messages.flatMap(({ role, content }) => [output.paint("dim", `${role}:`), safe(textOfBlock(content))]),
    );
  },
});

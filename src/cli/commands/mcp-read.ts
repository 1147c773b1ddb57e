import { selectServers } from "../chosen-servers.ts";
import { defineCommand } from "../command.ts";
import { makeCall } from "../make-call.ts";
import { showResult } from "../show-result.ts";

export const command = defineCommand({
  examples: [["haft mcp read docs docs://guide/start", "a resource of a server, through the gate"]],
  operands: [{ name: "SERVER" }, { name: "ADDRESS" }],
  options: { raw: { type: "flag", about: "The text exactly as it is, for a pipe" } },
  notes: ["What a server that is not trusted is asked for needs a yes."],
  async run({ connect, terminal, output, interrupted, operands: [server = "", uri = ""], options: { raw } }) {
    const client = await connect();
    await selectServers(client, { server, output, signal: interrupted });
    const call = { tool: "read_mcp_resource", input: { server, uri } };
    return showResult(await makeCall(client, call, { terminal, output, interrupted }), output, { raw });
  },
});

import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";

/** A client and a server in one process, without the cost of a pipe or a socket. */
export async function makeCall({ name, description, parameters, run }) {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(name, { description, inputSchema: parameters }, async (input) => ({
    content: [{ type: "text", text: String(await run(input)) }],
  }));
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(ours);
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(theirs);
  return (input) => client.callTool({ name, arguments: input });
}

export const sumIn = (result) => Number(result.content[0].text);

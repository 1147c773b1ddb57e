import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { DIST, importHaft } from "../harness.mjs";

/** As mcp-in-memory.mjs, with the tool behind Haft's gate. */
export async function makeCall({ name, description, parameters, run }) {
  const { createHaft } = await importHaft();
  const { serveMcp } = await import(pathToFileURL(join(DIST, "mcp", "server", "stdio-server.js")).href);
  const haft = createHaft();
  haft.register({ name, description, kind: "readonly", parameters, run: async (input) => String(await run(input)) });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await serveMcp(haft, ours, { describe: () => [] });
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(theirs);
  return (input) => client.callTool({ name, arguments: input });
}

export const sumIn = (result) => Number(result.content[0].text);

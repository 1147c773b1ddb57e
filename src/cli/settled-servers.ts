import type { HaftClient } from "../client/create-client.ts";
import type { McpServerInfo } from "../http/wire.ts";

/** A server that takes longer is shown as it is. */
const MOST_WAIT_MS = 15_000;
const LOOK_MS = 100;

/** The MCP servers, once none of them is being connected any more. */
export async function settledServers(client: HaftClient, signal: AbortSignal): Promise<McpServerInfo[]> {
  const until = performance.now() + MOST_WAIT_MS;
  for (;;) {
    const { items } = await client.mcp.list();
    const isSettled = items.every(({ state }) => state !== "connecting");
    if (isSettled || signal.aborted || performance.now() > until) return items;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

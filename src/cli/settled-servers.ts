import { HaftClientError } from "../client/client-error.ts";
import type { HaftClient } from "../client/create-client.ts";
import type { McpServerInfo } from "../http/wire.ts";
import type { Invocation } from "./command.ts";
import { safeLine } from "./output.ts";

/** A server that takes longer is shown as it is. */
const MAX_WAIT_MS = 15_000;
/** Where its tools are only some of many. */
const TOOLS_WAIT_MS = 5000;
const CHECK_INTERVAL_MS = 100;

interface WaitOptions {
  maxMs?: number;
  /** Those that are waited for, of all that there are. */
  choose?: (servers: readonly McpServerInfo[]) => readonly McpServerInfo[];
}

/** The MCP servers, once none of them is being connected any more. */
export async function waitForServers(
  client: HaftClient,
  signal: AbortSignal,
  { maxMs = MAX_WAIT_MS, choose = (servers) => servers }: WaitOptions = {},
): Promise<McpServerInfo[]> {
  const until = performance.now() + maxMs;
  for (;;) {
    const { items } = await client.mcp.list();
    const isSettled = choose(items).every(({ state }) => state !== "connecting");
    if (isSettled || signal.aborted || performance.now() > until) return items;
    await new Promise((resolve) => setTimeout(resolve, CHECK_INTERVAL_MS));
  }
}

/**
 * Before tools are looked for: a runtime that was opened for one command has only begun to connect its MCP servers. For one
 * tool its own server alone is waited for.
 */
export async function awaitTools(
  client: HaftClient,
  { url, interrupted, output }: Pick<Invocation, "url" | "interrupted" | "output">,
  tool?: string,
): Promise<void> {
  if (url !== undefined || (tool !== undefined && !tool.startsWith("mcp__"))) return;
  const choose = tool === undefined ? undefined : await chooseServerOf(tool);
  try {
    const options = choose ? { choose } : { maxMs: TOOLS_WAIT_MS };
    for (const { name, state } of await waitForServers(client, interrupted, options)) {
      if (tool === undefined && state === "connecting")
        output.warn(`The MCP server "${safeLine(name)}" is still being connected: its tools are missing here.`);
    }
  } catch (error) {
    // A recording has no servers.
    if (!(error instanceof HaftClientError && error.code === "not_here")) throw error;
  }
}

async function chooseServerOf(tool: string): Promise<NonNullable<WaitOptions["choose"]>> {
  const { serverKey } = await import("../mcp/client/tool-definition.ts");
  return (servers) => servers.filter(({ name }) => tool.startsWith(`mcp__${serverKey(name)}__`));
}

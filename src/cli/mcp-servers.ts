import { pause } from "../core/clock.ts";
import type { ApiClient } from "../contracts/index.ts";
import type { McpServerInfo } from "../contracts/mcp.ts";
import type { Invocation } from "./command.ts";
import { isApiError } from "./exit-codes.ts";
import { type Output, safeLine } from "./output.ts";

type McpClient = Pick<ApiClient, "mcp">;

/** A server that takes longer is shown in its current state. */
const MAX_WAIT_MS = 15_000;
/** For commands that list the tools of all servers: one that hangs must not delay the others. */
const MAX_TOOLS_WAIT_MS = 2000;
const CHECK_INTERVAL_MS = 100;

interface WaitOptions {
  maxMs?: number;
  /** Which servers to wait for. Default: all. */
  choose?: (servers: readonly McpServerInfo[]) => readonly McpServerInfo[];
}

/** The MCP servers, after all of them have connected or failed. */
export async function waitForServers(
  client: McpClient,
  signal: AbortSignal,
  { maxMs = MAX_WAIT_MS, choose = (servers) => servers }: WaitOptions = {},
): Promise<McpServerInfo[]> {
  const until = performance.now() + maxMs;
  for (;;) {
    const { items } = await client.mcp.list();
    const isSettled = choose(items).every(({ state }) => state !== "connecting");
    if (isSettled || signal.aborted || performance.now() > until) return items;
    await pause(CHECK_INTERVAL_MS, signal);
  }
}

/** Waits for the tools of MCP servers, or of one server: a runtime of one command has just started to connect. */
export async function waitForTools(
  client: McpClient,
  { url, interrupted, output, maxMs = MAX_TOOLS_WAIT_MS }: WaitForToolsOptions,
  tool?: string,
): Promise<void> {
  if (url !== undefined || (tool !== undefined && !tool.startsWith("mcp__"))) return;
  const choose = tool === undefined ? undefined : await chooseServerOf(tool);
  try {
    const servers = await waitForServers(client, interrupted, choose ? { choose } : { maxMs });
    if (tool === undefined) for (const server of servers) warnAboutMissing(server, output);
  } catch (error) {
    // A recording has no servers.
    if (!isApiError(error, "not_here")) throw error;
  }
}

type WaitForToolsOptions = Pick<Invocation, "url" | "interrupted" | "output"> & { maxMs?: number };

const WHY: Readonly<Record<McpServerInfo["state"], string>> = {
  connecting: "it is still connecting",
  ready: "it is ready",
  unavailable: "it is not available",
  needs_sign_in: "it needs a sign-in",
  needs_approval: "nobody has approved it",
  stopped: "it was stopped",
};

function warnAboutMissing({ name, state, error }: McpServerInfo, output: Output): void {
  if (state === "ready" || state === "stopped") return;
  const shown = safeLine(name);
  const why = error === undefined ? WHY[state] : safeLine(error).replace(/\.$/, "");
  const next =
    state === "connecting"
      ? "`--wait 30s` waits longer; `haft serve` keeps servers connected."
      : `\`haft mcp doctor ${shown}\` shows more.`;
  output.warn(`The tools of the MCP server "${shown}" are missing: ${why}. ${next}`);
}

async function chooseServerOf(tool: string): Promise<NonNullable<WaitOptions["choose"]>> {
  const { serverKey } = await import("../core/tool-catalog.ts");
  return (servers) => servers.filter(({ name }) => tool.startsWith(`mcp__${serverKey(name)}__`));
}

/** The named server, or all that are ready, with a warning for each of the others. */
export async function selectServers(
  client: McpClient,
  { server, output, signal }: { server: string | undefined; output: Output; signal: AbortSignal },
): Promise<string[]> {
  const servers = await waitForServers(client, signal, {
    choose: (all) => (server === undefined ? all : all.filter(({ name }) => name === server)),
  });
  if (server !== undefined) return [server];
  return servers.flatMap(({ name, state }) => {
    if (state === "ready") return [name];
    if (state !== "stopped") output.warn(`The MCP server "${safeLine(name)}" is left out: ${state}.`);
    return [];
  });
}

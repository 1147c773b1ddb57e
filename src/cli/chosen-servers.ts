import type { HaftClient } from "../client/create-client.ts";
import { type Output, safeLine } from "./output.ts";
import { waitForServers } from "./settled-servers.ts";

/** The server that was named, or all that answer; of the others it is said that they do not. */
export async function selectServers(
  client: HaftClient,
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

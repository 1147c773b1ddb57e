import type { McpServerInfo } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { type Output, safeLine } from "../output.ts";
import { waitForServers } from "../settled-servers.ts";
import { showColumns } from "../show-columns.ts";

export const command = defineCommand({
  examples: [["haft mcp list", "every configured server, whether it answers, and where it is configured"]],
  async run({ connect, output, interrupted }) {
    const servers = await waitForServers(await connect(), interrupted);
    output.list({ items: servers }, (items) => showServers(items, output));
    if (servers.length === 0) output.info("There is none. `haft mcp add NAME -- COMMAND` adds one.");
  },
});

const STYLES = { ready: "green", connecting: "cyan", stopped: "dim" } as const;

function showServers(servers: readonly McpServerInfo[], { paint }: Output): string[] {
  return showColumns(
    servers.map(({ name, state, transport, era, protocolVersion, tools, error, origin }) => [
      safeLine(name),
      paint(STYLES[state as keyof typeof STYLES] ?? "yellow", state),
      transport,
      era === undefined ? "" : `${era} ${protocolVersion ?? ""}`,
      `${tools.length} tools`,
      safeLine(error ?? origin ?? ""),
    ]),
    { paint, styles: ["bold"] },
  );
}

import type { McpServerInfo } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { type Output, safeLine } from "../output.ts";
import { waitForServers } from "../settled-servers.ts";

export const command = defineCommand({
  examples: [["haft mcp doctor", "what is wrong with each server, what it printed, and what to do"]],
  async run({ connect, output, interrupted }) {
    const servers = await waitForServers(await connect(), interrupted);
    output.list({ items: servers }, (items) => items.flatMap((server) => diagnose(server, output)));
    return servers.every(({ state }) => state === "ready" || state === "stopped") ? EXIT.done : EXIT.failed;
  },
});

const ADVICE: Partial<Record<McpServerInfo["state"], (server: McpServerInfo) => string>> = {
  unavailable: () => "Start its command by hand in this folder; what it prints says why. It is tried again by itself.",
  needs_sign_in: ({ name }) => `Sign in: haft mcp login ${name}`,
  needs_approval: () =>
    "Its start command changed since you approved it: look at it in the console, and approve it there.",
  connecting: () => "It has not answered yet: its start takes long, or it waits for something.",
};

function diagnose(server: McpServerInfo, { paint }: Output): string[] {
  const isFine = server.state === "ready" || server.state === "stopped";
  const lines = [
    `${isFine ? paint("green", "ok ") : paint("red", "bad")}  ${paint("bold", safeLine(server.name))}  ${server.state}`,
  ];
  if (server.error !== undefined) lines.push(`     ${safeLine(server.error)}`);
  const advice = ADVICE[server.state]?.(server);
  if (advice !== undefined) lines.push(`     ${advice}`);
  for (const { name, refused, review } of server.tools) {
    if (refused !== undefined) lines.push(`     ${safeLine(name)} is not used: ${safeLine(refused)}`);
    if (review === "changed")
      lines.push(`     ${safeLine(name)} changed its definition: its next call asks, and shows the difference.`);
  }
  if (!isFine) for (const line of server.stderr.slice(-5)) lines.push(paint("dim", `     stderr: ${safeLine(line)}`));
  if (server.faultCount > 0)
    lines.push(`     ${server.faultCount} faults on the wire, the last: ${safeLine(server.faults.at(-1) ?? "")}`);
  return lines;
}

import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createHaft, type Haft, type HaftOptions } from "../../src/runtime.ts";
import { createMcpHub, type McpHub, type McpHubOptions } from "../../src/mcp/client/mcp-hub.ts";
import type { McpServerConfig } from "../../src/mcp/server-config.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

export const SCRIPTED = fileURLToPath(new URL("./scripted-server.mjs", import.meta.url));

export function scripted(
  name: string,
  faults: readonly string[] = [],
  more: Partial<McpServerConfig> = {},
): McpServerConfig {
  return {
    name,
    transport: "stdio",
    command: process.execPath,
    args: [SCRIPTED, ...faults],
    ...more,
  } as McpServerConfig;
}

export interface Connected {
  haft: Haft;
  hub: McpHub;
}

/** A runtime whose approver approves everything, with a hub of these servers. */
export function openHub(
  servers: readonly McpServerConfig[],
  options: { hub?: Partial<McpHubOptions>; haft?: HaftOptions } = {},
): Connected {
  const haft = createHaft({ approver: async () => ({ approved: true }), ...options.haft });
  const hub = createMcpHub({
    registry: haft.tools.registry,
    workspace: temporaryFolder("haft-hub-"),
    servers,
    ...options.hub,
  });
  onTestFinished(() => hub.close());
  return { haft, hub };
}

export async function connectHub(
  servers: readonly McpServerConfig[],
  options: { hub?: Partial<McpHubOptions>; haft?: HaftOptions } = {},
): Promise<Connected> {
  const connected = openHub(servers, options);
  await connected.hub.settled();
  return connected;
}

/** Waits for a condition that another process fulfils. */
export async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 500; i++) {
    if (await happened()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`It did not happen: ${happened.toString()}`);
}

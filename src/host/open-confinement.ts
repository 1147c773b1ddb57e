import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../config/problems.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { startForwardProxy } from "../io/net/forward-proxy.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { findBubblewrap, type SandboxState } from "../io/sandbox/bubblewrap.ts";
import type { SandboxOptions } from "../io/sandbox/sandbox.ts";

export interface HostConfinement {
  /** For the workspace; undefined where commands are not to be confined. */
  sandbox?: Omit<SandboxOptions, "files" | "clock">;
  close(): Promise<void>;
}

/** How the warning begins that commands are not confined although they should be. */
export const UNCONFINED_WARNING = "Commands are not confined: ";

const NOTHING_TO_CLOSE = async (): Promise<void> => undefined;

/** How commands are confined, as the configuration says: where this machine can unless it says otherwise. */
export async function openConfinement(
  { value: { sandbox, network } }: Pick<LoadedConfig, "value">,
  find: () => SandboxState = findBubblewrap,
): Promise<HostConfinement> {
  const { mode = "auto", autoAllow, allowedHosts = [], memoryMb, processes } = sandbox;
  if (mode === "off") return { close: NOTHING_TO_CLOSE };
  const state = find();
  if (mode === "required" && state.program === undefined) {
    const message = `Commands must be confined, and cannot be: ${state.why}. Make it work, or set sandbox.mode to auto.`;
    throw new ConfigError([{ path: "sandbox.mode", message }]);
  }
  const options = {
    find: () => state,
    autoAllow,
    memoryBytes: memoryMb === undefined ? undefined : memoryMb * 1024 * 1024,
    processes,
  };
  if (allowedHosts.length === 0 || state.program === undefined) return { sandbox: options, close: NOTHING_TO_CLOSE };
  const socketPath = join(tmpdir(), `haft-proxy-${randomUUID()}.sock`);
  const openSocket = createOpenSocket({ hosts: allowedHosts, exceptions: network.exceptions ?? [] });
  const proxy = await startForwardProxy({ openSocket, socketPath });
  return {
    sandbox: { ...options, proxy: { socketPath, hosts: allowedHosts } },
    async close() {
      await proxy.close();
      await rm(socketPath, { force: true });
    },
  };
}

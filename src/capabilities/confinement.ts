import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CloseStack } from "../core/close-stack.ts";
import { ConfigError } from "../config/problems.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { startForwardProxy } from "../io/net/forward-proxy.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { findBubblewrap, type SandboxState } from "../io/sandbox/bubblewrap.ts";
import type { SandboxOptions } from "../io/sandbox/sandbox.ts";
import { defineCapability } from "./capability.ts";

export interface HostConfinement {
  /** For the workspace. Undefined if commands are not to be confined. */
  sandbox?: Omit<SandboxOptions, "files" | "clock">;
  close(): Promise<void>;
}

const NOTHING_TO_CLOSE = async (): Promise<void> => undefined;

export const confinement = defineCapability({
  name: "confinement",
  config: ["sandbox", "network"],
  async open({ config }) {
    const value = await openConfinement(config);
    return { value, close: () => value.close() };
  },
});

/** `find` looks for the program that confines commands. By default they are confined if this machine can do it. */
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
  const closing = new CloseStack();
  closing.push("the proxy socket", () => rm(socketPath, { force: true }));
  const proxy = await startForwardProxy({ openSocket, socketPath });
  closing.push("the proxy", () => proxy.close());
  return {
    sandbox: { ...options, proxy: { socketPath, hosts: allowedHosts } },
    close: () => closing.close(),
  };
}

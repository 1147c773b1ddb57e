import { CloseStack } from "../core/close-stack.ts";
import { ConfigError } from "../config/problems.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { startForwardProxy } from "../io/net/forward-proxy.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import type { SandboxOptions } from "../io/sandbox/sandbox.ts";
import { machineEngines, type FoundEngines } from "../io/sandbox/self-test.ts";
import { defineCapability } from "./capability.ts";

export interface HostConfinement {
  /** For the workspace. False if commands are not to be confined. */
  sandbox: false | Omit<SandboxOptions, "files">;
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

/** `engines` tries what confines commands. By default they are confined if this machine can do it. */
export async function openConfinement(
  { value: { sandbox, network } }: Pick<LoadedConfig, "value">,
  engines: () => FoundEngines = machineEngines,
): Promise<HostConfinement> {
  const { mode = "auto", autoAllow, allowedHosts = [], memoryMb, processes, previewMs } = sandbox;
  if (mode === "off") return { sandbox: false, close: NOTHING_TO_CLOSE };
  if (mode === "required") requireEngines(engines());
  const options = {
    engines,
    autoAllow,
    memoryBytes: memoryMb === undefined ? undefined : memoryMb * 1024 * 1024,
    processes,
    previewMs,
    networkExceptions: network.exceptions,
  };
  if (allowedHosts.length === 0) return { sandbox: options, close: NOTHING_TO_CLOSE };
  const openSocket = createOpenSocket({ hosts: allowedHosts, exceptions: network.exceptions ?? [] });
  const closing = new CloseStack();
  const proxy = await startForwardProxy({ openSocket, listens: false });
  closing.push("the proxy", () => proxy.close());
  return {
    sandbox: { ...options, proxy: { hosts: allowedHosts, accept: (socket) => proxy.accept(socket) } },
    close: () => closing.close(),
  };
}

function requireEngines({ look, work, tests }: FoundEngines): void {
  if (look && work) return;
  const why = tests.find(({ problem }) => problem !== undefined)?.problem ?? "no engine is available";
  const message = `Commands must be confined, and cannot be: ${why}. Make it work, or set sandbox.mode to auto.`;
  throw new ConfigError([{ path: "sandbox.mode", message }]);
}

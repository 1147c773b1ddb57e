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
  async open({ config, rules, warn }) {
    const value = await openConfinement(config);
    const { commandsConfinedBy: file } = config;
    if (file !== undefined) {
      rules.add("Bash(outside_sandbox:true)", "deny", file);
      const why = unconfinedReason(machineEngines());
      if (why !== undefined) {
        // The rule of the file that wants it: commands run confined, or not at all.
        rules.add("Bash", "deny", file);
        warn(`${file} requires confined commands, but this machine cannot confine them (${why}). No command runs.`);
      }
    }
    return { value, close: () => value.close() };
  },
});

/** `engines` tries what confines commands. By default they are confined if this machine can do it. */
export async function openConfinement(
  { value: { sandbox, network }, commandsConfinedBy }: Pick<LoadedConfig, "value" | "commandsConfinedBy">,
  engines: () => FoundEngines = machineEngines,
): Promise<HostConfinement> {
  const { mode = "auto", autoAllow, allowedHosts = [], memoryMb, processes, previewMs } = sandbox;
  if (mode === "off" && commandsConfinedBy === undefined) return { sandbox: false, close: NOTHING_TO_CLOSE };
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

/** Undefined if this machine can confine commands. */
function unconfinedReason({ look, work, tests }: FoundEngines): string | undefined {
  if (look && work) return undefined;
  return tests.find(({ problem }) => problem !== undefined)?.problem ?? "no engine is available";
}

function requireEngines(engines: FoundEngines): void {
  const why = unconfinedReason(engines);
  if (why === undefined) return;
  const message = `Commands must be confined, but cannot be: ${why}. Make it work, or set sandbox.mode to auto.`;
  throw new ConfigError([{ path: "sandbox.mode", message }]);
}

import { isDeepStrictEqual } from "node:util";
import { CloseStack } from "../core/close-stack.ts";
import { ConfigError } from "../config/problems.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { startForwardProxy } from "../io/net/forward-proxy.ts";
import { createOpenSocket, urlOf } from "../io/net/connections.ts";
import { createNetGuard, type NetGuard } from "../io/net/net-guard.ts";
import { parseHostPattern } from "../io/net/url-check.ts";
import { machineEngines, type FoundEngines } from "../io/sandbox/self-test.ts";
import { defineCapability } from "./capability.ts";
import type { HostConfinement } from "./capability-values.ts";

const NO_HOST =
  "Is not a host name. Write it without a port, and letters of other scripts as xn--…, as it is looked up.";
const NO_PROXY = { limit: () => undefined, close: async (): Promise<void> => undefined };

export const confinement = defineCapability({
  name: "confinement",
  config: ["sandbox", "network"],
  async open({ config, rules, warn }) {
    const closing = new CloseStack();
    const limits: OpenedConfinement["limit"][] = [];
    const start = async (of: LoadedConfig): Promise<HostConfinement["sandbox"]> => {
      const { sandbox, limit, close } = await openConfinement(of);
      closing.push("the proxy of commands", close);
      limits.push(limit);
      return sandbox;
    };
    const value = { sandbox: await start(config) };
    const addRules = (file: string | undefined): void => {
      if (file === undefined) return;
      rules.add("Bash(outside_sandbox:true)", "deny", file);
      const why = unconfinedReason(machineEngines());
      if (why === undefined) return;
      // The rule of the file that wants it: commands run confined, or not at all.
      rules.add("Bash", "deny", file);
      warn(`${file} requires confined commands, but this machine cannot confine them (${why}). No command runs.`);
    };
    addRules(config.commandsConfinedBy);
    return {
      value,
      async reload(next) {
        const [before, after] = [config, next].map(({ value: { sandbox, network }, commandsConfinedBy }) => {
          return [sandbox, network.exceptions, commandsConfinedBy];
        });
        // Commands that run keep their proxy, and get no host that they were not started with.
        const sandbox = isDeepStrictEqual(before, after) ? value.sandbox : await start(next);
        return () => {
          value.sandbox = sandbox;
          for (const limit of limits) limit(next);
          addRules(next.commandsConfinedBy);
        };
      },
      close: () => closing.close(),
    };
  },
});

type Configured = Pick<LoadedConfig, "value" | "commandsConfinedBy">;

interface OpenedConfinement extends HostConfinement {
  /** From now on commands that run reach only hosts that this configuration allows too. */
  limit(to: Pick<LoadedConfig, "value">): void;
  close(): Promise<void>;
}

/** `engines` tries what confines commands. By default they are confined if this machine can do it. */
export async function openConfinement(
  { value: { sandbox, network }, commandsConfinedBy }: Configured,
  engines: () => FoundEngines = machineEngines,
): Promise<OpenedConfinement> {
  const { mode = "auto", autoAllow, allowedHosts = [], memoryMb, processes, previewMs } = sandbox;
  if (mode === "off" && commandsConfinedBy === undefined) return { sandbox: false, ...NO_PROXY };
  if (mode === "required") requireEngines(engines());
  const options = {
    engines,
    autoAllow,
    memoryBytes: memoryMb === undefined ? undefined : memoryMb * 1024 * 1024,
    processes,
    previewMs,
    networkExceptions: network.exceptions,
  };
  if (allowedHosts.length === 0) return { sandbox: options, ...NO_PROXY };
  const wrong = allowedHosts.findIndex((host) => parseHostPattern(host) === undefined);
  if (wrong >= 0) throw new ConfigError([{ path: `sandbox.allowedHosts[${wrong}]`, message: NO_HOST }]);
  const open = createOpenSocket({ hosts: allowedHosts, exceptions: network.exceptions });
  let latest: NetGuard | undefined;
  const proxy = await startForwardProxy({
    async openSocket(address, signal) {
      latest?.checkUrl(urlOf(address));
      return open(address, signal);
    },
    listens: false,
  });
  return {
    sandbox: { ...options, proxy: { hosts: allowedHosts, accept: (socket) => proxy.accept(socket) } },
    limit({ value: { sandbox: next, network: nextNetwork } }) {
      const { allowedHosts: hosts = [] } = next;
      latest = createNetGuard({ hosts, exceptions: nextNetwork.exceptions });
      if (!allowedHosts.every((host) => hosts.includes(host))) proxy.disconnect();
    },
    close: () => proxy.close(),
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

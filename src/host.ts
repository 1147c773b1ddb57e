/**
 * A runtime with the configuration of a folder and a store.
 *
 * @example
 * import { openHaft } from "haft/host";
 *
 * const host = await openHaft(".");
 * const result = await host.haft.execute("list_files", { path: "." });
 * await host.close();
 *
 * @module
 */
import { checkKeys, keysOf } from "./core/options.ts";
import type { CapabilityName, HostOptions } from "./capabilities/capability.ts";
import { type HaftHost, openHost, type PartialHost } from "./capabilities/open-host.ts";

export { ConfigError } from "./config/problems.ts";
export { loadConfig } from "./config/load-config.ts";
export type { LoadedConfig } from "./config/load-config.ts";
export type { HaftConfig } from "./config/config-schema.ts";
export { distrust, trust, trustStatus } from "./config/trust.ts";
export { stateFolderOf } from "./io/files/state-folder.ts";
export { openStore } from "./store/store.ts";
export type { Store, StoreLocation } from "./store/store.ts";
export type { CapabilityName, HostOptions } from "./capabilities/capability.ts";
export type { HaftHost } from "./capabilities/open-host.ts";

type OpenOptions = HostOptions & { only?: readonly CapabilityName[] };
const OPTION_KEYS = keysOf<OpenOptions>({
  only: true,
  home: true,
  env: true,
  stateFolder: true,
  overrides: true,
  provenance: true,
  tools: true,
  middleware: true,
  contextFor: true,
  decide: true,
  approver: true,
  approvalWaitMs: true,
  runsJobs: true,
  isShortLived: true,
  isUnattended: true,
  ownsProcess: true,
  connectsMcp: true,
  mcpSignIn: true,
  agentFor: true,
  channelKinds: true,
  clock: true,
  onWarning: true,
});

/**
 * Reads the configuration of a folder, opens its store and its capabilities, and puts one gate before all tools. If it
 * rejects, nothing is left open.
 */
export function openHaft(folder?: string, options?: HostOptions & { only?: undefined }): Promise<HaftHost>;
/**
 * Opens the capabilities that `only` names, and what they need. A tool of another capability does not exist in this host. Neither
 * do `run_code` and `tool_search`, which reach every tool. Commands are confined and background calls are queued in any case.
 *
 * @example
 * const host = await openHaft("/path/to/project", { only: [] });
 * const result = await host.haft.execute("grep", { pattern: "TODO" });
 * await host.close();
 */
export function openHaft<Name extends CapabilityName>(
  folder: string,
  options: HostOptions & { only: readonly Name[] },
): Promise<PartialHost<Name>>;
export async function openHaft(folder: string = process.cwd(), options: OpenOptions = {}): Promise<HaftHost> {
  checkKeys("openHaft", options, OPTION_KEYS);
  const { provenance } = options;
  const overrides = provenance ? { ...options.overrides, provenance } : options.overrides;
  return openHost(folder, { ...options, overrides });
}

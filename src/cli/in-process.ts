import { createDirectClient, type DirectClientOptions } from "../api/direct-client.ts";
import type { HandlerLoaders, HostApi } from "../api/host-api.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { Contract } from "../contracts/contract.ts";
import type { Identity } from "../contracts/identity.ts";
import type { ApiClient, Contracts } from "../contracts/index.ts";
import { CloseStack, MAX_CLOSE_STEP_MS } from "../core/close-stack.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import type { CapabilityName, HaftHost } from "../host.ts";
import type { Store } from "../store/store.ts";
import type { ConnectOptions, Invocation } from "./command.ts";
import { usesMcp } from "./uses-mcp.ts";
import { safe } from "./output.ts";
import { userName } from "./terminal.ts";

export type InProcessTarget = Pick<Invocation, "folder" | "terminal" | "output" | "embedded">;

/** Answers requests in this process, and opens only what they need. */
export class InProcessHost {
  readonly #target: InProcessTarget;
  readonly #options: ConnectOptions;
  readonly #closing = new CloseStack({ maxStepMs: MAX_CLOSE_STEP_MS });
  readonly #warnings = new Set<string>();
  #config: Promise<LoadedConfig> | undefined;
  #store: Promise<Store> | undefined;
  #api: Promise<HostApi> | undefined;

  constructor(target: InProcessTarget, options: ConnectOptions) {
    this.#target = target;
    this.#options = options;
  }

  async client(contracts: Record<string, Contract>): Promise<ApiClient> {
    // Opened now: a call that is interrupted later has started, and is recorded.
    if (Object.keys(contracts).some((resource) => !Object.hasOwn(this.#loaders, resource))) await this.#openApi();
    const { handlersOf } = this;
    // The type of `connect` limits a command to the resources that it uses.
    return createDirectClient(contracts as Contracts, { identity: localIdentity(), handlersOf });
  }

  close(): Promise<void> {
    return this.#closing.close();
  }

  readonly handlersOf: DirectClientOptions<Contracts>["handlersOf"] = async (resource) => {
    const load = this.#loaders[resource];
    return load === undefined ? (await this.#openApi()).handlersOf(resource) : load();
  };

  /** Resources that need only the configuration or the store. */
  readonly #loaders: HandlerLoaders = {
    configuration: async () => {
      const { createConfigurationApi } = await import("../api/handlers/configuration.ts");
      return createConfigurationApi(await (this.#config ??= this.#loadConfig()));
    },
    audit: async () => {
      const { createAuditApi } = await import("../api/handlers/audit.ts");
      return createAuditApi((await this.#openStore()).audit);
    },
    tokens: async () => {
      const [{ createTokensApi }, { openTokensOnUse }, { systemClock: clock }] = await Promise.all([
        import("../capabilities/tokens.ts"),
        import("../store/tokens.ts"),
        import("../core/clock.ts"),
      ]);
      const { audit, database } = await this.#openStore();
      const record = (fact: AuditFact): Promise<void> => audit.append(fact, { synced: true });
      return createTokensApi({ tokens: openTokensOnUse(database, clock), clock, record });
    },
  };

  async #loadConfig(): Promise<LoadedConfig> {
    const { folder, terminal, output } = this.#target;
    const [{ loadConfig }, { showProblem }] = await Promise.all([
      import("../config/load-config.ts"),
      import("../config/problems.ts"),
    ]);
    const config = await loadConfig({ folder, env: terminal.env });
    for (const problem of config.warnings) output.warn(safe(showProblem(problem)));
    return config;
  }

  /** Without a runtime: no tools, no workspace, no MCP servers. */
  #openStore(): Promise<Store> {
    this.#store ??= (async () => {
      const { folder, terminal, output } = this.#target;
      const onWarning = (warning: string): void => output.warn(safe(warning));
      const [{ openStore }, { openStateFolder }] = await Promise.all([
        import("../store/store.ts"),
        import("../store/open-state-folder.ts"),
      ]);
      const stateFolder = await openStateFolder(folder, { env: terminal.env, onWarning });
      const config = await (this.#config ??= this.#loadConfig());
      const { url } = config.value.store;
      const secretNames = config.value.audit.redact ?? [];
      const store = await openStore(url === undefined ? { stateFolder } : { url }, { onWarning, secretNames });
      this.#closing.push("store", () => store.close());
      return store;
    })();
    return this.#store;
  }

  #openApi(): Promise<HostApi> {
    this.#api ??= (async () => {
      const host = await this.#openHost();
      this.#closing.push("host", () => host.close());
      const { onEvent } = this.#target.embedded;
      if (onEvent) host.haft.on("*", onEvent);
      const { HostApi } = await import("../api/host-api.ts");
      const api = new HostApi(host, { info: { workspace: host.config.folder } });
      this.#closing.push("API", () => api.close());
      return api;
    })();
    return this.#api;
  }

  async #openHost(): Promise<HaftHost> {
    const { only, tool, connectsMcp } = this.#options;
    if (tool === undefined) return this.#openWith(only, connectsMcp ?? true);
    if (usesMcp(tool)) return this.#openWith(undefined, true);
    // Most calls are of tools that every host has. No plugin can take the name of one, and each starts a process.
    const host = await this.#openWith([], false);
    const found = host.haft.tools.registry.get(tool);
    if (found?.origin.type === "builtin" && !usesMcp(found.name)) return host;
    await host.close();
    // A tool of a plugin may call any other.
    return this.#openWith(undefined, found !== undefined || host.config.plugins.length > 0);
  }

  async #openWith(only: readonly CapabilityName[] | undefined, connectsMcp: boolean): Promise<HaftHost> {
    const { folder, terminal, output, embedded } = this.#target;
    const [{ openHost }, { UNCONFINED_WARNING }] = await Promise.all([
      import("../capabilities/open-host.ts"),
      import("../capabilities/base.ts"),
    ]);
    return openHost(folder, {
      only,
      env: terminal.env,
      // Only the person at this terminal would answer, and is asked; without a terminal the approval stays pending.
      approvalWaitMs: false,
      runsJobs: this.#options.runsJobs ?? true,
      isShortLived: true,
      connectsMcp,
      // Most commands run no program, and the result of an unconfined one has the warning too.
      onWarning: (warning) => {
        // A second host, with the plugins, gives the warnings of the first one again.
        if (warning.startsWith(UNCONFINED_WARNING) || this.#warnings.has(warning)) return;
        this.#warnings.add(warning);
        output.warn(safe(warning));
      },
      middleware: embedded.middleware,
    });
  }
}

/** The person who started this process may do everything. */
function localIdentity(): Identity {
  return { id: "local", name: userName(), scopes: ["read", "call", "approve", "admin"], kind: "token" };
}

import { createDirectClient, type DirectClientOptions } from "../api/direct-client.ts";
import type { HaftApi } from "../api/haft-api.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { Contract, Handlers } from "../contracts/contract.ts";
import type { Identity } from "../contracts/identity.ts";
import type { CapabilityName, HaftHost } from "../host.ts";
import type { Store } from "../store/store.ts";
import type { ConnectOptions, EmbedOptions } from "./command.ts";
import { type Output, safe } from "./output.ts";
import { type Terminal, userName } from "./terminal.ts";

export interface InProcessTarget {
  folder: string;
  terminal: Terminal;
  output: Output;
  embedded: EmbedOptions;
}

type AnyHandlers = Handlers<Contract> | undefined;

/** Resources that need the configuration or the store, and nothing else. */
const WITHOUT_HOST: ReadonlySet<string> = new Set(["configuration", "audit", "tokens"]);

/**
 * Answers requests in this process, and opens only what they need: the configuration, the store, or a host with the
 * capabilities of the command.
 */
export class InProcessHost {
  readonly #target: InProcessTarget;
  readonly #options: ConnectOptions;
  readonly #closing: (() => Promise<void> | void)[] = [];
  #config: Promise<LoadedConfig> | undefined;
  #store: Promise<Store> | undefined;
  #api: Promise<HaftApi> | undefined;

  constructor(target: InProcessTarget, options: ConnectOptions) {
    this.#target = target;
    this.#options = options;
  }

  async client(contracts: Record<string, Contract>) {
    // Opened now: a call that is interrupted later has started, and is recorded.
    if (Object.keys(contracts).some((resource) => !WITHOUT_HOST.has(resource))) await this.#openApi();
    const handlersOf = ((resource: string) => this.#handlersOf(resource)) as DirectClientOptions<
      typeof contracts
    >["handlersOf"];
    return createDirectClient(contracts, { identity: localIdentity(), handlersOf });
  }

  /** In reverse order; every step is tried. */
  async close(): Promise<void> {
    let failure: unknown;
    for (const close of this.#closing.toReversed()) {
      try {
        await close();
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async #handlersOf(resource: string): Promise<AnyHandlers> {
    switch (resource) {
      case "configuration": {
        const { createConfigurationApi } = await import("../api/handlers/configuration.ts");
        return createConfigurationApi(await (this.#config ??= this.#loadConfig())) as AnyHandlers;
      }
      case "audit": {
        const { createAuditApi } = await import("../api/handlers/audit.ts");
        return createAuditApi((await this.#openStore()).audit) as unknown as AnyHandlers;
      }
      case "tokens":
        return (await this.#tokens()) as unknown as AnyHandlers;
      default: {
        const { handlers } = await this.#openApi();
        return (handlers as Readonly<Record<string, AnyHandlers>>)[resource];
      }
    }
  }

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
      this.#closing.push(() => store.close());
      return store;
    })();
    return this.#store;
  }

  async #tokens() {
    const [{ createTokensApi }, { openTokensOnUse }, { systemClock }] = await Promise.all([
      import("../api/handlers/tokens.ts"),
      import("../store/tokens.ts"),
      import("../core/clock.ts"),
    ]);
    const { audit, database } = await this.#openStore();
    return createTokensApi({
      tokens: openTokensOnUse(database, systemClock),
      clock: systemClock,
      record: (fact) => audit.append(fact, { synced: true }),
    });
  }

  #openApi(): Promise<HaftApi> {
    this.#api ??= (async () => {
      const host = await this.#openHost();
      this.#closing.push(() => host.close());
      const { onEvent } = this.#target.embedded;
      if (onEvent) host.haft.on("*", onEvent);
      const { createHostApi } = await import("../api/haft-api.ts");
      const api = createHostApi(host, { info: { workspace: host.config.folder } });
      this.#closing.push(() => api.close());
      return api;
    })();
    return this.#api;
  }

  async #openHost(): Promise<HaftHost> {
    const { only, tool, connectsMcp } = this.#options;
    if (tool === undefined) return this.#openWith(only, connectsMcp ?? true);
    if (usesMcp(tool)) return this.#openWith(undefined, true);
    // Most calls are of tools that every host has. Plugins come too: their hooks decide about every call.
    const host = await this.#openWith(["plugins"], false);
    const found = host.haft.registry.get(tool);
    if (found?.origin.type === "builtin" && !usesMcp(found.name)) return host;
    await host.close();
    // A tool of a plugin may call any other.
    return this.#openWith(undefined, found !== undefined);
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
      connectsMcp,
      // Most commands run no program, and the result of an unconfined one has the warning too.
      onWarning: (warning) => warning.startsWith(UNCONFINED_WARNING) || output.warn(safe(warning)),
      middleware: embedded.middleware,
    });
  }
}

/** Tools that read from MCP servers, or make calls of any tool. */
const MCP_TOOLS: ReadonlySet<string> = new Set([
  "list_mcp_resources",
  "read_mcp_resource",
  "run_code",
  "tool_search",
  "call_subagent",
  "sessions_spawn",
  "sessions_send",
  "cron",
]);

function usesMcp(tool: string): boolean {
  return tool.startsWith("mcp__") || MCP_TOOLS.has(tool);
}

/** The person who started this process may do everything. */
function localIdentity(): Identity {
  return { id: "local", name: userName(), scopes: ["read", "call", "approve", "admin"], kind: "token" };
}

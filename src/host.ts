import { type LoadConfigOptions, loadConfig, type LoadedConfig } from "./config/load-config.ts";
import { loadPlugins } from "./config/load-plugins.ts";
import { saveLocalRule } from "./config/local-rules.ts";
import { ConfigError, showProblem } from "./config/config-problem.ts";
import { trustStatus } from "./config/trust.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import type { Registrable } from "./core/registry.ts";
import type { Middleware } from "./core/stage.ts";
import { createUndo, type Undo } from "./files/undo.ts";
import { auditedApprovals } from "./host/audited-approvals.ts";
import { configuredOptions, configuredRules } from "./host/configured-options.ts";
import { createMcpHub, type McpHub } from "./mcp/client/mcp-hub.ts";
import type { SignInOptions } from "./mcp/client/sign-in.ts";
import { reviewStateOf } from "./mcp/client/wrap-mcp-tool.ts";
import { noteTrust } from "./host/note-trust.ts";
import { openWeb } from "./host/open-web.ts";
import { postJson } from "./net/post-json.ts";
import type { Approver } from "./policy/ask-person.ts";
import { createHaft, type Haft } from "./runtime.ts";
import { openStore, type Store } from "./store/open-store.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

export { ConfigError } from "./config/config-problem.ts";
export { loadConfig } from "./config/load-config.ts";
export type { LoadedConfig } from "./config/load-config.ts";
export type { HaftConfig } from "./config/config-schema.ts";
export { distrust, trust, trustStatus } from "./config/trust.ts";
export { openStore } from "./store/open-store.ts";
export type { Store, StorePlace } from "./store/open-store.ts";

export interface HostOptions extends Omit<LoadConfigOptions, "folder"> {
  /** Besides the workspace tools and those of plugins. */
  tools?: Iterable<Registrable>;
  middleware?: readonly Middleware[];
  approver?: Approver;
  /** How long a call that asks waits for an answer from any door; `false`: not at all. What the configuration says where absent. */
  approvalWaitMs?: number | false;
  /** How a person signs in to remote MCP servers; without it only what was signed in to before is used. */
  mcpSignIn?: Omit<SignInOptions, "tokens">;
  clock?: Clock;
  onWarning?: (warning: string) => void;
}

/** A runtime as a person or a service runs it: configured by files, and remembered in a store. */
export interface HaftHost {
  readonly haft: Haft;
  readonly config: LoadedConfig;
  readonly store: Store;
  readonly workspace: Workspace;
  readonly undo: Undo;
  /** The MCP servers that the configuration names; they connect in their own time. */
  readonly mcp: McpHub;
  /** What somebody should know: a damaged store that was set aside, calls that were lost, what is not trusted yet. */
  readonly warnings: readonly string[];
  /** Ends what runs, and writes what is still to be written. */
  close(): Promise<void>;
}

/** No page of ours is there to return to: a server that wants one says so. */
const NO_SIGN_IN: Omit<SignInOptions, "tokens"> = { redirectUrl: "http://127.0.0.1/callback", onAuthorize: () => {} };

/** Reads the configuration of a folder, opens its store and its tools, and puts one gate before them. */
export async function openHaft(folder: string = process.cwd(), options: HostOptions = {}): Promise<HaftHost> {
  const { clock = systemClock, tools = [], middleware = [], ...others } = options;
  const { approver, approvalWaitMs, mcpSignIn, onWarning, ...places } = others;
  const warnings: string[] = [];
  const warn = (warning: string): void => {
    warnings.push(warning);
    onWarning?.(warning);
  };
  const config = await loadConfig({ ...places, folder });
  for (const problem of config.warnings) warn(showProblem(problem));
  if (config.untrusted.length > 0) warn(untrusted(config));
  if (config.value.audit.enabled === false) throw auditNeeded(config);
  const { url } = config.value.store;
  const store = await openStore(url === undefined ? { folder: config.folder } : { url }, {
    clock,
    onWarning: warn,
    secretNames: config.value.audit.redact ?? [],
  });
  try {
    const trusted = await trustStatus(config.folder, places);
    await noteTrust(store.audit, config.folder, trusted);
    const rules = configuredRules(config);
    const journal = store.undo(config.folder);
    const workspace = openWorkspace(config.folder, {
      ...config.value.workspace,
      denyGlobs: [...(config.value.workspace.denyGlobs ?? []), ...rules.deniedReadGlobs(config.folder)],
      trustedRepository: trusted.isExplicit,
      seenFiles: store.seenFiles,
      journal,
      clock,
    });
    const { audit } = store;
    const web = openWeb(config, { env: places.env ?? process.env, workspace, clock });
    const haft = createHaft({
      ...configuredOptions(config),
      ...(approver ? { approver } : {}),
      ...(approvalWaitMs === undefined
        ? {}
        : { approvalWaitMs: approvalWaitMs === false ? undefined : approvalWaitMs }),
      workspace,
      rules,
      tools: [...web.tools, ...tools],
      middleware,
      clock,
      log: audit,
      journal: store.journal,
      approvals: {
        store: auditedApprovals(store.approvals, audit),
        ...(config.value.approvals.expireMs === undefined ? {} : { lifetimeMs: config.value.approvals.expireMs }),
      },
      taint: { store: store.taint },
      post: postJson,
      mustAsk: (tool) =>
        reviewStateOf(tool) === "changed"
          ? `The definition of "${tool.name}" changed since it was approved.`
          : undefined,
      onWarning: warn,
      async keepRule(rule) {
        await audit.append({ kind: "rule_added", data: { rule, list: "allow" } }, { synced: true });
        await saveLocalRule(config.folder, "allow", rule, places);
      },
    });
    const undo = createUndo({
      files: workspace.files,
      store: journal,
      clock: () => clock.now(),
      onUndo: ({ phase, ...facts }) => audit.append({ kind: "undo", data: { phase, ...facts } }, { synced: true }),
    });
    const mcp = createMcpHub({
      registry: haft.registry,
      servers: config.mcpServers,
      pins: store.pins,
      signIn: { ...(mcpSignIn ?? NO_SIGN_IN), tokens: store.signIns },
      workspace: config.folder,
      allowedPaths: config.value.workspace.allowedPaths ?? [config.folder],
      clock,
    });
    await usePlugins(haft, config, warn);
    for (const { undoId } of await undo.recover()) warn(`An undo that was cut off has been finished (${undoId}).`);
    return {
      haft,
      config,
      store,
      workspace,
      undo,
      mcp,
      warnings,
      async close() {
        await mcp.close();
        await haft.shutdown();
        await web.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close().catch(() => undefined);
    throw error;
  }
}

async function usePlugins(haft: Haft, config: LoadedConfig, warn: (warning: string) => void): Promise<void> {
  if (config.plugins.length === 0) return;
  const { plugins, failures } = await loadPlugins(config);
  for (const failure of failures) warn(failure.message);
  for (const { plugin } of plugins) {
    try {
      await haft.use(plugin);
    } catch (error) {
      warn(`The plugin "${plugin.manifest.id}" was not installed: ${(error as Error).message}`);
    }
  }
}

/** What runs through a host is recorded before it has an effect: without the log there is no gate. */
function auditNeeded({ origins }: LoadedConfig): ConfigError {
  const said = origins.find(({ path, isOverridden }) => path === "audit.enabled" && !isOverridden);
  return new ConfigError([
    {
      ...(said?.file === undefined ? {} : { file: said.file, line: said.line }),
      path: "audit.enabled",
      message: "The audit log cannot be switched off. Remove this line; `audit.redact` names what it should hide.",
    },
  ]);
}

function untrusted({ untrusted: items, folder }: LoadedConfig): string {
  const many = items.length === 1 ? "1 setting of this folder is" : `${items.length} settings of this folder are`;
  return `${many} not used, because it is not trusted (${folder}). To see and to trust them: haft trust`;
}

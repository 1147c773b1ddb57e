import { type LoadConfigOptions, loadConfig, type LoadedConfig } from "./config/load-config.ts";
import { loadPlugins } from "./config/plugins.ts";
import { saveLocalRule } from "./config/saved-rules.ts";
import { ConfigError, showProblem } from "./config/problems.ts";
import { trustStatus } from "./config/trust.ts";
import { userPaths } from "./config/state-folder.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import type { Registrable } from "./core/registry.ts";
import type { Middleware } from "./core/stage.ts";
import { createUndo, type Undo } from "./io/files/undo.ts";
import { auditedApprovals } from "./host/audited-approvals.ts";
import { configuredOptions, configuredRules } from "./host/configured-options.ts";
import { createMcpHub, type McpHub } from "./mcp/client/mcp-hub.ts";
import type { SignInOptions } from "./mcp/client/oauth.ts";
import { reviewStateOf } from "./mcp/client/mcp-tool.ts";
import { type HostAgents, openAgents } from "./host/open-agents.ts";
import { openBrowser } from "./host/open-browser.ts";
import { openArtifacts } from "./host/open-artifacts.ts";
import { type HostCanvas, openCanvas } from "./host/open-canvas.ts";
import { openMessages } from "./host/open-messages.ts";
import { openQuestions } from "./host/open-questions.ts";
import type { ServerQuestions } from "./mcp/client/elicitation.ts";
import { openResources } from "./host/open-resources.ts";
import { createResourceTools } from "./tools/discovery/mcp-resources.ts";
import { openNamedNet } from "./host/open-named-net.ts";
import { openConfinement, UNCONFINED_WARNING } from "./host/open-confinement.ts";
import { noteTrust } from "./host/note-trust.ts";
import { openSchedules } from "./host/open-schedules.ts";
import { type AgentFor, type HostSessions, openSessions } from "./host/open-sessions.ts";
import { openJobQueue } from "./host/open-jobs.ts";
import { openWeb } from "./host/open-web.ts";
import type { WakeSession } from "./jobs/scheduler.ts";
import type { Schedules } from "./jobs/schedules.ts";
import { postJson } from "./io/net/post-json.ts";
import type { Approver } from "./gate/permit/approver.ts";
import { createHaft, type Haft } from "./runtime.ts";
import type { ChannelKind } from "./tools/message/channel.ts";
import type { OpenChannel } from "./tools/message/open-channels.ts";
import type { ArtifactManager } from "./tools/artifacts/artifact-manager.ts";
import { openStore, type Store } from "./store/store.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

export { ConfigError } from "./config/problems.ts";
export { loadConfig } from "./config/load-config.ts";
export type { LoadedConfig } from "./config/load-config.ts";
export type { HaftConfig } from "./config/config-schema.ts";
export { distrust, trust, trustStatus } from "./config/trust.ts";
export { openStore } from "./store/store.ts";
export type { Store, StoreLocation } from "./store/store.ts";

export interface HostOptions extends Omit<LoadConfigOptions, "folder"> {
  /** Besides the workspace tools and those of plugins. */
  tools?: Iterable<Registrable>;
  middleware?: readonly Middleware[];
  approver?: Approver;
  /** How long a call that asks waits for an answer from any door; `false`: not at all. What the configuration says where absent. */
  approvalWaitMs?: number | false;
  /** Whether background calls of this process may run in it, from the first on; else they wait for a worker. True where absent. */
  runsJobs?: boolean;
  /** Whether MCP servers are started and connected. True where absent. */
  connectsMcp?: boolean;
  /** How a person signs in to remote MCP servers; without it only what was signed in to before is used. */
  mcpSignIn?: Omit<SignInOptions, "tokens">;
  /** Which agent answers in a session, in place of the configured one. */
  agentFor?: (session: Parameters<AgentFor>[0], haft: Haft) => ReturnType<AgentFor>;
  /** Kinds of message channels besides those that come with Haft. */
  channelKinds?: readonly ChannelKind[];
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
  /** Documents with versions, of every session. */
  readonly artifacts: ArtifactManager;
  /** What agents show to their people now. */
  readonly canvas: HostCanvas;
  /** The MCP servers that the configuration names; they connect in their own time. */
  readonly mcp: McpHub;
  /** What MCP servers ask people; answered through the doors. */
  readonly questions: ServerQuestions;
  /** Those that the configuration names, and the one that `haft run` is. */
  readonly agents: HostAgents;
  /** Stored conversations; a process that calls its `start` goes on with those that were cut off. */
  readonly sessions: HostSessions;
  /** What is done later; a process that calls its `start` runs what is due. */
  readonly schedules: Schedules;
  /** Where the message tool may write to. */
  readonly channels: readonly OpenChannel[];
  /** What somebody should know: a damaged store that was set aside, calls that were lost, what is not trusted yet. */
  readonly warnings: readonly string[];
  /** Ends what runs, and writes what is still to be written. */
  close(): Promise<void>;
}

/** No page of ours is there to return to: a server that wants one says so. */
const NO_SIGN_IN: Omit<SignInOptions, "tokens"> = { redirectUrl: "http://127.0.0.1/callback" };

/** Reads the configuration of a folder, opens its store and its tools, and puts one gate before them. */
export async function openHaft(folder: string = process.cwd(), options: HostOptions = {}): Promise<HaftHost> {
  const { clock = systemClock, tools = [], middleware = [], ...others } = options;
  const {
    approver,
    approvalWaitMs,
    runsJobs = true,
    connectsMcp = true,
    mcpSignIn,
    agentFor,
    channelKinds = [],
    onWarning,
    ...places
  } = others;
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
    const confinement = await openConfinement(config);
    const workspace = openWorkspace(config.folder, {
      ...config.value.workspace,
      denyGlobs: [...(config.value.workspace.denyGlobs ?? []), ...rules.deniedReadGlobs(config.folder)],
      trustedRepository: trusted.isExplicit,
      seenFiles: store.seenFiles,
      journal,
      ...(confinement.sandbox ? { sandbox: confinement.sandbox } : {}),
      clock,
    });
    if (workspace.unconfined !== undefined) warn(`${UNCONFINED_WARNING}${workspace.unconfined}.`);
    const { audit } = store;
    const artifacts = openArtifacts(config, { store: store.artifacts, workspace, clock });
    const browser = openBrowser(config, { env: places.env ?? process.env, workspace, clock });
    const { renderer } = browser;
    const web = openWeb(config, {
      env: places.env ?? process.env,
      workspace,
      clock,
      render: renderer?.render,
    });
    const { canvas, tools: canvasTools } = openCanvas({ artifacts: artifacts.manager, browser: renderer, clock });
    const messages = openMessages(config, { env: places.env ?? process.env, clock, kinds: channelKinds });
    const queue = openJobQueue(config, { embedded: store.jobs, clock, warn });
    const haft = createHaft({
      ...configuredOptions(config),
      ...(approver ? { approver } : {}),
      ...(approvalWaitMs === undefined
        ? {}
        : { approvalWaitMs: approvalWaitMs === false ? undefined : approvalWaitMs }),
      workspace,
      spill: artifacts.spill,
      rules,
      tools: [...artifacts.tools, ...web.tools, ...browser.tools, ...canvasTools, ...messages.tools, ...tools],
      middleware,
      clock,
      log: audit,
      journal: store.journal,
      jobs: queue,
      worker: runsJobs && { concurrency: config.value.jobs.concurrency },
      approvals: {
        store: auditedApprovals(store.approvals, audit),
        lifetimeMs: config.value.approvals.expireMs,
      },
      taint: { store: store.taint },
      code: { store: store.programs },
      post: postJson,
      requiresApproval: (tool) =>
        reviewStateOf(tool) === "changed"
          ? `The definition of "${tool.name}" changed since it was approved.`
          : undefined,
      onWarning: warn,
      async saveRule(rule) {
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
    const questions = openQuestions(config, { store, clock });
    const namedNet = openNamedNet(config, places.env ?? process.env);
    const mcp = createMcpHub({
      registry: haft.registry,
      servers: connectsMcp ? config.mcpServers : [],
      pins: store.pins,
      signIn: { ...(mcpSignIn ?? NO_SIGN_IN), tokens: store.signIns },
      answerElicitation: questions.ask,
      fetchFor: (server) => namedNet.fetchTo([server.transport === "stdio" ? undefined : server.url]),
      workspace: config.folder,
      allowedPaths: config.value.workspace.allowedPaths ?? [config.folder],
      clock,
    });
    // Where there is no server, models are spared the tools.
    if (config.mcpServers.length > 0) for (const tool of createResourceTools(openResources(mcp))) haft.register(tool);
    const env = places.env ?? process.env;
    const { fetchTo } = namedNet;
    const agents = openAgents(config, { haft, workspace, env, fetchTo, userFolder: userPaths(places).folder });
    const configured = agents.isConfigured
      ? (session: Parameters<AgentFor>[0]) => agents.get(session.agent)
      : undefined;
    const sessions = openSessions({
      haft,
      store,
      environments: workspace.environments,
      clock,
      agentFor: agentFor ? (session) => agentFor(session, haft) : configured,
      settings: config.value.sessions,
      warn,
    });
    const wake: WakeSession = (key, text, { caller }, id) => sessions.sessionService.wake(caller, key, text, id);
    const schedules = openSchedules({ haft, store, clock, wake, warn });
    await usePlugins(haft, config, warn);
    // In its own time: whoever opened the host need not wait for programs of somebody else.
    void haft.recoverPrograms().catch((error: unknown) => warn(`Programs that waited did not go on: ${String(error)}`));
    for (const { undoId } of await undo.recover()) warn(`An undo that was cut off has been finished (${undoId}).`);
    return {
      haft,
      config,
      store,
      workspace,
      undo,
      artifacts: artifacts.manager,
      canvas,
      mcp,
      questions,
      agents,
      sessions,
      schedules,
      channels: messages.channels,
      warnings,
      async close() {
        const ended = schedules.stop();
        await sessions.close();
        await mcp.close();
        await namedNet.close();
        await haft.shutdown();
        await queue.close();
        await ended;
        await browser.close();
        await web.close();
        await confinement.close();
        await messages.close();
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
  const setting = origins.find(({ path, isOverridden }) => path === "audit.enabled" && !isOverridden);
  return new ConfigError([
    {
      file: setting?.file === undefined ? undefined : setting.file,
      line: setting?.file === undefined ? undefined : setting.line,
      path: "audit.enabled",
      message: "The audit log cannot be switched off. Remove this line; `audit.redact` names what it should hide.",
    },
  ]);
}

function untrusted({ untrusted: items, folder }: LoadedConfig): string {
  const many = items.length === 1 ? "1 setting of this folder is" : `${items.length} settings of this folder are`;
  return `${many} not used, because it is not trusted (${folder}). To see and to trust them: haft trust`;
}

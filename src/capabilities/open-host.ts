import { isDeepStrictEqual } from "node:util";
import { type ConfigStatus, type FollowOptions, LiveConfig } from "../config/live-config.ts";
import { type LoadedConfig, untrustedNotice } from "../config/load-config.ts";
import { ConfigError, showProblem } from "../config/problems.ts";
import type { ApiHandlers } from "../contracts/index.ts";
import { type Clock, systemClock, type Timer } from "../core/clock.ts";
import { CloseStack, MAX_CLOSE_STEP_MS, SHORT_CLOSE_STEP_MS } from "../core/close-stack.ts";
import type { MaybePromise } from "../core/stage.ts";
import { misspeltNames } from "../gate/permit/rules/lint-rules.ts";
import { RuleSet } from "../gate/permit/rules/rule-set.ts";
import type { RuleSource } from "../gate/permit/rules/rule.ts";
import type { Undo } from "../io/files/undo.ts";
import type { Schedules } from "../jobs/schedules.ts";
import type { ServerQuestions } from "../mcp/client/elicitation.ts";
import type { McpHub } from "../mcp/client/mcp-hub.ts";
import type { Haft } from "../runtime.ts";
import { openStateFolder } from "../store/open-state-folder.ts";
import type { Store } from "../store/store.ts";
import { STORED_RULES } from "../store/stored-rules.ts";
import type { ArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import type { OpenChannel } from "../tools/message/open-channels.ts";
import type { Workspace } from "../workspace.ts";
import type {
  AnyCapability,
  ApiServices,
  BaseName,
  CapabilityContext,
  CapabilityName,
  HostOptions,
  OpenCapability,
} from "./capability.ts";
import type { CapabilityValues, HostAgents, HostCanvas, HostSessions } from "./capability-values.ts";
import { configuredRules, ruleProblem, ruleSourcesOf } from "./runtime-options.ts";

/** A runtime as a person or a service runs it: configured by files, with a store. */
export interface HaftHost {
  /** The runtime. */
  readonly haft: Haft;
  /** The configuration in effect, with the file and line of each value. It follows its files. */
  readonly config: LoadedConfig;
  /** What is wrong with the files as they are now, and which changed settings need a restart. */
  configStatus(): ConfigStatus;
  /** Resolves when every change of the configuration's files up to now is in effect. Without it, that takes up to two seconds. */
  refreshConfig(): Promise<void>;
  /** The folder of what Haft writes for itself about this workspace. */
  readonly stateFolder: string;
  /** What is remembered beyond this process. */
  readonly store: Store;
  /** The folder and its tools. */
  readonly workspace: Workspace;
  /** Takes back changes of files. */
  readonly undo: Undo;
  /** Versioned documents of every session. */
  readonly artifacts: ArtifactManager;
  /** What agents show to people now. */
  readonly canvas: HostCanvas;
  /** The configured MCP servers. They connect in the background. */
  readonly mcp: McpHub;
  /** Questions of MCP servers to people. */
  readonly questions: ServerQuestions;
  /** The configured agents, with the one of `haft run`. */
  readonly agents: HostAgents;
  /** Stored conversations. A process that calls `start` continues those that were cut off. */
  readonly sessions: HostSessions;
  /** Calls at given times. A process that calls `start` runs them. */
  readonly schedules: Schedules;
  /** The channels of the message tool. */
  readonly channels: readonly OpenChannel[];
  /** Things to know: calls that were lost, changes that were rolled back, settings that are not trusted yet. */
  readonly warnings: readonly string[];
  /** Waits `graceMs` (default: 0), then ends what runs. Tries every step, then rejects with the first failure. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** The members of a host that come with a capability. */
interface CapabilityMembers {
  artifacts: "artifacts";
  canvas: "canvas";
  mcp: "mcp" | "questions";
  agents: "agents";
  sessions: "sessions";
  schedules: "schedules";
  messages: "channels";
}

/** A host that was opened with `only`. */
export type PartialHost<Name extends CapabilityName> = Omit<HaftHost, CapabilityMembers[keyof CapabilityMembers]> &
  Pick<HaftHost, CapabilityMembers[Name & keyof CapabilityMembers]>;

/** A new capability is one file and one line here. Loaded when it is opened. */
export const CAPABILITIES = loadersOf({
  store: async () => (await import("./base.ts")).store,
  confinement: async () => (await import("./confinement.ts")).confinement,
  workspace: async () => (await import("./base.ts")).workspace,
  undo: async () => (await import("./base.ts")).undo,
  jobs: async () => (await import("./jobs.ts")).jobs,
  artifacts: async () => (await import("./artifacts.ts")).artifacts,
  browser: async () => (await import("./browser.ts")).browser,
  web: async () => (await import("./web.ts")).web,
  canvas: async () => (await import("./canvas.ts")).canvas,
  messages: async () => (await import("./messages.ts")).messages,
  runtime: async () => (await import("./base.ts")).runtime,
  mcp: async () => (await import("./mcp.ts")).mcp,
  agents: async () => (await import("./agents.ts")).agents,
  sessions: async () => (await import("./sessions.ts")).sessions,
  schedules: async () => (await import("./schedules.ts")).schedules,
  tokens: async () => (await import("./tokens.ts")).tokens,
  plugins: async () => (await import("./plugins.ts")).plugins,
});
export type CapabilityLoaders = typeof CAPABILITIES;

/** Keeps the names, and not the type of each capability: these depend on each other. */
function loadersOf<Name extends string>(
  loaders: Readonly<Record<Name, () => MaybePromise<AnyCapability>>>,
): Readonly<Record<Name, () => MaybePromise<AnyCapability>>> {
  return loaders;
}

type Name = keyof CapabilityLoaders;
const NAMES = Object.keys(CAPABILITIES) as Name[];
const BASE: readonly BaseName[] = ["store", "workspace", "undo", "runtime"];

/** Opens all or nothing: if a capability fails, those that are open are closed. */
export async function openHost(
  folder: string,
  options: HostOptions & { only?: readonly CapabilityName[] },
  loaders: CapabilityLoaders = CAPABILITIES,
): Promise<HaftHost> {
  const { clock = systemClock, home, env, overrides, only, onWarning } = options;
  const warnings: string[] = [];
  const warn = (warning: string): void => {
    warnings.push(warning);
    // A host runs for months.
    if (warnings.length > MAX_WARNINGS) warnings.splice(MAX_WARNINGS / 2, 1);
    onWarning?.(warning);
  };
  const state = { home, env, stateFolder: options.stateFolder, now: () => clock.now(), onWarning: warn };
  const stateFolder = await openStateFolder(folder, state);
  const user = { home, env, stateFolder };
  const live = await LiveConfig.open({ ...user, folder, overrides });
  const { current: config } = live;
  for (const problem of config.warnings) warn(showProblem(problem));
  if (config.untrusted.length > 0) warn(untrustedNotice(config));
  requireAudit(config);

  const names = new Set<Name>(only === undefined ? NAMES : [...BASE, ...only]);
  // Without it long outputs would be kept elsewhere than configured.
  if (config.value.artifacts.keepOutputs) names.add("artifacts");
  const opened: OpenCapability[] = [];
  const context: OpenContext = {
    config,
    options,
    user,
    stateFolder,
    env: env ?? process.env,
    clock,
    rules: configuredRules(config),
    isPartial: only !== undefined,
    opened,
    warn,
  };
  const closing = new CloseStack({ maxStepMs: options.isShortLived ? SHORT_CLOSE_STEP_MS : MAX_CLOSE_STEP_MS });
  try {
    for (const capability of await inOrder(names, loaders)) {
      const one = await capability.open(context);
      closing.push(capability.name, () => one.close?.());
      opened.push(one);
      Object.assign(context, { [capability.name]: one.value });
      // Tools that were there before the runtime came with it.
      if (capability.name !== "runtime") for (const tool of one.tools ?? []) context.runtime?.register(tool);
    }
  } catch (error) {
    await closing.close().catch(() => undefined);
    throw error;
  }
  warnOfNames(context);
  const watch = live.follow({ clock, warn, ...reloadOf(context) });
  closing.push("files of the configuration", () => watch.close());
  const { runtime: haft, artifacts, mcp, messages: channels } = context;
  // In the background. Only if every tool is there: a program may call any.
  if (only === undefined && haft && !options.isShortLived) {
    const recovery = new Recovery(haft, clock, warn);
    closing.push("recovery", () => recovery.close());
  }
  const { store, workspace, undo, canvas, agents, sessions, schedules } = context;
  const members = {
    ...{ haft, config, stateFolder, store, workspace, undo, artifacts: artifacts?.manager, canvas, mcp: mcp?.hub },
    ...{ questions: mcp?.questions, agents, sessions, schedules, channels, warnings },
    configStatus: () => live.status(),
    refreshConfig: () => watch.look(),
  };
  const close: HaftHost["close"] = async (given) => {
    void watch.close();
    // Turns and schedules continue in another process, so they start no more calls here.
    const stopped = Promise.allSettled([sessions?.close() ?? DONE, schedules?.stop() ?? DONE]);
    // Before the capabilities that its tools use.
    await haft?.shutdown(given);
    await stopped;
    await closing.close();
  };
  const host = { ...members, close } as HaftHost;
  OPENED.set(host, opened);
  return host;
}

type OpenContext = CapabilityContext & Partial<CapabilityValues>;

/** Only if every tool is there. For one command, `haft policy lint` says it. */
function warnOfNames({ runtime, isPartial, options, warn }: OpenContext): void {
  if (!runtime || isPartial || options.isShortLived) return;
  for (const warning of misspeltNames(runtime)) warn(warning);
}

/** How a changed configuration takes effect: all of it, between two calls, or nothing. */
function reloadOf(context: OpenContext): Pick<FollowOptions, "prepare" | "isRule" | "revision" | "hasChanged"> {
  const { config, opened, rules, store } = context;
  let stored: RuleSource | undefined = rules.sources().find(({ origin }) => origin === STORED_RULES);
  let isReading = false;
  let hasChanged = false;
  return {
    async prepare(next) {
      requireAudit(next);
      const sources = new RuleSet([...ruleSourcesOf(next), ...(stored ? [stored] : [])]).sources();
      const steps: ((() => void) | undefined)[] = [];
      for (const capability of opened) steps.push(await capability.reload?.(next));
      return () => {
        rules.load(sources);
        for (const step of steps) step?.();
        warnOfNames(context);
      };
    },
    isRule: (text, list) => ruleProblem(text, list) === undefined,
    revision: () => rules.changes.count,
    hasChanged() {
      if (store?.database.isShared && !isReading) {
        isReading = true;
        // Seen by the next check, so a slow database does not delay changes of files.
        const reading = store.rules.source(config.folder).then((now) => {
          hasChanged ||= !isDeepStrictEqual(now, stored);
          stored = now;
        });
        void reading.catch(() => undefined).finally(() => (isReading = false));
      }
      const was = hasChanged;
      hasChanged = false;
      return was;
    },
  };
}

/** The first half stays: the warnings of the start. */
const MAX_WARNINGS = 200;
const DONE = Promise.resolve();
const RECOVERY_MS = 1000;

/** Runs approved calls and programs that no process takes care of, until it is closed. */
class Recovery {
  readonly #haft: Haft;
  readonly #clock: Clock;
  readonly #warn: (warning: string) => void;
  #timer: Timer | undefined;
  #isClosed = false;
  #hasWarned = false;

  constructor(haft: Haft, clock: Clock, warn: (warning: string) => void) {
    this.#haft = haft;
    this.#clock = clock;
    this.#warn = warn;
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #run(): Promise<void> {
    try {
      await this.#haft.calls.recover();
    } catch (error) {
      if (!this.#hasWarned && !this.#isClosed) this.#warn(`Waiting calls were not resumed: ${String(error)}`);
      this.#hasWarned = true;
    }
    if (this.#isClosed) return;
    this.#timer = this.#clock.after(RECOVERY_MS, () => void this.#run());
    this.#timer.setRef(false);
  }
}

/** Not a member of the host: only the API uses it. */
const OPENED = new WeakMap<object, readonly OpenCapability[]>();

/** The API handlers of the open capabilities of a host. */
export function capabilityHandlers(host: object, services: ApiServices): ApiHandlers {
  const handlers: ApiHandlers[] = (OPENED.get(host) ?? []).map(({ api }) => api?.(services) ?? {});
  return Object.assign({}, ...handlers) as ApiHandlers;
}

/** Those with these names and what they need, each after those that it names. */
async function inOrder(names: ReadonlySet<Name>, loaders: CapabilityLoaders): Promise<AnyCapability[]> {
  const loaded = new Map<Name, AnyCapability>();
  const load = async (name: Name): Promise<void> => {
    if (loaded.has(name)) return;
    const capability = await loaders[name]();
    loaded.set(name, capability);
    for (const needed of capability.needs ?? []) await load(needed);
  };
  for (const name of names) await load(name);

  const ordered = new Set<AnyCapability>();
  const visit = (name: Name, path: readonly Name[]): void => {
    const capability = loaded.get(name);
    if (!capability || ordered.has(capability)) return;
    if (path.includes(name)) throw new Error(`Capabilities depend on each other: ${[...path, name].join(" > ")}`);
    for (const earlier of [...(capability.needs ?? []), ...(capability.uses ?? [])]) visit(earlier, [...path, name]);
    ordered.add(capability);
  };
  for (const name of NAMES) visit(name, []);
  return [...ordered];
}

/** A call is recorded before it has an effect, so the log is required. */
function requireAudit({ origins, value }: LoadedConfig): void {
  if (value.audit.enabled !== false) return;
  const setting = origins.find(({ path, isOverridden }) => path === "audit.enabled" && !isOverridden);
  throw new ConfigError([
    {
      file: setting?.file,
      line: setting?.file === undefined ? undefined : setting.line,
      path: "audit.enabled",
      message: "The audit log cannot be switched off. Remove this line; `audit.redact` names what it should hide.",
    },
  ]);
}

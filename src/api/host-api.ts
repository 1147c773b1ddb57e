import type { AgentCalls } from "../capabilities/agent-calls.ts";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capabilityHandlers, type HaftHost } from "../capabilities/open-host.ts";
import { keeperOf } from "../capabilities/policy-keeper.ts";
import { recentProblems } from "../capabilities/process-guard.ts";
import type { Handlers } from "../contracts/contract.ts";
import type { Identity } from "../contracts/identity.ts";
import type { Contracts } from "../contracts/index.ts";
import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import { STATE_FILES } from "../io/files/state-folder.ts";
import type { Haft } from "../runtime.ts";
import type { Store } from "../store/store.ts";
import type { TokenStore } from "../store/tokens.ts";
import { CallMetrics, type StatisticsQuery } from "./handlers/call-metrics.ts";
import { CallRunner } from "./handlers/call-runner.ts";
import { EventFeed, type FeedOptions, lengthOf } from "./handlers/event-feed.ts";
import { eventOf, StoredCalls } from "./handlers/stored-calls.ts";
import { type CallSource, RecentCalls } from "./handlers/recent-calls.ts";
import type { ReadQuestions } from "./handlers/statistics.ts";
import type { ServerApiOptions } from "./handlers/server.ts";

/** How long events are collected after the last reader left: it may come back. */
const SILENCE_MS = 60_000;
const MAX_RUNNING = 1000;
const RETRY_MS = 500;

/** A host, or a runtime with some of its parts. */
export type ApiHost = {
  readonly haft: Haft;
  readonly store?: Pick<Store, "audit"> & Partial<Pick<Store, "database" | "owners" | "retention">>;
} & Partial<Pick<HaftHost, "config" | "configStatus" | "refreshConfig" | "undo" | "stateFolder" | "workspace">>;

export type Resource = keyof Contracts;

/** Handlers by resource, or functions that load them when they are first used. */
export type HandlerLoaders = {
  readonly [R in Resource]?: () => MaybePromise<Handlers<Contracts[R]>>;
};

export interface HostApiOptions {
  /** Added to those of the host, or used instead of them. */
  handlers?: HandlerLoaders;
  /** Used instead of those of the host. */
  tokens?: TokenStore;
  info?: ServerApiOptions["info"];
  /** Limits of the kept events. */
  events?: FeedOptions;
  /** Whether the server refused requests in the last seconds. */
  isOverloaded?: () => boolean;
}

/**
 * The handlers of the whole API, and what they share. Each resource is loaded when it is first used: a command needs few. It
 * may listen to the events of the runtime until it is closed; the runtime stays open.
 */
export class HostApi {
  readonly startedAt: number;
  readonly feed: EventFeed;
  /** From the store, or the last ones of this process. */
  readonly history: CallSource;
  readonly runner: CallRunner;
  /** For `ServerInfo`. */
  readonly warnings: string[] = [];
  readonly #host: ApiHost;
  readonly #options: HostApiOptions;
  readonly #clock: Clock;
  readonly #metrics = new CallMetrics();
  readonly #loaders: HandlerLoaders;
  readonly #loaded = new Map<Resource, unknown>();
  readonly #stop: () => void;
  #listening: AbortController | undefined;
  #silence: NodeJS.Timeout | undefined;

  constructor(host: ApiHost, options: HostApiOptions = {}) {
    const { haft } = host;
    this.#host = host;
    this.#options = options;
    this.#clock = haft.settings.clock;
    this.startedAt = this.#clock.now();
    this.feed = new EventFeed(this.startedAt, options.events);
    this.runner = new CallRunner(haft);
    const recentCalls = new RecentCalls();
    this.history = host.store ? new StoredCalls(host.store.audit, this.runner) : recentCalls;
    this.#loaders = { ...this.#runtimeLoaders(), ...this.#hostLoaders(), ...options.handlers };
    if (host.store) {
      this.feed.onRead = () => this.#listen();
      this.#stop = haft.on("tool_call_failed", (event) => this.#metrics.note(event));
      return;
    }
    this.#stop = haft.on("*", (event) => {
      const characters = lengthOf(event);
      recentCalls.note(event, characters);
      this.#metrics.note(event);
      // Last: a reader of an event finds the call in its new state.
      this.feed.add(event, characters);
    });
  }

  /** Events cost time in each call, so they are collected only while somebody reads them, and a minute longer. */
  #listen(): void {
    clearTimeout(this.#silence);
    const look = (): void => {
      if (this.feed.readers > 0) this.#silence?.refresh();
      else this.#listening?.abort();
    };
    this.#silence = setTimeout(look, SILENCE_MS);
    this.#silence.unref();
    if (this.#listening && !this.#listening.signal.aborted) return;
    const { haft, store } = this.#host;
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    this.feed.interrupt();
    const stop = haft.on("*", (event) => this.feed.add(event, lengthOf(event)));
    signal.addEventListener("abort", stop, { once: true });
    // Without the store there are the events of this process.
    if (store) void this.#followOthers(store.audit, signal);
  }

  /** Until the signal aborts. If the store cannot be read for a moment, it goes on where it was. */
  async #followOthers(log: Store["audit"], signal: AbortSignal): Promise<void> {
    for (let after: number | undefined; !signal.aborted; await sleep(RETRY_MS, undefined, { ref: false })) {
      try {
        after ??= (await log.head()).count;
        for await (const entry of log.entries({ after, follow: true, signal })) {
          after = entry.seq;
          const event = entry.owner === log.owner ? undefined : eventOf(entry);
          if (event) this.feed.add(event, lengthOf(event));
        }
      } catch {
        // Tried again.
      }
    }
  }

  has(resource: Resource): boolean {
    return this.#loaders[resource] !== undefined;
  }

  /** Loaded once. Arrow: it is passed to clients and to the router. */
  readonly handlersOf = async <R extends Resource>(resource: R): Promise<Handlers<Contracts[R]> | undefined> => {
    const known = this.#loaded.get(resource) ?? this.#loaders[resource]?.();
    this.#loaded.set(resource, known);
    try {
      return await (known as MaybePromise<Handlers<Contracts[R]> | undefined>);
    } catch (error) {
      this.#loaded.delete(resource);
      throw error;
    }
  };

  /** Records what a person does, before it takes effect: if it rejects, nothing is done. */
  readonly record = async (fact: AuditFact): Promise<void> => {
    await this.#host.store?.audit.append(fact, { synced: true });
  };

  /** Answers calls that have not begun: the server is about to close. */
  async endWaitingCalls(): Promise<void> {
    const { items } = await this.history.list({ status: ["running"], limit: MAX_RUNNING });
    const begun = new Set(items.map(({ callId }) => callId));
    this.runner.endWaiting((callId) => begun.has(callId));
  }

  close(): void {
    this.#stop();
    clearTimeout(this.#silence);
    this.#listening?.abort();
  }

  #runtimeLoaders(): HandlerLoaders {
    const { haft, store, undo } = this.#host;
    const { history, runner, feed } = this;
    const metrics = this.#metrics;
    return {
      server: async () => {
        const { createServerApi } = await import("./handlers/server.ts");
        const { info, isOverloaded } = this.#options;
        const { configStatus, stateFolder } = this.#host;
        const { stateOf } = await import("./handlers/configuration.ts");
        const configuration = configStatus && (() => stateOf(configStatus()));
        return createServerApi({
          haft,
          startedAt: this.startedAt,
          info,
          parts: () => this.#parts(),
          describe: (version) => this.#describe(version),
          warnings: () => [...this.warnings, ...recentProblems(haft)],
          health: {
            ...{ database: store?.database, stateFolder, isOverloaded, configuration },
            held: async () => store?.database && (await import("../store/store-hold.ts")).describeHeld(store.database),
            otherRules: async () =>
              store?.owners
                ? (await import("../capabilities/base.ts")).otherRules(store.owners, haft.policy.rules)
                : [],
          },
        });
      },
      tools: async () => {
        const { createToolsApi } = await import("./handlers/tools.ts");
        if (!store) return createToolsApi({ haft, metrics });
        const { verdictOf } = await import("./handlers/policy.ts");
        return createToolsApi({ haft, metrics, verdictOf: (tool: AnyTool) => verdictOf(haft, tool) });
      },
      calls: async () => {
        const { createCallsApi } = await import("./handlers/calls.ts");
        const undoable = undo && (await import("./handlers/undo.ts")).undoableCalls(undo);
        const openQuestions = (identity: Identity) => this.#openQuestions(identity);
        return createCallsApi({ haft, runner, history, undoable, openQuestions });
      },
      approvals: async () => (await import("./handlers/approvals.ts")).createApprovalsApi(haft),
      grants: async () => (await import("./handlers/policy.ts")).createGrantsApi(haft),
      playground: async () => {
        const { createPlaygroundApi } = await import("./handlers/playground.ts");
        if (!store) return createPlaygroundApi({ haft, history });
        const { explainCall } = await import("./handlers/policy.ts");
        return createPlaygroundApi({
          haft,
          history,
          explain: (request, user) => explainCall(haft, request, user),
        });
      },
      statistics: async () => {
        const { auditStatistics, createStatisticsApi } = await import("./handlers/statistics.ts");
        const inMemory = (query: StatisticsQuery) => metrics.show(query, haft.tools.stats().callStats);
        if (!store) return createStatisticsApi(haft, inMemory);
        const ofLog = (query: StatisticsQuery) => auditStatistics(store.audit, query);
        return createStatisticsApi(haft, ofLog, (...given) => this.#questions(store.audit, ...given));
      },
      events: async () => (await import("./handlers/event-feed.ts")).createEventsApi(feed),
    };
  }

  #hostLoaders(): HandlerLoaders {
    const { haft, store, config, configStatus, refreshConfig, undo, stateFolder, workspace } = this.#host;
    const loaders: { -readonly [R in Resource]?: HandlerLoaders[R] } = {};
    const { database, retention } = store ?? {};
    if (store) {
      const { audit } = store;
      let agentCalls: AgentCalls | undefined;
      loaders.audit = async () =>
        (await import("./handlers/audit.ts")).createAuditApi(audit, (name) => haft.tools.registry.get(name));
      loaders.policy = async () => {
        const { answeredCallsOf, createPolicyApi, pastCallsOf, ruleHitsOf, ruleLinesOf } =
          await import("./handlers/policy.ts");
        const file =
          stateFolder === undefined || store.database?.isShared ? undefined : join(stateFolder, STATE_FILES.rules);
        const { createShadowApi } = await import("./handlers/policy-shadow.ts");
        const pastCalls = pastCallsOf(audit);
        const keeper = keeperOf(haft);
        const rules = createPolicyApi(haft, {
          record: this.record,
          pastCalls,
          ruleHits: ruleHitsOf(audit, () => haft.approvals.list("pending")),
          answeredCalls: answeredCallsOf(audit),
          mapCall:
            workspace &&
            (async (agent, call) => {
              const { AgentCalls } = await import("../capabilities/agent-calls.ts");
              agentCalls ??= new AgentCalls({ haft, workspace, audit, user: "" });
              return agentCalls.toolsFor(agent, call);
            }),
          lineOf: config && ruleLinesOf(config),
          savedLines:
            file === undefined
              ? undefined
              : async () => (await import("../config/saved-rules.ts")).savedRuleLines(file),
          file,
          untrustedRules: () =>
            config?.untrusted.flatMap(({ rule, file: from, line }) =>
              rule === undefined ? [] : [{ rule, file: from, line }],
            ) ?? [],
        });
        return {
          ...rules,
          ...createShadowApi(haft, { keeper, record: this.record, pastCalls, refresh: refreshConfig }),
        };
      };
    }
    if (database && retention && stateFolder !== undefined) {
      loaders.store = async () => {
        const [{ createStoreApi }, { retentionOf }] = await Promise.all([
          import("./handlers/store.ts"),
          import("../store/retention.ts"),
        ]);
        const limits = retentionOf(config?.value.store.retention);
        return createStoreApi({ store: { database, retention }, limits, stateFolder, record: this.record });
      };
    }
    if (config) {
      loaders.configuration = async () =>
        (await import("./handlers/configuration.ts")).createConfigurationApi(config, {
          status: configStatus,
          refresh: refreshConfig,
        });
    }
    if (undo) loaders.undo = async () => (await import("./handlers/undo.ts")).createUndoApi(undo);
    const handlers = capabilityHandlers(this.#host, { haft, start: this.runner.start, record: this.record });
    const open = Object.entries(handlers).map(([resource, value]) => [resource, () => value] as const);
    Object.assign(loaders, Object.fromEntries(open));
    const { tokens } = this.#options;
    if (tokens) {
      loaders.tokens = async () => {
        const { createTokensApi } = await import("../capabilities/tokens.ts");
        return createTokensApi({ tokens, clock: this.#clock, record: this.record });
      };
    }
    return loaders;
  }

  async #questions(log: Store["audit"], ...[query, request]: Parameters<ReadQuestions>) {
    const { questionStatistics } = await import("./handlers/question-statistics.ts");
    const policy = await this.handlersOf("policy");
    const [found, proposed] = await Promise.all([
      questionStatistics(log, query),
      policy?.proposals({ ...request, query: { from: query.from } }),
    ]);
    const items = proposed?.items ?? [];
    const saved = items.reduce((sum, each) => sum + each.saved, 0);
    return { ...found, proposals: { count: items.length, saved } };
  }

  /** Of MCP servers: by the ids of the calls that wait for their answers. */
  async #openQuestions(identity: Identity): Promise<ReadonlyMap<string, string>> {
    const { signal } = new AbortController();
    const questions = await this.handlersOf("questions");
    const request = { params: {}, query: { state: "open" as const }, body: undefined, identity, signal };
    const open = await questions?.list({ ...request, setHeader: () => undefined });
    return new Map(open?.items.flatMap(({ id, callIds = [] }) => callIds.map((callId) => [callId, id] as const)));
  }

  #parts(): string[] {
    const ofEveryServer = new Set([...Object.keys(this.#runtimeLoaders()), "session"]);
    return Object.keys(this.#loaders).filter((resource) => !ofEveryServer.has(resource));
  }

  async #describe(version: string): Promise<Record<string, unknown>> {
    const { describeApi } = await import("./openapi.ts");
    const { contracts } = await import("../contracts/index.ts");
    const present = Object.entries(contracts).filter(([resource]) => this.has(resource as Resource));
    return describeApi(Object.fromEntries(present), { version });
  }
}

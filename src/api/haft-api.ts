/** The handlers of the whole API for one runtime, and what they share. */
import type { ApiHandlers } from "../contracts/index.ts";
import type { ExplainRequest, Explanation } from "../contracts/policy.ts";
import type { Verdict } from "../contracts/basics.ts";
import type { AnyTool } from "../core/tool.ts";
import type { AuditFact } from "../gate/audit-log.ts";
import { capabilityHandlers, type HaftHost } from "../capabilities/open-host.ts";
import { createTokensApi } from "../capabilities/tokens.ts";
import type { Haft } from "../runtime.ts";
import type { TokenStore } from "../store/tokens.ts";
import { createApprovalsApi } from "./handlers/approvals.ts";
import { createAuditApi } from "./handlers/audit.ts";
import { CallMetrics } from "./handlers/call-metrics.ts";
import { CallRunner } from "./handlers/call-runner.ts";
import { createCallsApi } from "./handlers/calls.ts";
import { createConfigurationApi } from "./handlers/configuration.ts";
import { estimateLength, EventFeed, type FeedOptions } from "./handlers/event-feed.ts";
import { createEventsApi } from "./handlers/events.ts";
import { createPlaygroundApi } from "./handlers/playground.ts";
import { createPolicyApi, explainCall, pastCallsOf, verdictOf } from "./handlers/policy.ts";
import { RecentCalls } from "./handlers/recent-calls.ts";
import { createServerApi, type ServerApiOptions } from "./handlers/server.ts";
import { auditStatistics, createStatisticsApi, type ReadStatistics } from "./handlers/statistics.ts";
import { createToolsApi } from "./handlers/tools.ts";
import { createUndoApi, undoableCalls } from "./handlers/undo.ts";

export interface HaftApiOptions {
  /** Of optional resources. They replace those of the runtime. */
  handlers?: ApiHandlers;
  /** Omitted: the API has no tokens. */
  tokens?: TokenStore;
  info?: ServerApiOptions["info"];
  /** Limits of the kept events. */
  events?: FeedOptions;
  /** Shared with the handlers of optional resources, so their calls can be cancelled. */
  runner?: CallRunner;
  /** Records what people do, before it takes effect: if it rejects, nothing is done. */
  record?(fact: AuditFact): Promise<void>;
  undoable?(callIds: readonly string[]): Promise<ReadonlySet<string>>;
  verdictOf?(tool: AnyTool): Verdict | undefined;
  explain?(request: ExplainRequest, user: string): Explanation;
  /** Default: the calls of this process. */
  readStatistics?: ReadStatistics;
}

/** Listens to the events of the runtime until it is closed. The runtime stays open. */
export interface HaftApi {
  readonly handlers: ApiHandlers;
  readonly startedAt: number;
  readonly feed: EventFeed;
  readonly recentCalls: RecentCalls;
  readonly runner: CallRunner;
  readonly record: HaftApiOptions["record"];
  /** For `ServerInfo.warnings`. */
  readonly warnings: string[];
  close(): void;
}

/** The API of a runtime without a host: tools, calls, approvals, events, statistics, and the given handlers. */
export function createHaftApi(haft: Haft, options: HaftApiOptions = {}): HaftApi {
  const { clock } = haft;
  const { tokens, info, record, runner = new CallRunner(haft) } = options;
  const startedAt = clock.now();
  const feed = new EventFeed(startedAt, options.events);
  const recentCalls = new RecentCalls();
  const metrics = new CallMetrics();
  const warnings: string[] = [];
  const stop = haft.on("*", (event) => {
    const characters = estimateLength(event);
    recentCalls.note(event, characters);
    metrics.note(event);
    // Last: a reader of an event finds the call in its new state.
    feed.add(event, characters);
  });
  const inMemory: ReadStatistics = (query) => metrics.show(query, haft.getStats().callStats);
  const handlers: ApiHandlers = {
    server: createServerApi({
      haft,
      startedAt,
      info,
      handlers: () => handlers,
      describe: (version) => describe(handlers, version),
      warnings: () => warnings,
    }),
    tools: createToolsApi({ haft, metrics, verdictOf: options.verdictOf }),
    calls: createCallsApi({ haft, runner, recentCalls, undoable: options.undoable }),
    approvals: createApprovalsApi(haft),
    playground: createPlaygroundApi({ haft, recentCalls, explain: options.explain }),
    statistics: createStatisticsApi(haft, options.readStatistics ?? inMemory),
    events: createEventsApi(feed),
    ...options.handlers,
    ...(tokens && { tokens: createTokensApi({ tokens, clock, record }) }),
  };
  return { handlers, startedAt, feed, recentCalls, runner, record, warnings, close: stop };
}

async function describe(handlers: ApiHandlers, version: string): Promise<Record<string, unknown>> {
  // Only one endpoint needs them.
  const { describeApi } = await import("./openapi.ts");
  const { contracts } = await import("../contracts/index.ts");
  const own = new Map(Object.entries(handlers));
  const present = Object.entries(contracts).filter(([resource]) => own.get(resource) !== undefined);
  return describeApi(Object.fromEntries(present), { version });
}

/** The API of a host: everything that it has. */
export function createHostApi(
  host: HaftHost,
  options: Pick<HaftApiOptions, "handlers" | "tokens" | "info" | "events" | "runner"> = {},
): HaftApi {
  const { haft, store, undo, config } = host;
  const { audit } = store;
  const { runner = new CallRunner(haft) } = options;
  const record = (fact: AuditFact): Promise<void> => audit.append(fact, { synced: true });
  return createHaftApi(haft, {
    tokens: options.tokens,
    info: options.info,
    events: options.events,
    runner,
    record,
    undoable: undoableCalls(undo),
    verdictOf: (tool) => verdictOf(haft, tool),
    explain: (request, user) => explainCall(haft, request, user),
    readStatistics: (query) => auditStatistics(audit, query),
    handlers: {
      policy: createPolicyApi(haft, pastCallsOf(audit)),
      audit: createAuditApi(audit),
      undo: createUndoApi(undo),
      configuration: createConfigurationApi(config),
      ...capabilityHandlers(host, { haft, start: runner.start, record }),
      ...options.handlers,
    },
  });
}

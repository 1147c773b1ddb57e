import { continueCall, runtimeGateOf } from "../core/gate.ts";
import { randomUUID } from "node:crypto";
import { ClientTools } from "../models/client-tools.ts";
import type { Haft } from "../runtime.ts";
import type { OriginPolicy } from "./allowed-places.ts";
import { crossOrigin } from "./answer-request.ts";
import { RecentCalls } from "./call-book.ts";
import { CallMetrics } from "./call-numbers.ts";
import type { ApiContext } from "./door.ts";
import { EventFeed, type FeedOptions } from "./event-feed.ts";
import { FailureLimit } from "./failure-limit.ts";
import type { HostCapabilities } from "./host-parts.ts";
import { RESOURCES } from "./resources.ts";
import type { Resource, Route } from "./route.ts";
import { CallRunner } from "./runs.ts";
import { API_HEADERS } from "./security-headers.ts";
import { type StreamLimits, Streams } from "./streams.ts";
import type { TokenStore } from "./tokens.ts";

export interface ApiContextOptions {
  tokens: TokenStore;
  parts?: HostCapabilities;
  info?: Partial<ApiContext["info"]>;
  /** Further resources, of capabilities that bring their own. */
  resources?: readonly Resource<ApiContext>[];
  limits?: StreamLimits & { events?: FeedOptions; failures?: { burst?: number; refillMs?: number } };
  warnings: readonly string[];
  secure: boolean;
  /** Both are known once the server listens. */
  cookieName(): string;
  originPolicy(): OriginPolicy;
}

export interface CreatedApiContext {
  api: ApiContext;
  resources: readonly Resource<ApiContext>[];
  routes: readonly Route[];
  /** Lets it hear what happens; answers how to stop. */
  listen(): () => void;
}

/** What there is to be asked, however it is reached. */
export function createApiContext(haft: Haft, options: ApiContextOptions): CreatedApiContext {
  const { tokens, limits = {}, warnings, secure, cookieName, originPolicy } = options;
  const { clock } = haft;
  const startedAt = clock.now();
  const feed = new EventFeed(startedAt, limits.events);
  const recentCalls = new RecentCalls();
  const numbers = new CallMetrics();
  feed.observe((event, characters) => recentCalls.note(event, characters));
  feed.observe((event) => numbers.note(event));
  const api: ApiContext = {
    haft,
    clock,
    parts: options.parts ?? {},
    tokens,
    feed,
    recentCalls,
    numbers,
    runs: new CallRunner(haft, recentCalls),
    clients: new ClientTools({
      registry: haft.registry,
      onPending: (listener) => haft.on("tool_call_pending", ({ result }) => listener(result)),
      clock,
      continueCall: (call, id) => continueCall(runtimeGateOf(haft), haft.registry, call, { kind: "client", id }),
      newId: () => `ask_${randomUUID()}`,
    }),
    streams: new Streams(clock, limits),
    limit: new FailureLimit(clock, limits.failures),
    startedAt,
    warnings,
    info: { version: "unknown", ...options.info },
    secure,
    get cookieName() {
      return cookieName();
    },
    streamHeaders: (incoming) => ({ ...API_HEADERS, ...crossOrigin(incoming, originPolicy()) }),
    async openApi() {
      const { describeApi } = await import("./open-api.ts");
      return describeApi(routes, { version: api.info.version });
    },
  };
  const resources = [...RESOURCES, ...(options.resources ?? [])];
  const routes = resources.flatMap((resource) => resource.routes(api));
  return { api, resources, routes, listen: () => haft.on("*", (event) => feed.add(event)) };
}

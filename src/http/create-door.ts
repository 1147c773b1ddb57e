import { randomUUID } from "node:crypto";
import { ClientTools } from "../agent/client-tools.ts";
import type { Haft } from "../runtime.ts";
import type { AllowedPlaces } from "./allowed-places.ts";
import { crossOrigin } from "./answer-request.ts";
import { CallBook } from "./call-book.ts";
import { CallNumbers } from "./call-numbers.ts";
import type { Door } from "./door.ts";
import { EventFeed, type FeedOptions } from "./event-feed.ts";
import { FailureLimit } from "./failure-limit.ts";
import type { HostParts } from "./host-parts.ts";
import { RESOURCES } from "./resources.ts";
import type { Resource, Route } from "./route.ts";
import { Runs } from "./runs.ts";
import { API_HEADERS } from "./security-headers.ts";
import { type StreamLimits, Streams } from "./streams.ts";
import type { TokenStore } from "./tokens.ts";

export interface DoorOptions {
  tokens: TokenStore;
  parts?: HostParts;
  info?: Partial<Door["info"]>;
  /** Further resources, of capabilities that bring their own. */
  resources?: readonly Resource<Door>[];
  limits?: StreamLimits & { events?: FeedOptions; failures?: { burst?: number; refillMs?: number } };
  warnings: readonly string[];
  secure: boolean;
  /** Both are known once the server listens. */
  cookieName(): string;
  places(): AllowedPlaces;
}

export interface CreatedDoor {
  door: Door;
  resources: readonly Resource<Door>[];
  routes: readonly Route[];
  /** Lets it hear what happens; answers how to stop. */
  listen(): () => void;
}

/** What there is to be asked, however it is reached. */
export function createDoor(haft: Haft, options: DoorOptions): CreatedDoor {
  const { tokens, limits = {}, warnings, secure, cookieName, places } = options;
  const { clock } = haft.executor;
  const startedAt = clock.now();
  const feed = new EventFeed(startedAt, limits.events);
  const book = new CallBook();
  const numbers = new CallNumbers();
  feed.observe((event, characters) => book.note(event, characters));
  feed.observe((event) => numbers.note(event));
  const door: Door = {
    haft,
    clock,
    parts: options.parts ?? {},
    tokens,
    feed,
    book,
    numbers,
    runs: new Runs(haft, book),
    clients: new ClientTools({
      registry: haft.registry,
      onPending: (listener) => haft.on("tool_call_pending", ({ result }) => listener(result)),
      clock,
      continueCall: (call, id) => haft.executor.continueCall(call, { kind: "client", id }),
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
    streamHeaders: (incoming) => ({ ...API_HEADERS, ...crossOrigin(incoming, places()) }),
    async openApi() {
      const { describeApi } = await import("./open-api.ts");
      return describeApi(routes, { version: door.info.version });
    },
  };
  const resources = [...RESOURCES, ...(options.resources ?? [])];
  const routes = resources.flatMap((resource) => resource.routes(door));
  return { door, resources, routes, listen: () => haft.on("*", (event) => feed.add(event)) };
}

import type { IncomingMessage } from "node:http";
import type { ClientTools } from "../models/client-tools.ts";
import type { Clock } from "../core/clock.ts";
import type { Haft } from "../runtime.ts";
import type { RecentCalls } from "./call-book.ts";
import type { CallMetrics } from "./call-numbers.ts";
import type { EventFeed } from "./event-feed.ts";
import type { FailureLimit } from "./failure-limit.ts";
import type { HostCapabilities } from "./host-parts.ts";
import type { CallRunner } from "./runs.ts";
import type { Streams } from "./streams.ts";
import type { TokenStore } from "./tokens.ts";
import type { ServerInfo } from "./wire.ts";

/** Everything a resource may use. */
export interface ApiContext {
  readonly haft: Haft;
  readonly clock: Clock;
  readonly parts: HostCapabilities;
  readonly tokens: TokenStore;
  readonly feed: EventFeed;
  readonly recentCalls: RecentCalls;
  readonly numbers: CallMetrics;
  readonly runs: CallRunner;
  /** Tools that run at clients of the WebSocket. */
  readonly clients: ClientTools;
  readonly streams: Streams;
  readonly limit: FailureLimit;
  readonly startedAt: number;
  readonly warnings: readonly string[];
  readonly info: Pick<ServerInfo, "version" | "workspace" | "store" | "sandbox">;
  readonly secure: boolean;
  /** Known once the server listens. */
  readonly cookieName: string;
  streamHeaders(incoming: IncomingMessage): Readonly<Record<string, string>>;
  openApi(): Promise<unknown>;
}

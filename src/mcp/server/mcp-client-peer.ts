import type { ClientCapabilities, InputRequests, LoggingLevel } from "@modelcontextprotocol/server";

/** The client that made a request, for what serves it. */
export interface McpClientPeer {
  readonly capabilities: ClientCapabilities;
  /**
   * Asks the client, or the person at it, and waits. In the modern revision the client is answered that it is asked, and
   * makes its request again with the answers; the caller of this function waits through that.
   */
  ask(requests: InputRequests): Promise<Readonly<Record<string, unknown>>>;
  /** Told to clients that want to hear it. */
  log(level: LoggingLevel, data: unknown): Promise<void>;
}

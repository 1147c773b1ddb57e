import type {
  ClientCapabilities,
  ElicitRequestFormParams,
  InputRequest,
  LoggingLevel,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import type { Update } from "../../core/event.ts";
import { createProgress } from "./tell-progress.ts";

/** One request of a client, in either era. */
export interface Round {
  readonly isModern: boolean;
  readonly capabilities: ClientCapabilities;
  /** As the client calls itself: for a person to read, never to decide by. */
  readonly clientName: string;
  /** What the client answers to earlier questions. Not checked. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** What it was given to hold meanwhile. Not checked. */
  readonly state: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  progress(update: Update): void;
  log(level: LoggingLevel, data: unknown): Promise<void>;
  /** Asks the client over its connection, which only the older era can. */
  push(request: InputRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<unknown>;
}

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

export function readRound(context: ServerContext, server: Server, clock: Clock): Round {
  const { mcpReq } = context;
  const { envelope } = mcpReq;
  const isModern = envelope !== undefined;
  const meta = envelope as { [CAPABILITIES]?: ClientCapabilities; [CLIENT_INFO]?: { name: string } } | undefined;
  const capabilities = meta ? meta[CAPABILITIES] : server.getClientCapabilities();
  const client = meta ? meta[CLIENT_INFO] : server.getClientVersion();
  const state: unknown = mcpReq.requestState();
  return {
    isModern,
    capabilities: capabilities ?? {},
    clientName: client?.name ?? "unknown",
    responses: mcpReq.inputResponses ?? {},
    state: typeof state === "string" ? state : undefined,
    meta: mcpReq._meta ?? {},
    signal: mcpReq.signal,
    progress: createProgress(context, clock),
    log: (level, data) => mcpReq.log(level, data).catch(() => undefined),
    push(request, { signal, timeoutMs }) {
      const options = { signal, timeout: timeoutMs };
      switch (request.method) {
        case "elicitation/create":
          return mcpReq.elicitInput(request.params as ElicitRequestFormParams, options);
        case "sampling/createMessage":
          return mcpReq.requestSampling(request.params, options);
        case "roots/list":
          return mcpReq.send({ method: "roots/list" }, options);
      }
    },
  };
}

/** Whether a person at the client can be shown a form. A bare `elicitation: {}` means forms. */
export function canShowForm({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

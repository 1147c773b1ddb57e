import type {
  ClientCapabilities,
  ElicitRequestFormParams,
  InputRequest,
  LoggingLevel,
  ProgressNotification,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import type { Update } from "../../core/events.ts";
import { supportsTasks } from "../task-protocol.ts";

/** One request of a client, in either era. */
export interface Round {
  readonly isModern: boolean;
  readonly capabilities: ClientCapabilities;
  /** Whether the client follows a job as a task. */
  readonly followsTasks: boolean;
  /** The name that the client gives itself. For display only, because it is not verified. */
  readonly clientName: string;
  /** The client's answers to earlier input requests. Not checked. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** The request state that the client returns. Not checked. */
  readonly state: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  progress(update: Update): void;
  log(level: LoggingLevel, data: unknown): Promise<void>;
  /** Sends a request to the client over its connection. Only for legacy clients. */
  push(request: InputRequest, options: PushOptions): Promise<unknown>;
}

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

export function readRound(context: ServerContext, server: Server, clock: Clock): Round {
  const { mcpReq } = context;
  const { envelope } = mcpReq;
  const isModern = envelope !== undefined;
  // The SDK does not type the keys of the envelope.
  const meta = envelope as { [CAPABILITIES]?: ClientCapabilities; [CLIENT_INFO]?: { name: string } } | undefined;
  const capabilities = (meta ? meta[CAPABILITIES] : server.getClientCapabilities()) ?? {};
  const client = meta ? meta[CLIENT_INFO] : server.getClientVersion();
  const state: unknown = mcpReq.requestState();
  return {
    isModern,
    capabilities,
    followsTasks: isModern && supportsTasks(capabilities),
    clientName: client?.name ?? "unknown",
    responses: mcpReq.inputResponses ?? {},
    state: typeof state === "string" ? state : undefined,
    meta: mcpReq._meta ?? {},
    signal: mcpReq.signal,
    progress: createProgress(mcpReq._meta?.progressToken, (notification) => mcpReq.notify(notification), clock),
    log: (level, data) => mcpReq.log(level, data).catch(() => undefined),
    push(request, options) {
      if (request.method !== "roots/list") return pushToClient(server, request, options);
      // Over HTTP it must belong to the stream of this request.
      return mcpReq.send({ method: "roots/list" }, { signal: options.signal, timeout: options.timeoutMs });
    },
  };
}

/** A call of a legacy client that does not pass the protocol layer of the SDK. */
export function createLegacyRound({
  server,
  clock,
  ...request
}: Pick<Round, "meta" | "signal"> & { server: Server; clock: Clock }): Round {
  return {
    isModern: false,
    capabilities: server.getClientCapabilities() ?? {},
    followsTasks: false,
    clientName: server.getClientVersion()?.name ?? "unknown",
    responses: {},
    state: undefined,
    ...request,
    progress: createProgress(request.meta["progressToken"], (notification) => server.notification(notification), clock),
    log: (level, data) => server.sendLoggingMessage({ level, data }).catch(() => undefined),
    push: (request, options) => pushToClient(server, request, options),
  };
}

interface PushOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** The answer to a form is returned even if it does not match the form: the caller says what is wrong with it. */
  isUnchecked?: boolean;
}

/** Sends a request to a legacy client over its connection. */
function pushToClient(
  server: Server,
  request: InputRequest,
  { signal, timeoutMs, isUnchecked }: PushOptions,
): Promise<unknown> {
  const options = { signal, timeout: timeoutMs };
  switch (request.method) {
    case "elicitation/create":
      if (isUnchecked) return server.request(request, options);
      return server.elicitInput(request.params as ElicitRequestFormParams, options);
    case "sampling/createMessage":
      return server.createMessage(request.params, options);
    case "roots/list":
      return server.listRoots(undefined, options);
  }
}

/** Whether the client can show a form to a person. An empty `elicitation: {}` means forms. */
export function canShowForm({ elicitation }: ClientCapabilities): boolean {
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** A tool may print a thousand lines a second, so progress is limited. */
const MIN_INTERVAL_MS = 20;
const MAX_MESSAGE_LENGTH = 500;

const NO_PROGRESS = (): void => undefined;

/** Reports updates of a tool as increasing progress. Does nothing if the client did not request progress. */
function createProgress(
  progressToken: unknown,
  notify: (notification: ProgressNotification) => Promise<void>,
  clock: Clock,
): (update: Update) => void {
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return NO_PROGRESS;
  let last = Number.NEGATIVE_INFINITY;
  let reportedAt = Number.NEGATIVE_INFINITY;

  return ({ progress, content }) => {
    const message = progress?.message ?? (content && textOf(content));
    const value = progress?.done ?? Math.max(0, last + 1);
    const isEnd = progress?.total !== undefined && value >= progress.total;
    const now = clock.monotonic();
    if (value <= last || (!isEnd && now - reportedAt < MIN_INTERVAL_MS)) return;
    last = value;
    reportedAt = now;
    const params = {
      progressToken,
      progress: value,
      total: progress?.total,
      message: message ? message.slice(0, MAX_MESSAGE_LENGTH) : undefined,
    };
    // Lost progress does not matter.
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** Waits while the client waits. Returns undefined if the client has cancelled or would time out soon. */
export async function waitWithClient<T>(
  client: AbortSignal,
  { holdMs, clock }: { holdMs: number; clock: Clock },
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (client.aborted) abort();
  client.addEventListener("abort", abort, { once: true });
  const timer = clock.after(holdMs, abort);
  try {
    return await wait(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
    client.removeEventListener("abort", abort);
  }
}

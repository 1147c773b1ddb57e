import type { Client, Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { McpServerConfig } from "../server-config.ts";
import { answerServer, capabilitiesOf, type ServerAnswers } from "./server-requests.ts";
import { schemaChecker } from "./server-schemas.ts";
import type { StdioTransport } from "./stdio-transport.ts";
import { followTasks } from "./task-polling.ts";
import { openTransport, type TransportKind, type TransportOptions } from "./transports.ts";

/** The events of a connection. */
export interface ConnectionEvents {
  /** A connection over this transport is attempted. */
  opening(transport: Transport): void;
  listChanged(what: "tools" | "prompts" | "resources"): void;
  resourceUpdated(uri: string): void;
  log(level: string, data: unknown): void;
  /** Every message that is sent, and every one that is accepted. */
  message(direction: "sent" | "received", message: Message): void;
  /** A harmless protocol violation of the server. */
  fault(message: string): void;
  closed(): void;
}

export interface ConnectionOptions extends TransportOptions, ServerAnswers {
  workspace: string;
  clock: Clock;
  clientInfo: { name: string; version: string };
  events: ConnectionEvents;
  timeoutMs: number;
  /** The server supports no modern revision, so the negotiation is skipped. */
  isLegacy: boolean;
  signal: AbortSignal;
}

export interface Connection {
  client: Client;
  transport: Transport;
  kind: TransportKind | "given";
}

const MODERN_REVISION = "2026-07-28";

export async function openConnection(server: McpServerConfig, options: ConnectionOptions): Promise<Connection> {
  const sdk = await loadClientSdk();
  const attempt = async (kind: TransportKind, isLegacy: boolean): Promise<Connection> => {
    const transport = await openTransport(sdk, server, kind, options);
    const client = await connect(sdk, server, transport, { ...options, isLegacy: isLegacy || kind === "sse" });
    return { client, transport, kind };
  };
  const { transport: kind } = server;
  const isLegacy = options.isLegacy || server.era === "legacy";
  try {
    return await attempt(kind, isLegacy);
  } catch (error) {
    if (options.signal.aborted) throw error;
    // Some servers exit on a request before `initialize`, but work without it.
    if (kind === "stdio" && !isLegacy && server.era !== "modern" && isNegotiationFailure(error))
      return attempt(kind, true);
    if (kind === "http" && server.era !== "modern" && lacksStreamableHttp(error)) return attempt("sse", true);
    throw error;
  }
}

export async function connectGiven(
  server: string,
  transport: Transport,
  options: ConnectionOptions,
): Promise<Connection> {
  const sdk = await loadClientSdk();
  const config: McpServerConfig = { name: server, transport: "http", url: "" };
  return { client: await connect(sdk, config, transport, options), transport, kind: "given" };
}

async function connect(
  sdk: ClientSdk,
  server: McpServerConfig,
  transport: Transport,
  options: ConnectionOptions,
): Promise<Client> {
  const { events, timeoutMs, signal, isLegacy } = options;
  events.opening(transport);
  const client = createSdkClient(sdk, server, options);
  const tasks = followTasks(transport, { ...options, client, server: server.name });
  const record: Intercept = (message) => {
    events.message("received", message);
    return true;
  };
  recordSent(transport, events);
  interceptMessages(transport, [limitNotifications(options.clock, events.fault), record, tasks]);
  answerServer(client, server.name, options);
  client.setNotificationHandler("notifications/message", ({ params }) => events.log(params.level, params.data));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => events.resourceUpdated(params.uri));
  client.onerror = (error) => events.fault(error.message);
  const giveUp = (): void => void transport.close().catch(() => undefined);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await client.connect(transport, { timeout: timeoutMs, signal, prior: isLegacy ? { kind: "legacy" } : undefined });
  } catch (error) {
    await transport.close().catch(() => undefined);
    throw withStderr(error, transport);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
  client.onclose = () => events.closed();
  return client;
}

function createSdkClient(sdk: ClientSdk, server: McpServerConfig, options: ConnectionOptions): Client {
  const { events, timeoutMs } = options;
  const changed = (what: "tools" | "prompts" | "resources") => ({
    autoRefresh: false,
    debounceMs: 100,
    onChanged: () => events.listChanged(what),
  });
  const isStdio = server.transport === "stdio";
  return new sdk.Client(options.clientInfo, {
    capabilities: capabilitiesOf(options),
    jsonSchemaValidator: schemaChecker(),
    // An old server may not answer an unknown request, and a new one may take long to start: each gets half of the time.
    versionNegotiation:
      server.era === "modern"
        ? { mode: { pin: MODERN_REVISION } }
        : { mode: "auto", probe: { timeoutMs: isStdio ? timeoutMs / 2 : timeoutMs } },
    listChanged: { tools: changed("tools"), prompts: changed("prompts"), resources: changed("resources") },
  });
}

function isNegotiationFailure(error: unknown): boolean {
  const { code } = isObject(error) ? error : {};
  return code === "ERA_NEGOTIATION_FAILED" || code === "CONNECTION_CLOSED";
}

/** The status codes by which the specification recognises a server of 2024. */
function lacksStreamableHttp(error: unknown): boolean {
  const { data } = isObject(error) ? error : {};
  const { status } = isObject(data) ? data : {};
  return status === 400 || status === 404 || status === 405;
}

/** Adds the reason that the standard error contains. */
function withStderr(error: unknown, transport: Transport): unknown {
  if (!isStdio(transport) || !(error instanceof Error)) return error;
  const lines = linesWithCause(transport.stderrLines()).join(" / ");
  const details = [transport.ending, lines && `standard error: ${lines}`].filter(Boolean).join("; ");
  if (details) error.message = `${error.message} (${details})`;
  if (transport.isConfined) {
    const advice = 'It runs confined; to see whether that is the reason, add "sandbox": false to its entry.';
    error.message = `${error.message}. ${transport.explainRefusal() ?? advice}`;
  }
  return error;
}

const SHOWN_LINES = 3;
const ERROR_LINE =
  /^\s*(?:npm (?:error|ERR!) (?!A complete log)|(?:uncaught )?[\w.$]*(?:error|exception)\b[^:]{0,40}:|(?:fatal|panic)\b)/i;

/** The last error and what follows it; else the end. Programs print their stack, their version or the place of a log after the error. */
export function linesWithCause(lines: readonly string[]): readonly string[] {
  let at = lines.findLastIndex((line) => ERROR_LINE.test(line));
  if (at < 0) return lines.slice(-SHOWN_LINES);
  while (at > 0 && ERROR_LINE.test(lines[at - 1] ?? "")) at -= 1;
  const shown = lines.slice(at, at + SHOWN_LINES);
  const stack = shown.findIndex((line) => /^\s+at /.test(line));
  return stack < 0 ? shown : shown.slice(0, stack);
}

export function isStdio(transport: Transport): transport is StdioTransport {
  return "stderrLines" in transport;
}

type OnMessage = NonNullable<Transport["onmessage"]>;
export type Message = Parameters<OnMessage>[0];
/** Returns whether the SDK gets the message now. `deliver` passes a message to it later. */
export type Intercept = (message: Message, deliver: (message: Message) => void) => boolean;

function recordSent(transport: Transport, events: Pick<ConnectionEvents, "message">): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    events.message("sent", message);
    return send(message, options);
  };
}

/** Examines the messages of a server before the SDK does. */
function interceptMessages(transport: Transport, intercepts: readonly Intercept[]): void {
  let handler: OnMessage | undefined;
  // The SDK sets the handler when it connects, and another one during the negotiation.
  Object.defineProperty(transport, "onmessage", {
    get: () => handler,
    set(last: OnMessage | undefined) {
      const next = last && afterNotifications(last);
      handler =
        next &&
        ((message, extra) => {
          for (const passes of intercepts) if (!passes(message, next)) return;
          next(message, extra);
        });
    },
  });
}

/**
 * Holds what arrives together with a notification until its handler has run: the SDK runs it one microtask later, and with the
 * response of a call it forgets who follows its progress.
 */
function afterNotifications(next: OnMessage): OnMessage {
  let held: Parameters<OnMessage>[] | undefined;
  return (message, extra) => {
    if (held) held.push([message, extra]);
    else if ("id" in message) next(message, extra);
    else void deliver((held = [[message, extra]]));
  };

  async function deliver(messages: Parameters<OnMessage>[]): Promise<void> {
    for (const [message, extra] of messages) {
      next(message, extra);
      if (!("id" in message)) await Promise.resolve();
    }
    held = undefined;
  }
}

/** Notifications that must not be lost, because they are not repeated. */
const UNLIMITED = /list_changed$|^notifications\/(cancelled|subscriptions\/|resources\/updated|elicitation\/)/;

const MAX_PER_SECOND = 500;

/** Drops notifications above the limit before the SDK parses them, which costs a hundred times more than reading them. */
function limitNotifications(clock: Clock, report: (fault: string) => void): Intercept {
  let windowStart = clock.monotonic();
  let accepted = 0;
  let isReported = false;

  return (message) => {
    if (!("method" in message) || "id" in message) return true;
    const now = clock.monotonic();
    if (now - windowStart >= 1000) {
      windowStart = now;
      accepted = 0;
      isReported = false;
    }
    if (UNLIMITED.test(message.method) || ++accepted <= MAX_PER_SECOND) return true;
    // Once a second: a report per notification would be a flood too.
    if (!isReported)
      report(`The server sends more than ${MAX_PER_SECOND} notifications a second; the rest is dropped.`);
    isReported = true;
    return false;
  };
}

export type ClientSdk = typeof import("@modelcontextprotocol/client");

let loaded: Promise<ClientSdk> | undefined;

/** Loaded by the first connection, because many programs never connect to a server. */
export function loadClientSdk(): Promise<ClientSdk> {
  return (loaded ??= import("@modelcontextprotocol/client"));
}

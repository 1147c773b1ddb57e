import type { Clock } from "../../core/clock.ts";
import { errorCode, toolError, ToolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import type { OpenSocket } from "../../io/net/connections.ts";
import type { GuardedFetch } from "../../io/net/guarded-fetch.ts";
import { UNRESOLVED } from "../../io/net/net-guard.ts";

export const MESSAGE_ACTIONS = ["send", "reply", "edit", "delete", "react", "read"] as const;
export type MessageAction = (typeof MESSAGE_ACTIONS)[number];

/** The input of an action; "" and 0 for fields that it does not use. */
export interface ChannelRequest {
  /** The address that the configuration has for the target. */
  address: string;
  text: string;
  subject: string;
  /** The message to reply to, edit, delete or react to. */
  messageId: string;
  emoji: string;
  limit: number;
  signal: AbortSignal;
}

/** What is known about the delivery. */
export interface Delivery {
  /** One sentence: who accepted it, and what is not known. */
  summary: string;
  /** The id for replies, edits and so on. */
  messageId?: string;
  /** Addresses that were refused while others were accepted. */
  refused?: string[];
  /** For `read`, newest first. */
  messages?: ReceivedMessage[];
}

export interface ReceivedMessage {
  id: string;
  from: string;
  text: string;
  at?: string;
}

/** A way to reach people. Unsupported actions have no handler. */
export interface Channel {
  readonly handlers: { readonly [action in MessageAction]?: (request: ChannelRequest) => Promise<Delivery> };
  /** What is missing in its settings. */
  readonly problem?: string;
  close?(): void;
}

/** The settings of a channel. Each kind uses a part of them. */
export interface ChannelSettings {
  type: string;
  enabled?: boolean | undefined;
  /** Names and addresses of the allowed targets. */
  targets?: Readonly<Record<string, string>> | undefined;
  token?: string | undefined;
  /** Overrides the endpoint of the service. */
  endpoint?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  host?: string | undefined;
  port?: number | undefined;
  secure?: boolean | undefined;
  allowInsecure?: boolean | undefined;
  user?: string | undefined;
  password?: string | undefined;
  from?: string | undefined;
  /** For kinds that are not built in. */
  options?: Readonly<Record<string, unknown>> | undefined;
}

/** What channels use to reach services and people. */
export interface ChannelEnvironment {
  fetch: GuardedFetch;
  openSocket: OpenSocket;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Prints a line on the terminal of the server. */
  show(line: string): void;
}

/** A kind of channel: a plugin of the message tool. */
export interface ChannelKind {
  readonly type: string;
  /** Hosts from the settings, as `host:port`. They may be in a private network. */
  hosts?(settings: ChannelSettings): string[];
  /** Whether it has only one target, so none has to be named. */
  readonly hasSingleTarget?: boolean;
  open(settings: ChannelSettings, environment: ChannelEnvironment): Channel;
}

/** The host of an address in the settings; empty if it is invalid. */
export function hostOf(address: string | undefined): string[] {
  if (address === undefined || !URL.canParse(address)) return [];
  const { hostname, port, protocol } = new URL(address);
  return [`${hostname}:${port || (protocol === "https:" ? 443 : 80)}`];
}

export interface ServiceRequest {
  /** For messages to the model: `Slack`. */
  service: string;
  url: string;
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  signal: AbortSignal;
}

export interface ServiceResponse {
  status: number;
  /** An object or array; undefined if the body is not JSON. */
  json: object | undefined;
  text: string;
}

const MAX_RESPONSE_BYTES = 2 * 1024 * 1024;
const NOT_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_)/;

/** Sends one request. The error says if the message may have been sent. A status of 400 and above is returned. */
export async function callService(fetch: GuardedFetch, request: ServiceRequest): Promise<ServiceResponse> {
  const { service, url, method = "POST", headers = {}, body, signal } = request;
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: sent === undefined ? headers : { "content-type": "application/json; charset=utf-8", ...headers },
    body: sent,
    signal,
    follow: "none",
    maxBytes: MAX_RESPONSE_BYTES,
  }).catch((thrown: unknown) => {
    if (signal.aborted) throw signal.reason;
    throw explain(thrown, service, method === "GET");
  });
  const text = response.body.toString("utf8");
  if (response.notFollowed) {
    throw toolError("failed", `${service} responded with a redirect, which is not followed.`, { next: TELL_USER });
  }
  if (response.status === 429 || response.status === 503) {
    const wait = response.headers["retry-after"];
    throw toolError("unavailable", `${service} does not accept messages now (${response.status}): nothing was sent.`, {
      next: wait === undefined ? "Try again later." : `Try again in ${disarmText(wait).slice(0, 20)} seconds.`,
    });
  }
  if (response.status >= 500 && method !== "GET")
    throw unknownOutcome(service, `it responded with status ${response.status}`);
  return { status: response.status, json: parse(text), text };
}

const TELL_USER = "Only the user can configure this.";

/** The message contains only the error code, because the URL may contain a key. */
function explain(thrown: unknown, service: string, isRead: boolean): unknown {
  if (!(thrown instanceof ToolError)) return unknownOutcome(service, "the connection failed");
  if (thrown.code === "denied" || thrown.code === "invalid_input") return thrown;
  const code = errorCode(thrown.cause) ?? "";
  const isUnsent = NOT_SENT.test(code) || Object(thrown.data).reason === UNRESOLVED;
  if (isRead || isUnsent) {
    const why =
      thrown.code === "timeout" ? "did not respond in time" : `could not be reached${code ? ` (${code})` : ""}`;
    return toolError("unavailable", `${service} ${why}: nothing was sent.`, { next: "Try again later." });
  }
  return unknownOutcome(service, thrown.code === "timeout" ? "it did not respond in time" : "the connection was lost");
}

export function unknownOutcome(service: string, why: string) {
  return toolError("unknown_outcome", `It is not known whether ${service} accepted the message: ${why}.`, {
    next: "Do not send it again. Ask the user to check whether it arrived.",
  });
}

/** The service rejected the request. */
export function refusedBy(service: string, reason: string, isKey = false) {
  const shown = disarmText(reason).replace(/\s+/g, " ").slice(0, 300);
  return toolError("failed", `${service} refused it: ${shown || "it gave no reason"}. Nothing was changed.`, {
    next: isKey ? `${TELL_USER} The key is wrong or lacks permission.` : "Correct it if you can, else tell the user.",
  });
}

function parse(text: string): ServiceResponse["json"] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}

export function field(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
}

/** A string or number in a response, as text. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = field(value, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

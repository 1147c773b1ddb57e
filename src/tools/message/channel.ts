import type { Clock } from "../../core/clock.ts";
import { toolError, ToolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";
import type { OpenSocket } from "../../io/net/connections.ts";
import type { GuardedFetch } from "../../io/net/guarded-fetch.ts";

export const MESSAGE_ACTIONS = ["send", "reply", "edit", "delete", "react", "read"] as const;
export type MessageAction = (typeof MESSAGE_ACTIONS)[number];

/** What one action is given; "" and 0 where the action has no use for it. */
export interface ChannelRequest {
  /** What the configuration gives for the name of the target. */
  address: string;
  text: string;
  subject: string;
  /** Of the message that is replied to, edited, deleted or reacted to. */
  messageId: string;
  emoji: string;
  limit: number;
  signal: AbortSignal;
}

/** What is known afterwards, and no more than that. */
export interface Delivery {
  /** In one sentence: who took it, and what is not known. */
  summary: string;
  /** By which it can be replied to, edited and so on. */
  messageId?: string;
  /** Addresses that were refused while others were accepted. */
  refused?: string[];
  /** Of `read`, the newest first. */
  messages?: ReceivedMessage[];
}

export interface ReceivedMessage {
  id: string;
  from: string;
  text: string;
  at?: string;
}

/** One way to reach people. What it cannot do is absent. */
export interface Channel {
  readonly handlers: { readonly [action in MessageAction]?: (request: ChannelRequest) => Promise<Delivery> };
  /** Why it cannot send as it is set up, and what to set. */
  readonly problem?: string | undefined;
  close?(): void;
}

/** How a channel is set up. A kind takes what it needs, and says what is missing. */
export interface ChannelSettings {
  type: string;
  enabled?: boolean | undefined;
  /** Names for the places that may be written to: nothing else is. */
  targets?: Readonly<Record<string, string>> | undefined;
  token?: string | undefined;
  /** Another address than the service's own. */
  endpoint?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  host?: string | undefined;
  port?: number | undefined;
  secure?: boolean | undefined;
  allowInsecure?: boolean | undefined;
  user?: string | undefined;
  password?: string | undefined;
  from?: string | undefined;
  /** Of kinds that are not ours. */
  options?: Readonly<Record<string, unknown>> | undefined;
}

/** What channels reach the world with. */
export interface ChannelWorld {
  fetch: GuardedFetch;
  openSocket: OpenSocket;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Prints a line where the person who runs this sees it. */
  show(line: string): void;
}

/** A kind of channel: a plugin of the message tool. */
export interface ChannelKind {
  readonly type: string;
  /** Hosts, as `host:port`, that the settings name themselves: they may stand in a private network. */
  hosts?(settings: ChannelSettings): string[];
  /** Whether it has but one place to write to, so that no target has to be named. */
  readonly hasSingleTarget?: boolean;
  open(settings: ChannelSettings, world: ChannelWorld): Channel;
}

/** Of an address in the settings; none where it is not one. */
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

export interface ServiceAnswer {
  status: number;
  /** Undefined where the body is no JSON. */
  json: Readonly<Record<string, unknown>> | readonly unknown[] | undefined;
  text: string;
}

const MAX_BYTES = 2 * 1024 * 1024;
const NOT_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_)/;

/**
 * One request to a service. Whatever else happens, it never looks as if nothing was sent where that is not known: who sends
 * again would send twice. An answer of 400 and above is given back as an answer.
 */
export async function callService(fetch: GuardedFetch, request: ServiceRequest): Promise<ServiceAnswer> {
  const { service, url, method = "POST", headers = {}, body, signal } = request;
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: sent === undefined ? headers : { "content-type": "application/json; charset=utf-8", ...headers },
    body: sent,
    signal,
    follow: "none",
    maxBytes: MAX_BYTES,
  }).catch((thrown: unknown) => {
    if (signal.aborted) throw signal.reason;
    throw explain(thrown, service, method === "GET");
  });
  const text = response.body.toString("utf8");
  if (response.notFollowed) {
    throw toolError("failed", `${service} answered with a redirect, which is not followed.`, { next: TELL_USER });
  }
  if (response.status === 429 || response.status === 503) {
    const wait = response.headers["retry-after"];
    throw toolError("unavailable", `${service} takes no messages now (${response.status}): nothing was sent.`, {
      next: wait === undefined ? "Try again later." : `Try again in ${disarmText(wait).slice(0, 20)} seconds.`,
    });
  }
  if (response.status >= 500 && method !== "GET") throw unknownOutcome(service, `it answered ${response.status}`);
  return { status: response.status, json: parse(text), text };
}

const TELL_USER = "Tell the user; only they can set this up.";

/** Of a failure the code alone: the address of a request may hold its key. */
function explain(thrown: unknown, service: string, isRead: boolean): unknown {
  if (!(thrown instanceof ToolError)) return unknownOutcome(service, "the connection failed");
  if (thrown.code === "denied" || thrown.code === "invalid_input") return thrown;
  const code = String((thrown.cause as { code?: unknown } | undefined)?.code ?? "");
  const isUnsent = NOT_SENT.test(code) || thrown.message.includes("cannot be resolved");
  if (isRead || isUnsent) {
    const why =
      thrown.code === "timeout" ? "did not answer in time" : `could not be reached${code ? ` (${code})` : ""}`;
    return toolError("unavailable", `${service} ${why}: nothing was sent.`, { next: "Try again later." });
  }
  return unknownOutcome(service, thrown.code === "timeout" ? "it did not answer in time" : "the connection broke off");
}

export function unknownOutcome(service: string, why: string) {
  return toolError("unknown_outcome", `Whether ${service} took the message is not known: ${why}.`, {
    next: "Do not send it again by yourself. Ask the user to look whether it arrived.",
  });
}

/** The service understood, and said no. */
export function refusedBy(service: string, reason: string, isKey = false) {
  const shown = disarmText(reason).replace(/\s+/g, " ").slice(0, 300);
  return toolError("failed", `${service} refused it: ${shown || "it gave no reason"}. Nothing was changed.`, {
    next: isKey ? `${TELL_USER} The key is wrong, or may not do this.` : "Correct it if you can, else tell the user.",
  });
}

function parse(text: string): ServiceAnswer["json"] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as ServiceAnswer["json"]) : undefined;
  } catch {
    return undefined;
  }
}

export function field(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<string | number, unknown> | null | undefined)?.[key], value);
}

/** A text or a number in an answer, as text. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = field(value, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

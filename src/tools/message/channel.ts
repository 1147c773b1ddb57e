import type { Clock } from "../../core/clock.ts";
import type { GuardedFetch } from "../../net/guarded-net.ts";
import type { OpenSocket } from "../../net/open-socket.ts";

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

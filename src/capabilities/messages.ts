import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { createGuardedNet } from "../io/net/guarded-fetch.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { createMessageTool } from "../tools/message/message.ts";
import type { ChannelKind } from "../tools/message/channel.ts";
import { CHANNEL_KINDS, channelHosts, type OpenChannel, openChannels } from "../tools/message/open-channels.ts";
import { defineCapability } from "./capability.ts";

export interface MessagesOptions {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Besides the built-in ones. */
  kinds?: readonly ChannelKind[];
  /** Prints for the console channel. */
  show?: (line: string) => void;
}

export interface Messages {
  channels: readonly OpenChannel[];
  close(): Promise<void>;
}

/** The configured channels, and the tool that writes to them. Without channels there is no tool. */
export const messages = defineCapability({
  name: "messages",
  config: ["message", "network"],
  open({ config, options, env, clock }) {
    const { channels, close } = openMessages(config, { env, clock, kinds: options.channelKinds });
    return { value: channels, tools: channels.length === 0 ? [] : [createMessageTool(channels)], close };
  },
});

export function openMessages(
  { value: { message, network } }: LoadedConfig,
  { env, clock, kinds: own = [], show = (line) => void process.stderr.write(`message: ${line}\n`) }: MessagesOptions,
): Messages {
  const table = message.channels ?? {};
  const kinds = [...CHANNEL_KINDS, ...own];
  const { exceptions = [], proxyResolvesNames } = network;
  // The user chose where messages go: it may be a private address.
  const reachable = [...exceptions, ...channelHosts(table, kinds)];
  const proxies = readProxyEnvironment(env, { resolvesNames: proxyResolvesNames });
  const net = createGuardedNet({ exceptions: reachable, proxies, clock });
  const openSocket = createOpenSocket({ exceptions: reachable });
  const channels = openChannels(table, { fetch: net.fetch, openSocket, env, clock, show }, kinds);
  const closing = new CloseStack();
  closing.push("connections", () => net.close());
  for (const channel of channels) closing.push(`channel ${channel.name}`, () => channel.close());
  return { channels, close: () => closing.close() };
}

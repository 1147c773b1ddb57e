import type { LoadedConfig } from "../config/load-config.ts";
import type { ChannelInfo } from "../contracts/channels.ts";
import type { Handlers } from "../contracts/contract.ts";
import { notFound } from "../contracts/errors.ts";
import type { Contracts } from "../contracts/index.ts";
import type { Clock } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { createGuardedNet } from "../io/net/guarded-fetch.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import type { ChannelKind } from "../tools/message/channel.ts";
import { createMessageTool } from "../tools/message/message.ts";
import { CHANNEL_KINDS, channelHosts, type OpenChannel, openChannels } from "../tools/message/open-channels.ts";
import { type ApiServices, defineCapability } from "./capability.ts";

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
    return {
      value: channels,
      tools: channels.length === 0 ? [] : [createMessageTool(channels)],
      api: ({ start }) => ({ channels: createChannelsApi({ channels, start }) }),
      close,
    };
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

const TEST_TEXT = "This is a test message from Haft. If you can read it, the channel works.";

export interface ChannelsApiOptions extends Pick<ApiServices, "start"> {
  channels: readonly OpenChannel[];
}

export function createChannelsApi({ channels, start }: ChannelsApiOptions): Handlers<Contracts["channels"]> {
  return {
    list: () => ({ items: channels.map(infoOf) }),
    test({ params, body: { to, text = TEST_TEXT }, identity }) {
      const channel = channels.find(({ name }) => name === params.name);
      if (!channel) throw notFound("There is no such channel", "channels");
      const input = { action: "send", channel: channel.name, to: to ?? infoOf(channel).targets[0], text };
      // The user may approve and requested it, so nobody else is asked.
      return start({ tool: "message", input, mode: "bypassPermissions" }, identity).result;
    },
  };
}

/** Names only: never an address or a key. */
function infoOf({ name, type, targets, actions, problem }: OpenChannel): ChannelInfo {
  return { name, type, targets: [...targets.keys()], actions: [...actions], problem };
}

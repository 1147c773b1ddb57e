import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import type { AnyTool } from "../core/tool.ts";
import { createGuardedNet } from "../io/net/guarded-fetch.ts";
import { createOpenSocket } from "../io/net/connections.ts";
import { readProxyEnvironment } from "../io/net/proxy-environment.ts";
import { createMessageTool } from "../tools/message/message.ts";
import type { ChannelKind } from "../tools/message/channel.ts";
import { CHANNEL_KINDS, channelHosts, type OpenChannel, openChannels } from "../tools/message/open-channels.ts";

export interface MessageHost {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Besides those that come with Haft. */
  kinds?: readonly ChannelKind[];
  /** Where the console channel prints. */
  show?: (line: string) => void;
}

export interface Messages {
  tools: readonly AnyTool[];
  channels: readonly OpenChannel[];
  close(): Promise<void>;
}

/** The channels that the configuration names, and the tool that writes to them; without channels there is no tool. */
export function openMessages(
  { value: { message, network } }: LoadedConfig,
  { env, clock, kinds: own = [], show = (line) => void process.stderr.write(`message: ${line}\n`) }: MessageHost,
): Messages {
  const table = message.channels ?? {};
  const kinds = [...CHANNEL_KINDS, ...own];
  const { exceptions = [], proxyResolvesNames } = network;
  // Where messages go is the user's own choice, and may be a machine of theirs.
  const reachable = [...exceptions, ...channelHosts(table, kinds)];
  const proxies = readProxyEnvironment(
    env,
    proxyResolvesNames === undefined ? {} : { resolvesNames: proxyResolvesNames },
  );
  const net = createGuardedNet({ exceptions: reachable, proxies, clock });
  const openSocket = createOpenSocket({ exceptions: reachable });
  const channels = openChannels(table, { fetch: net.fetch, openSocket, env, clock, show }, kinds);
  return {
    tools: channels.length === 0 ? [] : [createMessageTool(channels)],
    channels,
    async close() {
      for (const channel of channels) channel.close();
      await net.close();
    },
  };
}

import { didYouMean } from "../../core/nearest-name.ts";
import {
  type Channel,
  type ChannelKind,
  type ChannelSettings,
  type ChannelWorld,
  MESSAGE_ACTIONS,
  type MessageAction,
} from "./channel.ts";
import { consoleChannel } from "./channels/console.ts";
import { desktopChannel } from "./channels/desktop.ts";
import { discordChannel } from "./channels/discord.ts";
import { emailChannel } from "./channels/email.ts";
import { slackChannel } from "./channels/slack.ts";
import { telegramChannel } from "./channels/telegram.ts";
import { webhookChannel } from "./channels/webhook.ts";

export const CHANNEL_KINDS: readonly ChannelKind[] = [
  consoleChannel,
  webhookChannel,
  slackChannel,
  discordChannel,
  telegramChannel,
  emailChannel,
  desktopChannel,
];

export type ChannelTable = Readonly<Record<string, ChannelSettings>>;

/** A channel that the configuration names. */
export interface OpenChannel {
  readonly name: string;
  readonly type: string;
  /** Names that may be written to, each with its address. */
  readonly targets: ReadonlyMap<string, string>;
  readonly actions: readonly MessageAction[];
  /** Why it cannot be used, and what to do. */
  readonly problem: string | undefined;
  readonly handlers: Channel["handlers"];
  close(): void;
}

/** Opens what is set up. What is wrong with one channel is its problem, and no other's. */
export function openChannels(
  table: ChannelTable,
  world: ChannelWorld,
  kinds: readonly ChannelKind[] = CHANNEL_KINDS,
): OpenChannel[] {
  return Object.entries(table)
    .filter(([, { enabled }]) => enabled !== false)
    .map(([name, settings]) => {
      const kind = kinds.find(({ type }) => type === settings.type);
      const targets = new Map(Object.entries(settings.targets ?? (kind?.hasSingleTarget ? { default: "" } : {})));
      const { handlers, problem, close } = kind ? kind.open(settings, world) : closed(settings.type, kinds);
      const noTargets = targets.size === 0 ? "name at least one place in `targets`" : undefined;
      return {
        name,
        type: settings.type,
        targets,
        actions: MESSAGE_ACTIONS.filter((action) => handlers[action]),
        problem: unsetVariable(settings) ?? problem ?? noTargets,
        handlers,
        close: () => close?.(),
      };
    });
}

/** Hosts that the settings name themselves, as `host:port`. */
export function channelHosts(table: ChannelTable, kinds: readonly ChannelKind[] = CHANNEL_KINDS): string[] {
  return Object.values(table).flatMap(
    (settings) => kinds.find(({ type }) => type === settings.type)?.hosts?.(settings) ?? [],
  );
}

/** A variable that is not set stands there as it was written. */
function unsetVariable(settings: ChannelSettings): string | undefined {
  const [, name] = /\$\{(\w+)\}/.exec(JSON.stringify(settings)) ?? [];
  return name === undefined ? undefined : `set the variable ${name}`;
}

function closed(type: string, kinds: readonly ChannelKind[]): Channel {
  const types = kinds.map((kind) => kind.type);
  return { handlers: {}, problem: `there is no type "${type}" (${didYouMean(type, types) ?? types.join(", ")})` };
}

import { didYouMean } from "../../core/nearest-name.ts";
import {
  type Channel,
  type ChannelEnvironment,
  type ChannelKind,
  type ChannelSettings,
  MESSAGE_ACTIONS,
  type MessageAction,
} from "./channel.ts";
import { consoleChannel, desktopChannel } from "./channels/local.ts";
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

/** A configured channel. */
export interface OpenChannel {
  readonly name: string;
  readonly type: string;
  /** Names of targets with their addresses. */
  readonly targets: ReadonlyMap<string, string>;
  readonly actions: readonly MessageAction[];
  /** Why it cannot be used, and what to do. */
  readonly problem: string | undefined;
  readonly handlers: Channel["handlers"];
  close(): void;
}

/** Opens the configured channels. A problem of one channel does not affect the others. */
export function openChannels(
  table: ChannelTable,
  environment: ChannelEnvironment,
  kinds: readonly ChannelKind[] = CHANNEL_KINDS,
): OpenChannel[] {
  return Object.entries(table)
    .filter(([, { enabled }]) => enabled !== false)
    .map(([name, settings]) => {
      const kind = kinds.find(({ type }) => type === settings.type);
      const targets = new Map(Object.entries(settings.targets ?? (kind?.hasSingleTarget ? { default: "" } : {})));
      const { handlers, problem, close } = kind ? kind.open(settings, environment) : unknownKind(settings.type, kinds);
      const noTargets = targets.size === 0 ? "add at least one target to `targets`" : undefined;
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

/** Hosts from the settings, as `host:port`. */
export function channelHosts(table: ChannelTable, kinds: readonly ChannelKind[] = CHANNEL_KINDS): string[] {
  return Object.values(table).flatMap(
    (settings) => kinds.find(({ type }) => type === settings.type)?.hosts?.(settings) ?? [],
  );
}

/** A reference to an unset variable is still in the settings. */
function unsetVariable(settings: ChannelSettings): string | undefined {
  const [, name] = /\$\{(\w+)\}/.exec(JSON.stringify(settings)) ?? [];
  return name === undefined ? undefined : `set the variable ${name}`;
}

function unknownKind(type: string, kinds: readonly ChannelKind[]): Channel {
  const types = kinds.map((kind) => kind.type);
  return { handlers: {}, problem: `there is no type "${type}" (${didYouMean(type, types) ?? types.join(", ")})` };
}

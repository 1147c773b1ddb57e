import type { OpenChannel } from "../../tools/message/open-channels.ts";
import type { ChannelsPart } from "../host-parts.ts";

/** The channels of a host in the words of the wire: names, and never an address or a key. */
export function channelsPart(channels: readonly OpenChannel[]): ChannelsPart {
  return {
    list: () =>
      channels.map(({ name, type, targets, actions, problem }) => ({
        name,
        type,
        targets: [...targets.keys()],
        actions: [...actions],
        ...(problem === undefined ? {} : { problem }),
      })),
  };
}

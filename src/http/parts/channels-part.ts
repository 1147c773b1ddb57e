import type { OpenChannel } from "../../tools/message/open-channels.ts";
import type { ChannelsCapability } from "../host-parts.ts";

/** The channels of a host in the words of the wire: names, and never an address or a key. */
export function channelsCapability(channels: readonly OpenChannel[]): ChannelsCapability {
  return {
    list: () =>
      channels.map(({ name, type, targets, actions, problem }) => ({
        name,
        type,
        targets: [...targets.keys()],
        actions: [...actions],
        problem,
      })),
  };
}

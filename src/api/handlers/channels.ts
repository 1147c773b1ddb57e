import type { ChannelInfo, channels as contract } from "../../contracts/channels.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { OpenChannel } from "../../tools/message/open-channels.ts";
import type { StartCall } from "./call-runner.ts";

const TEST_TEXT = "This is a test message from Haft. If you can read it, the channel works.";

export interface ChannelsApiOptions {
  channels: readonly OpenChannel[];
  start: StartCall;
}

export function createChannelsApi({ channels, start }: ChannelsApiOptions): Handlers<typeof contract> {
  return {
    list: () => ({ items: channels.map(infoOf) }),
    test({ params, body: { to, text = TEST_TEXT }, identity }) {
      const channel = channels.find(({ name }) => name === params.name);
      if (!channel) throw new ApiError("not_found", "There is no such channel", "GET /api/channels lists them.");
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

import { onTestFinished } from "vitest";
import { systemClock } from "../../core/clock.ts";
import { createGuardedNet } from "../../io/net/guarded-fetch.ts";
import { createOpenSocket } from "../../io/net/connections.ts";
import { createHaft, type Haft } from "../../runtime.ts";
import { createMessageTool } from "./message.ts";
import { channelHosts, type ChannelTable, openChannels } from "./open-channels.ts";

export interface OpenMessage {
  haft: Haft;
  shown: string[];
  /** Calls through the gate, with approval. */
  message(input: object): ReturnType<Haft["execute"]>;
}

/** The message tool behind a gate. Channels reach only the local addresses in their settings. */
export function openMessage(table: ChannelTable, env: Record<string, string> = {}): OpenMessage {
  const exceptions = channelHosts(table);
  const net = createGuardedNet({ exceptions });
  const shown: string[] = [];
  const openSocket = createOpenSocket({ exceptions });
  const environment = {
    fetch: net.fetch,
    openSocket,
    env,
    clock: systemClock,
    show: (line: string) => void shown.push(line),
  };
  const channels = openChannels(table, environment);
  const haft = createHaft({
    tools: [createMessageTool(channels)],
    approver: async () => ({ approved: true, by: "ada" }),
  });
  onTestFinished(async () => {
    await haft.shutdown();
    await net.close();
  });
  return { haft, shown, message: (input) => haft.execute("message", input) };
}

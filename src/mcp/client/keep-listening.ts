import type { Client, McpSubscription } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";
import type { ConnectionEvents } from "./open-connection.ts";

const RELISTEN_MS = 5000;

export interface ListeningOptions {
  clock: Clock;
  events: Partial<ConnectionEvents>;
  isCurrent(): boolean;
}

/** Streams of changes break. What changed meanwhile was not heard, so everything counts as changed. */
export function maintainSubscription(
  client: Client,
  options: ListeningOptions,
  subscription: McpSubscription | undefined = client.autoOpenedSubscription,
): void {
  const { clock, events, isCurrent } = options;
  void subscription?.closed.then((how) => {
    if (how !== "remote" || !isCurrent()) return;
    const listenAgain = async (): Promise<void> => {
      if (!isCurrent()) return;
      try {
        const again = await client.listen(subscription.honoredFilter);
        for (const what of ["tools", "prompts", "resources"] as const) events.listChanged?.(what);
        maintainSubscription(client, options, again);
      } catch {
        events.fault?.("The server no longer tells of changes.");
      }
    };
    clock.after(RELISTEN_MS, () => void listenAgain()).setRef(false);
  });
}

import type { Handlers } from "../../contracts/contract.ts";
import type { EventMessage, events } from "../../contracts/events.ts";
import type { EventFeed } from "./event-feed.ts";
import { FrameQueue } from "./frame-queue.ts";

export function createEventsApi(feed: EventFeed): Handlers<typeof events> {
  return {
    subscribe({ query: { after, ...filter }, signal }) {
      const messages = new FrameQueue<EventMessage>(signal);
      const reader = feed.read(filter, after, (batch) => messages.pushAll(batch));
      signal.addEventListener("abort", reader.stop, { once: true });
      return messages;
    },
  };
}

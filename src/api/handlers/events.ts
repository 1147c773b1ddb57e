import type { Handlers } from "../../contracts/contract.ts";
import type { EventMessage, events } from "../../contracts/events.ts";
import type { EventFeed } from "./event-feed.ts";
import { FrameQueue } from "./frame-queue.ts";

export function createEventsApi(feed: EventFeed): Handlers<typeof events> {
  return {
    subscribe({ query: { after, ...filter }, signal }) {
      const messages = new FrameQueue<EventMessage>(signal);
      const stop = feed.read(filter, after, (message) => messages.push(message));
      signal.addEventListener("abort", stop, { once: true });
      return messages;
    },
  };
}

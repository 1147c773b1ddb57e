import type { Transport } from "@modelcontextprotocol/client";

type OnMessage = NonNullable<Transport["onmessage"]>;
export type Message = Parameters<OnMessage>[0];
/** Whether the protocol is given the message now; `deliver` gives it one later. */
export type Intercept = (message: Message, deliver: (message: Message) => void) => boolean;

/** Looks at what a server sends before the protocol does. */
export function interceptMessages(transport: Transport, intercepts: readonly Intercept[]): void {
  let handler: OnMessage | undefined;
  // The protocol sets the handler when it connects, and another while it asks for the revision.
  Object.defineProperty(transport, "onmessage", {
    get: () => handler,
    set(next: OnMessage | undefined) {
      handler =
        next &&
        ((message, extra) => {
          for (const passes of intercepts) if (!passes(message, next)) return;
          next(message, extra);
        });
    },
  });
}

import { showHiddenCharacters } from "../../../io/shell/terminal-text.ts";
import type { ChannelKind, ReceivedMessage } from "../channel.ts";

const MAX_KEPT = 100;

/** Prints where the person who runs this sees it, and keeps the last ones. */
export const consoleChannel: ChannelKind = {
  type: "console",
  hasSingleTarget: true,
  open(_settings, { show, clock }) {
    const kept: (ReceivedMessage & { address: string })[] = [];
    let count = 0;
    return {
      handlers: {
        async send({ address, text, subject }) {
          const id = String(++count);
          kept.push({ id, address, from: "haft", text, at: new Date(clock.now()).toISOString() });
          if (kept.length > MAX_KEPT) kept.shift();
          show(showHiddenCharacters([address && `[${address}]`, subject, text].filter(Boolean).join(" ")));
          return {
            summary: "Printed on the terminal of this server. Whether somebody saw it is not known.",
            messageId: id,
          };
        },
        async read({ address, limit }) {
          const own = kept.filter((message) => message.address === address).reverse();
          const messages = own.slice(0, limit).map(({ address: _address, ...message }) => message);
          return {
            summary: `${messages.length} of the messages that were printed since this server started.`,
            messages,
          };
        },
      },
    };
  },
};

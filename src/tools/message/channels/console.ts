import { showHiddenCharacters } from "../../../io/shell/terminal-text.ts";
import type { ChannelKind, ReceivedMessage } from "../channel.ts";

const MAX_STORED = 100;

/** Prints on the terminal of the server and stores the last messages. */
export const consoleChannel: ChannelKind = {
  type: "console",
  hasSingleTarget: true,
  open(_settings, { show, clock }) {
    const stored: (ReceivedMessage & { address: string })[] = [];
    let count = 0;
    return {
      handlers: {
        async send({ address, text, subject }) {
          const id = String(++count);
          stored.push({ id, address, from: "haft", text, at: new Date(clock.now()).toISOString() });
          if (stored.length > MAX_STORED) stored.shift();
          show(showHiddenCharacters([address && `[${address}]`, subject, text].filter(Boolean).join(" ")));
          return {
            summary: "Printed on the terminal of this server. Whether somebody saw it is not known.",
            messageId: id,
          };
        },
        async read({ address, limit }) {
          const own = stored.filter((message) => message.address === address).reverse();
          const messages = own.slice(0, limit).map(({ address: _address, ...message }) => message);
          return {
            summary: `${messages.length} of the messages printed since this server started.`,
            messages,
          };
        },
      },
    };
  },
};

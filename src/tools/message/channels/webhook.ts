import { callService, type ChannelKind, hostOf, refusedBy } from "../channel.ts";

/** Posts JSON. Each target is a URL. */
export const webhookChannel: ChannelKind = {
  type: "webhook",
  hosts: ({ targets = {} }) => Object.values(targets).flatMap(hostOf),
  open({ headers = {}, targets = {} }, { fetch, clock }) {
    const wrong = Object.entries(targets).find(([, address]) => !/^https?:\/\//i.test(address));
    return {
      problem: wrong && `the target "${wrong[0]}" must be a URL that begins with https:// or http://`,
      handlers: {
        async send({ address, text, subject, signal }) {
          const body = { text, subject: subject || undefined, sentAt: new Date(clock.now()).toISOString() };
          const service = "The webhook";
          const { status, text: responseText } = await callService(fetch, {
            service,
            url: address,
            headers,
            body,
            signal,
          });
          if (status >= 400) throw refusedBy(service, `${status} ${responseText}`, status === 401 || status === 403);
          return { summary: `The webhook accepted it (${status}). What it does with it is not known.` };
        },
      },
    };
  },
};

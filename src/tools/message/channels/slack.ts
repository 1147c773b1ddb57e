import {
  callService,
  type ChannelKind,
  type ChannelRequest,
  field,
  hostOf,
  refusedBy,
  type ServiceRequest,
  textAt,
} from "../channel.ts";

const KEY_ERRORS = new Set(
  "invalid_auth not_authed token_revoked token_expired account_inactive missing_scope".split(" "),
);

/** https://docs.slack.dev/reference/methods, with a bot token. Targets are ids of channels (C…, G…) and people (U…). */
export const slackChannel: ChannelKind = {
  type: "slack",
  hosts: ({ endpoint }) => hostOf(endpoint),
  open({ token = "", endpoint = "https://slack.com/api" }, { fetch }) {
    const send = async (request: Pick<ServiceRequest, "method" | "body" | "signal">, path: string) => {
      const url = `${endpoint.replace(/\/$/, "")}/${path}`;
      const headers = { authorization: `Bearer ${token}` };
      const { json, status } = await callService(fetch, { service: "Slack", url, headers, ...request });
      if (field(json, "ok") === true) return json;
      const error = textAt(json, "error") || `status ${status}`;
      throw refusedBy("Slack", error, KEY_ERRORS.has(error));
    };
    const call = (method: string, body: object, signal: AbortSignal) => send({ body, signal }, method);
    const direct = new Map<string, string>();
    /** Messages to a person need the id of the direct message channel. */
    const channelOf = async ({ address, signal }: ChannelRequest): Promise<string> => {
      if (!/^[UW]/.test(address)) return address;
      const known = direct.get(address);
      if (known !== undefined) return known;
      const channel = textAt(await call("conversations.open", { users: address }, signal), "channel", "id");
      direct.set(address, channel);
      return channel;
    };
    const write = async (request: ChannelRequest, thread: object) => {
      const channel = await channelOf(request);
      const json = await call("chat.postMessage", { channel, text: escaped(request.text), ...thread }, request.signal);
      return { summary: "Slack accepted it. Whether somebody read it is not known.", messageId: textAt(json, "ts") };
    };
    return {
      problem: token === "" ? "set `token` to the token of a Slack bot (xoxb-…)" : undefined,
      handlers: {
        send: (request) => write(request, {}),
        reply: (request) => write(request, { thread_ts: request.messageId }),
        async edit(request) {
          const { messageId: ts, text, signal } = request;
          await call("chat.update", { channel: await channelOf(request), ts, text: escaped(text) }, signal);
          return { summary: "Slack changed the message.", messageId: ts };
        },
        async delete(request) {
          await call("chat.delete", { channel: await channelOf(request), ts: request.messageId }, request.signal);
          return { summary: "Slack deleted the message. Some people may have read it before." };
        },
        async react(request) {
          const { messageId: timestamp, emoji, signal } = request;
          const name = emoji.replace(/^:|:$/g, "");
          await call("reactions.add", { channel: await channelOf(request), timestamp, name }, signal);
          return { summary: "Slack added the reaction." };
        },
        async read(request) {
          const { limit, signal } = request;
          // Methods that read take query parameters, not JSON.
          const query = new URLSearchParams({ channel: await channelOf(request), limit: `${limit}` });
          const json = await send({ method: "GET", signal }, `conversations.history?${query.toString()}`);
          const found = field(json, "messages");
          const messages = (Array.isArray(found) ? found : []).slice(0, limit).map((message: unknown) => ({
            id: textAt(message, "ts"),
            from: textAt(message, "user") || textAt(message, "bot_id"),
            text: unescaped(textAt(message, "text")),
            at: new Date(Number(textAt(message, "ts")) * 1000).toISOString(),
          }));
          return { summary: `The last ${messages.length} messages.`, messages };
        },
      },
    };
  },
};

/** Escaped, so a text cannot notify a whole channel with `<!channel>`. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

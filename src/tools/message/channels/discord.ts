import { callService, type ChannelKind, type ChannelRequest, hostOf, refusedBy, textAt } from "../channel.ts";

const MAX_CHARACTERS = 2000;

/** https://docs.discord.com/developers/resources/message, with a bot token. Targets are channel ids. */
export const discordChannel: ChannelKind = {
  type: "discord",
  hosts: ({ endpoint }) => hostOf(endpoint),
  open({ token = "", endpoint = "https://discord.com/api/v10" }, { fetch }) {
    const headers = {
      authorization: `Bot ${token}`,
      "user-agent": "DiscordBot (haft, 1)",
    };
    const call = async (
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
      { address, signal }: ChannelRequest,
      { path = "", body }: { path?: string; body?: object } = {},
    ) => {
      const url = `${endpoint.replace(/\/$/, "")}/channels/${encodeURIComponent(address)}/messages${path}`;
      const { status, json } = await callService(fetch, { service: "Discord", url, method, headers, body, signal });
      if (status < 400) return json;
      const problem = textAt(json, "message") || `status ${status}`;
      throw refusedBy("Discord", problem, status === 401 || status === 403);
    };
    /** Mentions are disabled: `@everyone` stays plain text. */
    const content = (text: string) => {
      if (text.length > MAX_CHARACTERS)
        throw refusedBy("Discord", `a message has at most ${MAX_CHARACTERS} characters`);
      return { content: text, allowed_mentions: { parse: [] } };
    };
    const write = async (request: ChannelRequest, reference: object) => {
      const json = await call("POST", request, { body: { ...content(request.text), ...reference } });
      return { summary: "Discord accepted it. Whether somebody read it is not known.", messageId: textAt(json, "id") };
    };
    const at = ({ messageId }: ChannelRequest): string => `/${encodeURIComponent(messageId)}`;
    return {
      problem: token === "" ? "set `token` to the token of a Discord bot" : undefined,
      handlers: {
        send: (request) => write(request, {}),
        reply: (request) =>
          write(request, { message_reference: { message_id: request.messageId, fail_if_not_exists: true } }),
        async edit(request) {
          await call("PATCH", request, { path: at(request), body: content(request.text) });
          return { summary: "Discord changed the message.", messageId: request.messageId };
        },
        async delete(request) {
          await call("DELETE", request, { path: at(request) });
          return { summary: "Discord deleted the message. Some people may have read it before." };
        },
        async react(request) {
          await call("PUT", request, { path: `${at(request)}/reactions/${encodeURIComponent(request.emoji)}/@me` });
          return { summary: "Discord added the reaction." };
        },
        async read(request) {
          const json = await call("GET", request, { path: `?limit=${request.limit}` });
          const messages = (Array.isArray(json) ? json : []).slice(0, request.limit).map((message: unknown) => ({
            id: textAt(message, "id"),
            from: textAt(message, "author", "username"),
            text: textAt(message, "content"),
            at: textAt(message, "timestamp"),
          }));
          return { summary: `The last ${messages.length} messages.`, messages };
        },
      },
    };
  },
};

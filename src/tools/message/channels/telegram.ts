import { callService, type ChannelKind, type ChannelRequest, field, hostOf, refusedBy, textAt } from "../channel.ts";

const MAX_CHARACTERS = 4096;

/** https://core.telegram.org/bots/api. Targets are chat ids or @names of channels. A bot cannot read past messages. */
export const telegramChannel: ChannelKind = {
  type: "telegram",
  hosts: ({ endpoint }) => hostOf(endpoint),
  open({ token = "", endpoint = "https://api.telegram.org" }, { fetch }) {
    const call = async (method: string, { address, signal }: ChannelRequest, body: object) => {
      const url = `${endpoint.replace(/\/$/, "")}/bot${token}/${method}`;
      const given = { chat_id: address, ...body };
      const { json, status } = await callService(fetch, { service: "Telegram", url, body: given, signal });
      if (field(json, "ok") === true) return json;
      const code = field(json, "error_code") ?? status;
      throw refusedBy("Telegram", textAt(json, "description") || `status ${status}`, code === 401 || code === 403);
    };
    const bounded = (text: string): string => {
      if (text.length <= MAX_CHARACTERS) return text;
      throw refusedBy("Telegram", `a message has at most ${MAX_CHARACTERS} characters`);
    };
    const write = async (request: ChannelRequest, more: object) => {
      const json = await call("sendMessage", request, { text: bounded(request.text), ...more });
      const messageId = textAt(json, "result", "message_id");
      return { summary: "Telegram accepted it. Whether somebody read it is not known.", messageId };
    };
    const numberOf = ({ messageId }: ChannelRequest) => ({ message_id: Number(messageId) });
    return {
      problem: /^\d+:[\w-]+$/.test(token) ? undefined : "set `token` to the token of a Telegram bot (123456:ABC…)",
      handlers: {
        send: (request) => write(request, {}),
        reply: (request) => write(request, { reply_parameters: numberOf(request) }),
        async edit(request) {
          await call("editMessageText", request, { ...numberOf(request), text: bounded(request.text) });
          return { summary: "Telegram changed the message.", messageId: request.messageId };
        },
        async delete(request) {
          await call("deleteMessage", request, numberOf(request));
          return { summary: "Telegram deleted the message. Some people may have read it before." };
        },
        async react(request) {
          const reaction = [{ type: "emoji", emoji: request.emoji }];
          await call("setMessageReaction", request, { ...numberOf(request), reaction });
          return { summary: "Telegram added the reaction." };
        },
      },
    };
  },
};

import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { type Delivery, MESSAGE_ACTIONS, type MessageAction, type ReceivedMessage } from "./channel.ts";
import type { OpenChannel } from "./open-channels.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

const NEEDS: Record<MessageAction, readonly ("text" | "messageId" | "emoji")[]> = {
  send: ["text"],
  reply: ["text", "messageId"],
  edit: ["text", "messageId"],
  delete: ["messageId"],
  react: ["messageId", "emoji"],
  read: [],
};
const DEFAULT_READ_LIMIT = 20;

const parameters = z.object({
  action: z.enum(MESSAGE_ACTIONS).default("send").describe("What to do. Default: send"),
  channel: z.string().optional().describe("Name of the channel; required if there are several"),
  to: z.string().optional().describe("Name of a target of that channel; required if it has several"),
  text: z.string().max(100_000).optional().describe("The message; for send, reply and edit"),
  subject: z.string().max(200).optional().describe("A title, for channels that have one (e-mail, desktop)"),
  messageId: z
    .string()
    .regex(/^[^\s/?#\\]{1,300}$/)
    .optional()
    .describe("Id of an earlier message; for reply, edit, delete and react"),
  emoji: z.string().min(1).max(64).optional().describe("For react"),
  limit: z.number().int().min(1).max(100).optional().describe("For read: max messages. Default: 20"),
});
type Input = z.infer<typeof parameters>;

/** Sends messages to people, only over the channels and to the targets in the configuration. */
export function createMessageTool(channels: readonly OpenChannel[]) {
  const resolve = (input: Input) => resolveTarget(channels, input);
  const signatureOf = (input: Input): string => {
    try {
      const { channel, to } = resolve(input);
      return `${input.action} ${channel.name}/${to}`;
    } catch {
      return `${input.action} ${input.channel ?? "?"}/${input.to ?? "?"}`;
    }
  };
  return createTool({
    name: "message",
    title: "Message",
    description: {
      short: "Sends a message to people over a channel that the user has configured.",
      long: `Channels: ${channels.map(describe).join("; ") || "none is configured"}.`,
      usageNotes: [
        "The result says what is known about the delivery. Whether somebody read the message is never known.",
      ],
      important: ["A message cannot be recalled. Do not send it again if its outcome is unknown."],
      examples: [{ input: { channel: channels[0]?.name ?? "team", to: "general", text: "The build is green again." } }],
    },
    parameters,
    parameterAliases: { target: "to", message: "text", content: "text", message_id: "messageId", replyTo: "messageId" },
    kind: "execute",
    category: ToolCategory.MESSAGE,
    tags: ["message", "send", "notify", "chat", "mail", "slack", "discord", "telegram", "email"],
    labels: ["untrusted_input", "outside_effect"],
    labelsOf: ({ action }) => [action === "read" ? "untrusted_input" : "outside_effect"],
    permission: "confirm",
    builtIn: {
      zh: { title: "消息", short: "通过已配置的渠道发送消息。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      action: field.text(),
      channel: field.text(),
      to: field.text(),
      "messageId?": field.text("For reply, edit, delete and react"),
      "refused?": field.list(field.text(), "Addresses that were refused"),
      "messages?": field.list(
        field.object<ReceivedMessage>({
          id: field.text(),
          from: field.text(),
          text: field.text("Untrusted"),
          "at?": field.text(),
        }),
        "Of read, newest first",
      ),
    }),
    // Checked before an approval is requested.
    validate(input) {
      try {
        resolve(input);
        return null;
      } catch (error) {
        return errorMessage(error);
      }
    },
    signature: signatureOf,
    rule: signatureOf,
    preview: async (input) => {
      const target = resolve(input);
      if (target.channel.problem !== undefined) throw notReady(target.channel, target.channel.problem);
      return preview(input, target);
    },
    async run(input, { signal }) {
      const { channel, to, address } = resolve(input);
      const { action, text = "", subject = "", messageId = "", emoji = "", limit = DEFAULT_READ_LIMIT } = input;
      if (channel.problem !== undefined) throw notReady(channel, channel.problem);
      const request = { address, text, subject, messageId, emoji, limit, signal };
      const handle = channel.handlers[action];
      if (!handle) throw unsupported(channel, action);
      return show(await handle(request), { action, channel: channel.name, to });
    },
  });
}

interface MessageTarget {
  channel: OpenChannel;
  to: string;
  address: string;
}

function resolveTarget(channels: readonly OpenChannel[], input: Input): MessageTarget {
  if (channels.length === 0) {
    throw toolError("failed", "No channel is configured.", {
      next: "Only the user can configure one, in `message.channels`.",
    });
  }
  const channel = pick(channels, ({ name }) => name, { name: input.channel, what: "channel" });
  const targets = [...channel.targets];
  const [to, address] = pick(targets, ([name]) => name, { name: input.to, what: `target of ${channel.name}` });
  const { action } = input;
  if (!channel.handlers[action]) throw unsupported(channel, action);
  for (const need of NEEDS[action]) {
    if (!input[need]?.trim()) throw toolError("invalid_input", `To ${action}, "${need}" is required.`);
  }
  return { channel, to, address };
}

function unsupported({ name, type, actions }: OpenChannel, action: MessageAction) {
  return toolError("invalid_input", `${name} (${type}) cannot ${action}.`, {
    next: `It can: ${actions.join(", ")}.`,
  });
}

/** Finds an item by name; without a name, the only item. */
function pick<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  { name, what }: { name: string | undefined; what: string },
): T {
  const [only] = items;
  if (name === undefined && items.length === 1 && only !== undefined) return only;
  const found = items.find((item) => nameOf(item) === name);
  if (found !== undefined) return found;
  const names = items.map(nameOf);
  const next = (name && didYouMean(name, names)) ?? `There are: ${names.join(", ") || "none"}.`;
  const message = name === undefined ? `Which ${what}?` : `There is no ${what} ${JSON.stringify(name)}.`;
  throw toolError("invalid_input", message, { next });
}

function notReady({ name }: OpenChannel, problem: string) {
  return toolError("failed", `The channel ${name} is not ready: ${problem}. Nothing was sent.`, {
    next: "Only the user can configure this.",
  });
}

function describe({ name, type, targets, actions }: OpenChannel): string {
  return `${name} (${type}: ${actions.join(", ")}) to ${[...targets.keys()].join(", ")}`;
}

/** Everything the approver decides about, with hidden characters escaped. */
function preview({ action, text, subject, messageId, emoji }: Input, { channel, to, address }: MessageTarget) {
  const shown = (value: string | undefined, name = ""): string[] =>
    value === undefined ? [] : [`${name}${showHiddenCharacters(value)}`];
  const lines = [
    `${action}: ${channel.name} (${channel.type})`,
    ...shown(address === "" ? to : `${to} (${shownAddress(address)})`, "to: "),
    ...shown(messageId, "message: "),
    ...shown(emoji, "reaction: "),
    ...shown(subject, "subject: "),
    ...(text === undefined ? [] : ["", ...shown(text)]),
  ];
  return { title: action === "read" ? "Read messages" : "Send a message", content: [textBlock(lines.join("\n"))] };
}

/** The URL of a webhook is a secret: anyone who knows it can post. */
function shownAddress(address: string): string {
  return /^https?:/i.test(address) && URL.canParse(address) ? new URL(address).origin : address;
}

/** Every field is untrusted: people also choose their names. */
function disarmed({ id, from, text, at }: ReceivedMessage): ReceivedMessage {
  return {
    id: disarmText(id),
    from: disarmText(from),
    text: disarmText(text),
    at: at === undefined ? undefined : disarmText(at),
  };
}

function show(
  { summary, messageId, refused, messages: received }: Delivery,
  target: { action: string; channel: string; to: string },
) {
  const { action, channel, to } = target;
  const messages = received?.map(disarmed);
  const warnings = refused && [`Refused for: ${refused.map(disarmText).join(", ")}.`];
  const details = { ...target, messageId: messageId || undefined, refused, messages };
  const id = messageId ? ` Its id is ${disarmText(messageId)}.` : "";
  const listed = messages?.map(({ id: one, from, text, at = "" }) => `[${one}] ${at} ${from}: ${text}`).join("\n");
  return {
    content:
      listed === undefined
        ? [summary + id, ...(warnings ?? [])].join(" ")
        : `${summary}\n${wrapUntrusted(listed || "(no messages)", `${channel}/${to}`)}`,
    display: `${action} ${channel}/${to}`,
    details,
    metadata: warnings ? { warnings } : undefined,
  };
}

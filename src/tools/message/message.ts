import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";
import { type Delivery, MESSAGE_ACTIONS, type MessageAction, type ReceivedMessage } from "./channel.ts";
import type { OpenChannel } from "./open-channels.ts";

const NEEDS: Record<MessageAction, readonly ("text" | "messageId" | "emoji")[]> = {
  send: ["text"],
  reply: ["text", "messageId"],
  edit: ["text", "messageId"],
  delete: ["messageId"],
  react: ["messageId", "emoji"],
  read: [],
};
const DEFAULT_READ = 20;

const parameters = z.object({
  action: z.enum(MESSAGE_ACTIONS).default("send").describe("What to do; send where absent"),
  channel: z.string().optional().describe("Name of the channel; needed where there are several"),
  to: z.string().optional().describe("Name of a target of that channel; needed where it has several"),
  text: z.string().max(100_000).optional().describe("The message; for send, reply and edit"),
  subject: z.string().max(200).optional().describe("A title, where the channel has one (e-mail, desktop)"),
  messageId: z
    .string()
    .regex(/^[^\s/?#\\]{1,300}$/)
    .optional()
    .describe("Of an earlier message; for reply, edit, delete and react"),
  emoji: z.string().min(1).max(64).optional().describe("For react"),
  limit: z.number().int().min(1).max(100).optional().describe("For read: most messages; 20 where absent"),
});
type Input = z.infer<typeof parameters>;

/** Writes to people, in the channels and to the targets that the configuration names, and to nobody else. */
export function createMessageTool(channels: readonly OpenChannel[]) {
  const resolve = (input: Input) => resolveTarget(channels, input);
  const placeOf = (input: Input): string => {
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
      short: "Sends a message to people over a channel that the user has set up.",
      long: `Channels: ${channels.map(describe).join("; ") || "none is set up"}.`,
      usageNotes: ["What is answered says what is known of the delivery: that somebody read it never is."],
      important: ["A message cannot be called back. Do not send one again because its outcome is not known."],
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
    origin: { type: "builtin" },
    // Before anybody is asked about a message that cannot be sent.
    validate(input) {
      try {
        resolve(input);
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    },
    signature: placeOf,
    rule: placeOf,
    preview: async (input) => preview(input, resolve(input)),
    async run(input, { signal }) {
      const { channel, to, address } = resolve(input);
      const { action, text = "", subject = "", messageId = "", emoji = "", limit = DEFAULT_READ } = input;
      if (channel.problem !== undefined) throw notReady(channel, channel.problem);
      const request = { address, text, subject, messageId, emoji, limit, signal };
      const delivery = await channel.handlers[action]!(request);
      return show(delivery, { action, channel: channel.name, to });
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
    throw toolError("failed", "No channel is set up.", {
      next: "Tell the user: `message.channels` in the configuration.",
    });
  }
  const channel = pick(channels, ({ name }) => name, { wanted: input.channel, what: "channel" });
  const targets = [...channel.targets];
  const [to, address] = pick(targets, ([name]) => name, { wanted: input.to, what: `target of ${channel.name}` });
  const { action } = input;
  if (!channel.handlers[action]) {
    const next = `It can: ${channel.actions.join(", ")}.`;
    throw toolError("invalid_input", `${channel.name} (${channel.type}) cannot ${action}.`, { next });
  }
  for (const need of NEEDS[action]) {
    if (!input[need]?.trim()) throw toolError("invalid_input", `To ${action}, "${need}" is needed.`);
  }
  return { channel, to, address };
}

/** By its name; the only one where none is named. */
function pick<T>(
  items: readonly T[],
  nameOf: (item: T) => string,
  { wanted, what }: { wanted: string | undefined; what: string },
): T {
  const [only] = items;
  if (wanted === undefined && items.length === 1 && only !== undefined) return only;
  const found = items.find((item) => nameOf(item) === wanted);
  if (found !== undefined) return found;
  const names = items.map(nameOf);
  const next = (wanted && didYouMean(wanted, names)) ?? `There are: ${names.join(", ") || "none"}.`;
  const message = wanted === undefined ? `Which ${what}?` : `There is no ${what} ${JSON.stringify(wanted)}.`;
  throw toolError("invalid_input", message, { next });
}

function notReady({ name }: OpenChannel, problem: string) {
  return toolError("failed", `The channel ${name} is not ready: ${problem}. Nothing was sent.`, {
    next: "Tell the user; only they can set this up.",
  });
}

function describe({ name, type, targets, actions }: OpenChannel): string {
  return `${name} (${type}: ${actions.join(", ")}) to ${[...targets.keys()].join(", ")}`;
}

/** Everything that the answer decides about, with nothing hidden in it. */
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

/** Who holds the address of a webhook can post to it. */
function shownAddress(address: string): string {
  return /^https?:/i.test(address) && URL.canParse(address) ? new URL(address).origin : address;
}

/** What others wrote, in every field: names of people are chosen by them, too. */
function disarmed({ id, from, text, at }: ReceivedMessage): ReceivedMessage {
  const [cleanId, cleanFrom, cleanText] = [id, from, text].map(disarmText) as [string, string, string];
  return { id: cleanId, from: cleanFrom, text: cleanText, at: at === undefined ? undefined : disarmText(at) };
}

function show(
  { summary, messageId, refused, messages: received }: Delivery,
  place: { action: string; channel: string; to: string },
) {
  const { action, channel, to } = place;
  const messages = received?.map(disarmed);
  const warnings = refused && [`Refused for: ${refused.map(disarmText).join(", ")}.`];
  const details = {
    ...place,
    ...(messageId ? { messageId } : {}),
    ...(refused ? { refused } : {}),
    ...(messages ? { messages } : {}),
  };
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

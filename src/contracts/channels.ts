import { z } from "zod";
import { Name, page, Text, ToolResult } from "./basics.ts";
import { approve, namedObject, read } from "./contract.ts";

export const ChannelInfo = namedObject("ChannelInfo", {
  name: z.string(),
  type: z.string(),
  /** The names of allowed recipients, without their addresses. */
  targets: z.array(z.string()),
  actions: z.array(z.enum(["send", "reply", "edit", "delete", "react", "read"])),
  /** Why it is not ready, and what to do. */
  problem: z.string().optional(),
});
export type ChannelInfo = z.infer<typeof ChannelInfo>;

/** Sends a real message, as a call of the user. */
export const ChannelTestRequest = namedObject("ChannelTestRequest", {
  /** Default: the first target. */
  to: Name.optional(),
  /** Default: a fixed test message. */
  text: Text.optional(),
});
export type ChannelTestRequest = z.infer<typeof ChannelTestRequest>;

export const channels = {
  list: read("GET /api/channels", {
    summary: "Channels for messages, and whether they are ready",
    output: page("ChannelPage", ChannelInfo),
  }),
  test: approve("POST /api/channels/{name}/test", {
    summary: "Send a test message; deny rules still apply",
    body: ChannelTestRequest,
    output: ToolResult,
  }),
};

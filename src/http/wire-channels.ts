// A part of wire.ts: where messages can be written to.
import type { MessageAction } from "../tools/message/channel.ts";

// Channels: GET /api/channels, POST /api/channels/{name}/test

export interface ChannelInfo {
  name: string;
  type: string;
  /** The names that may be written to; not their addresses. */
  targets: string[];
  actions: MessageAction[];
  /** Why it is not ready, and what to do. */
  problem?: string;
}

/** Sends a real message, through the gate as the asker's own call. */
export interface ChannelTestRequest {
  /** A target; the first one where absent. */
  to?: string;
  /** Another text than the usual one. */
  text?: string;
}

import type { Transport } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import { parseFrame } from "./parse-frame.ts";

export interface WebSocketLaunch {
  url: URL;
  headers: Readonly<Record<string, string>>;
  maxMessageBytes: number;
}

/** A message a frame. No part of MCP, but some servers and clients have it. */
export async function createWebSocketTransport({ url, headers, maxMessageBytes }: WebSocketLaunch): Promise<Transport> {
  const { WebSocket } = await import("ws");
  let socket: InstanceType<typeof WebSocket> | undefined;
  const transport: Transport = {
    start() {
      const opened = new WebSocket(url, "mcp", {
        headers: { ...headers },
        maxPayload: maxMessageBytes,
        followRedirects: false,
      });
      socket = opened;
      opened.on("message", (data: Buffer) => {
        const message = parseFrame(data.toString("utf8"));
        if (message) transport.onmessage?.(message);
        else transport.onerror?.(new Error("The server sent what is no message."));
      });
      opened.on("close", () => transport.onclose?.());
      return new Promise((resolve, reject) => {
        opened.once("open", () => resolve());
        opened.on("error", (error) => {
          transport.onerror?.(error);
          reject(error);
        });
      });
    },
    async send(message) {
      if (socket?.readyState !== 1)
        throw toolError("unavailable", "The server is not connected", { next: "Reconnect it." });
      socket.send(JSON.stringify(message));
    },
    async close() {
      socket?.close();
    },
  };
  return transport;
}

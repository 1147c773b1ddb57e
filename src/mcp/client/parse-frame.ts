import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { LongLine } from "./read-lines.ts";

/** A message, or undefined for what is none. The SDK looks closer at what it is given. */
export function parseFrame(line: string): JSONRPCMessage | undefined {
  const whole = parse(line);
  if (whole) return whole;
  // Half a frame without a line end stands before a whole one: inside a text its quotes would be escaped.
  for (const start of FRAME_STARTS) {
    const at = line.lastIndexOf(start);
    const glued = at > 0 ? parse(line.slice(at)) : undefined;
    if (glued) return glued;
  }
  return undefined;
}

const FRAME_STARTS = ['{"jsonrpc":"2.0"', '{"result":'];

function parse(text: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isFrame =
      typeof value === "object" && value !== null && (value as Record<string, unknown>)["jsonrpc"] === "2.0";
    return isFrame ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}

/** The answer that a call gets whose real one was too long: it fails at once and does not wait for its time limit. */
export function refuseLongLine({ head, tail, bytes }: LongLine, maxBytes: number): JSONRPCMessage | undefined {
  const id = ID_FIRST.exec(head)?.[1] ?? ID_LAST.exec(tail)?.[1];
  if (id === undefined) return undefined;
  const message = `The server's answer has ${bytes} bytes; at most ${maxBytes} are taken.`;
  return { jsonrpc: "2.0", id: JSON.parse(id) as string | number, error: { code: TOO_LONG, message } };
}

/** Of the range that JSON-RPC leaves to implementations. */
export const TOO_LONG = -32_090;

const ID_FIRST =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[\w:.-]{1,100}")\s*,\s*"(?:result|error)/;
const ID_LAST = /,\s*"id"\s*:\s*(\d{1,15}|"[\w:.-]{1,100}")\s*\}\s*$/;

// Calls a tool through the HTTP door of a runtime, as a program with a token would.
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { CallOptions, Haft, ToolResult } from "haft";
import { createClient } from "../../src/client/index.ts";
import { type HttpServer, serveHttp } from "../../src/http/http-server.ts";
import { issueToken } from "../../src/http/tokens.ts";
import type { CallRequest, EventMessage, SocketRequest } from "../../src/http/wire.ts";

interface Called {
  haft: Haft;
  name: string;
  input: unknown;
  options: CallOptions;
}

const doors = new WeakMap<Haft, Promise<{ server: HttpServer; token: string }>>();

function doorOf(haft: Haft): Promise<{ server: HttpServer; token: string }> {
  let door = doors.get(haft);
  if (!door) doors.set(haft, (door = open(haft)));
  return door;
}

async function open(haft: Haft) {
  const server = await serveHttp(haft, { port: 0 });
  onTestFinished(() => server.close());
  const { token } = await issueToken(server.door.tokens, haft.executor.clock, {
    name: "program",
    scopes: ["read", "call"],
  });
  return { server, token };
}

/** What of a call's options a request can say. */
function requestOf({ name: tool, input, options: { id, mode, policy, allowedPaths } }: Called): CallRequest {
  return JSON.parse(JSON.stringify({ tool, input, id, mode, policy, allowedPaths })) as CallRequest;
}

export async function callOverHttp(called: Called): Promise<ToolResult> {
  const { server, token } = await doorOf(called.haft);
  const { tool, input, ...more } = requestOf(called);
  return createClient({ url: server.url, token }).calls.run(tool, input, more);
}

export async function callOverStream(called: Called): Promise<ToolResult> {
  const { server, token } = await doorOf(called.haft);
  const { tool, input, ...more } = requestOf(called);
  for await (const frame of createClient({ url: server.url, token }).calls.stream(tool, input, more)) {
    if (frame.type === "result") return frame.result;
  }
  throw new Error("The stream ended without a result.");
}

export async function callOverSocket(called: Called): Promise<ToolResult> {
  const { server, token } = await doorOf(called.haft);
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/socket`, {
    headers: { authorization: `Bearer ${token}` },
  });
  onTestFinished(() => socket.terminate());
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return new Promise((resolve, reject) => {
    socket.on("message", (data: Buffer) => {
      const message = JSON.parse(String(data)) as EventMessage;
      if (message.type !== "answer" || message.data.request !== "1") return;
      if ("error" in message.data) reject(new Error(message.data.error.message));
      else if ("frame" in message.data && message.data.frame.type === "result") resolve(message.data.frame.result);
    });
    socket.send(JSON.stringify({ type: "call", request: "1", call: requestOf(called) } satisfies SocketRequest));
  });
}

// Calls a tool over HTTP, an event stream and a WebSocket, as a program with a token does.
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { type AnyTool, type CallOptions, createTool, type Haft, type ToolResult } from "haft";
import { createClient } from "../../src/client.ts";
import { type HttpServer, serveHttp } from "../../src/server/http-server.ts";
import type { CallRequest, EventMessage, SocketRequest } from "../../src/contracts/index.ts";

interface Called {
  haft: Haft;
  name: string;
  input: unknown;
  options: CallOptions;
}

const servers = new WeakMap<Haft, Promise<{ server: HttpServer; token: string }>>();

function serverOf(haft: Haft): Promise<{ server: HttpServer; token: string }> {
  let api = servers.get(haft);
  if (!api) servers.set(haft, (api = open(haft)));
  return api;
}

async function open(haft: Haft) {
  const server = await serveHttp(haft, { port: 0 });
  onTestFinished(() => server.close());
  const token = await server.issueToken({ name: "program", scopes: ["read", "call"] });
  return { server, token };
}

/** The options of the call, also those that a request cannot have. The server knows the caller by its token. */
function requestOf({ name: tool, input, options: { caller, signal: _signal, ...options } }: Called): CallRequest {
  return JSON.parse(JSON.stringify({ tool, input, session: caller?.session, ...options })) as CallRequest;
}

export async function callOverHttp(called: Called): Promise<ToolResult> {
  const { server, token } = await serverOf(called.haft);
  const { tool, input, ...more } = requestOf(called);
  return createClient({ url: server.url, token }).calls.execute({ tool, input, ...more });
}

export async function callOverStream(called: Called): Promise<ToolResult> {
  const { server, token } = await serverOf(called.haft);
  const { tool, input, ...more } = requestOf(called);
  for await (const frame of createClient({ url: server.url, token }).calls.stream({ tool, input, ...more })) {
    if (frame.type === "result") return frame.result;
  }
  throw new Error("The stream ended without a result.");
}

export async function callOverSocket(called: Called): Promise<ToolResult> {
  const { server, token } = await serverOf(called.haft);
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

const served = new WeakMap<Haft, Map<string, (result: ToolResult) => void>>();

/** The tool's code runs at a client that brought it over the WebSocket; the runtime holds only its description. */
export async function installAtClient(haft: Haft, { run, ...config }: ClientSide): Promise<AnyTool> {
  const { server, token } = await serverOf(haft);
  const { name, description, aliases, parameters } = createTool({ ...config, run: () => "" });
  const ended = new Map<string, (result: ToolResult) => void>();
  served.set(haft, ended);
  class Heard extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      this.on("message", (data: Buffer) => {
        const message = JSON.parse(String(data)) as EventMessage;
        if (message.type === "answer" && "result" in message.data)
          ended.get(message.data.request)?.(message.data.result);
      });
    }
  }
  const serving = createClient({ url: server.url, token }).serveTools(
    [
      {
        name,
        kind: config.kind,
        description: description.short,
        aliases: [...aliases],
        parameters: parameters.jsonSchema,
        // A function stays on its side.
        needsApproval: config.permission === undefined ? undefined : false,
        run,
      },
    ],
    { WebSocket: Heard as never },
  );
  onTestFinished(() => serving.stop());
  await serving.ready;
  return haft.tools.registry.get(name)!;
}

type ClientSide = { name: string; run: (input: never) => unknown } & Pick<
  Parameters<typeof createTool>[0],
  "description" | "kind" | "aliases" | "parameters" | "permission"
>;

/** Gives what the client's answer became, where it came so far. */
export async function callAtClient({ haft, name, input, options }: Called): Promise<ToolResult> {
  const result = await haft.execute(name, input, { ...options, caller: { ...options.caller, user: "program" } });
  // A person is asked before the client is.
  if (result.status !== "pending" || result.pending.kind === "approval") return result;
  return new Promise((resolve) => served.get(haft)!.set(result.pending.id, resolve));
}

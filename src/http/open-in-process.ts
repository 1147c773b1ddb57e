import type { IncomingMessage } from "node:http";
import { type Duplex, duplexPair, Readable } from "node:stream";
import type { Haft } from "../runtime.ts";
import type { OriginPolicy } from "./allowed-places.ts";
import { createResponder } from "./answer-request.ts";
import { createApiContext, type ApiContextOptions } from "./create-door.ts";
import { HttpError } from "./door-error.ts";
import { createIdentify } from "./identify.ts";
import { paramsOf } from "./match-path.ts";

export interface InProcessServer {
  /** For `createClient`. The host's name does not matter. */
  fetch: typeof globalThis.fetch;
  close(): void;
}

// Not by import: that reads every export of the module, and one of them loads the runtime's whole implementation of fetch.
const { createServer, request } = process.getBuiltinModule("node:http");

const NO_ORIGIN_POLICY: OriginPolicy = { hosts: new Set(), ownOrigins: new Set(), otherOrigins: new Set() };
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * The same door for this process alone: no port is opened, so that nobody else can knock. Tokens are asked for all the same:
 * they say who calls.
 */
export function openInProcess(
  haft: Haft,
  { log, ...options }: Pick<ApiContextOptions, "tokens" | "parts" | "info"> & { log(line: string): void },
): InProcessServer {
  const { tokens } = options;
  const { clock } = haft;
  const cookieName = (): string => "haft";
  const { api, routes, listen } = createApiContext(haft, {
    ...options,
    warnings: [],
    secure: true,
    cookieName,
    originPolicy: () => NO_ORIGIN_POLICY,
  });
  const identify = createIdentify({ tokens, clock, limit: api.limit, cookieName });
  const { answer, refuse } = createResponder({
    identify,
    originPolicy: () => NO_ORIGIN_POLICY,
    maxBodyBytes: MAX_BODY_BYTES,
    log,
  });
  const server = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? "").split("?")[0]!;
    for (const route of routes) {
      const params = route.method === incoming.method ? paramsOf(route.path, path) : undefined;
      if (params) return void answer(route, params, incoming, outgoing);
    }
    refuse(incoming, outgoing, new HttpError("not_here", "This Haft does not have that"));
  });
  const stop = listen();
  const connections = new Set<Duplex>();

  const connect = (): Duplex => {
    const [near, far] = duplexPair();
    connections.add(near);
    // Neither end hears of the other's by itself.
    near.once("close", () => (connections.delete(near), far.destroy()));
    far.once("close", () => near.destroy());
    server.emit("connection", far);
    return near;
  };

  return {
    fetch: ((input: string | URL, init?: RequestInit) =>
      send(new URL(input), init ?? {}, connect)) as typeof globalThis.fetch,
    close() {
      stop();
      api.streams.close();
      for (const connection of connections) connection.destroy();
    },
  };
}

function send(
  url: URL,
  { method = "GET", headers, body, signal }: RequestInit,
  connect: () => Duplex,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const requested = request(
      {
        method,
        path: `${url.pathname}${url.search}`,
        headers: { host: url.host, ...(headers as Record<string, string>) },
        createConnection: () => connect(),
      },
      (incoming) => resolve(responseOf(incoming)),
    );
    const abort = (): void =>
      void requested.destroy(signal?.reason instanceof Error ? signal.reason : new Error("The request was aborted"));
    requested.on("error", reject);
    requested.on("close", () => signal?.removeEventListener("abort", abort));
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    requested.end(body ?? undefined);
  });
}

/** What the client reads of a Response. The runtime's own class would load its whole implementation of fetch. */
function responseOf(incoming: IncomingMessage): Response {
  const status = incoming.statusCode ?? 0;
  const text = async (): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  };
  return {
    ok: status >= 200 && status < 300,
    status,
    text,
    json: async () => JSON.parse(await text()) as unknown,
    get body() {
      return Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
    },
  } as Response;
}

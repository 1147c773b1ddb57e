import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Pool } from "undici";
import { errorCode, errorMessage, toolError, ToolError } from "../../core/error.ts";
import { createNetGuard, type NetGuard, type NetGuardOptions, type Target } from "./net-guard.ts";
import { portOf, readUrl } from "./url-check.ts";

export interface ConnectionOptions {
  guard: NetGuard;
  dial?: Dial;
  /** PEM certificates to trust instead of the system's. */
  ca?: string;
  /** Max open connections per origin. Default: 16. */
  connections?: number;
}

/** Connection pools, one per origin and set of checked addresses. */
export interface ConnectionPools {
  poolFor(target: Target): Promise<Pool>;
  close(): Promise<void>;
}

const MAX_POOLS = 64;
const CONNECTIONS_PER_POOL = 16;

export function createConnectionPools({
  guard,
  dial = dialDirectly,
  ca,
  connections = CONNECTIONS_PER_POOL,
}: ConnectionOptions): ConnectionPools {
  const pools = new Map<string, Pool>();
  let load: Promise<typeof import("undici")> | undefined;

  const connect = async (target: Target): Promise<Socket> => {
    const { url, addresses, proxy } = target;
    const socket = proxy ? await dialThroughProxy({ ...target, proxy }) : await dial({ addresses, port: portOf(url) });
    // Check the address that was really connected to, too.
    if (!proxy && dial === dialDirectly && !guard.mayReach(unmapped(socket.remoteAddress), url)) {
      socket.destroy();
      throw toolError("denied", `${url.origin} is refused: the connection went to an address that was not checked.`);
    }
    socket.setNoDelay(true);
    return url.protocol === "https:" ? secure(socket, url, ca) : socket;
  };

  return {
    async poolFor(target) {
      const key = `${target.url.origin} ${target.addresses.join(",")} ${target.proxy?.href ?? ""}`;
      const known = pools.get(key);
      if (known) return known;
      const { Pool } = await (load ??= import("undici"));
      const pool =
        pools.get(key) ??
        new Pool(target.url.origin, {
          connections,
          // The caller sets one deadline for the whole exchange.
          headersTimeout: 0,
          bodyTimeout: 0,
          maxHeaderSize: 64 * 1024,
          connect: (_options, done) => {
            connect(target).then(
              (socket) => done(null, socket),
              (error: unknown) => done(toError(error), null),
            );
          },
        });
      pools.set(key, pool);
      for (const [oldestKey, oldest] of pools) {
        if (pools.size <= MAX_POOLS) break;
        pools.delete(oldestKey);
        // Running requests finish first.
        void oldest.close();
      }
      return pool;
    },
    async close() {
      const all = [...pools.values()];
      pools.clear();
      await Promise.all(all.map((pool) => pool.destroy()));
    },
  };
}

/** A dual-stack socket reports IPv4 peers as IPv4-mapped IPv6 addresses. */
function unmapped(address = ""): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

const CONNECT_MS = 10_000;

/** Connects to one of the given addresses and to nothing else. */
export type Dial = (target: { addresses: readonly string[]; port: number }) => Promise<Socket>;

/** Node races several addresses (Happy Eyeballs). Nothing is resolved again. */
const dialDirectly: Dial = ({ addresses, port }) => {
  const [first] = addresses;
  const pinned = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return opened(
    connect({
      // Node calls `lookup` only for names, so a single address is passed directly.
      host: addresses.length === 1 && first !== undefined ? first : "checked.invalid",
      port,
      autoSelectFamily: true,
      lookup: (_host, _options, answer) => answer(null, pinned),
    }),
    "connect",
  );
};

/** Opens a tunnel through the proxy, to the checked address or, if the proxy resolves names, to the host name. */
function dialThroughProxy({ url, addresses, proxy }: Target & { proxy: URL }): Promise<Socket> {
  const [address] = addresses;
  const host = address === undefined ? url.hostname : address.includes(":") ? `[${address}]` : address;
  const authority = `${host}:${portOf(url)}`;
  return new Promise((resolve, reject) => {
    const requested = (proxy.protocol === "https:" ? httpsRequest : httpRequest)({
      host: proxy.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: portOf(proxy),
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...proxyCredentials(proxy) },
      agent: false,
      timeout: CONNECT_MS,
    });
    requested.once("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(proxyFailure(`responded with status ${statusCode}`));
    });
    requested.once("response", ({ statusCode }) => {
      requested.destroy();
      reject(proxyFailure(`responded with status ${statusCode}`));
    });
    requested.once("timeout", () => requested.destroy(new Error("did not respond in time")));
    requested.once("error", (cause) => reject(proxyFailure(cause.message, cause)));
    requested.end();
  });
}

/** The certificate must match the requested host name, not the address. */
function secure(socket: Socket, url: URL, ca: string | undefined): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const isName = !/^[\d.]+$|:/.test(host);
  return opened(
    connectTls({
      socket,
      host,
      servername: isName ? host : undefined,
      ALPNProtocols: ["http/1.1"],
      ca,
    }),
    "secureConnect",
  );
}

function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    const onTimeout = (): void => fail(Object.assign(new Error("connection timed out"), { code: "ETIMEDOUT" }));
    socket.setTimeout(CONNECT_MS, onTimeout);
    socket.once("error", fail);
    socket.once(event, () => {
      socket.setTimeout(0);
      socket.removeListener("timeout", onTimeout);
      socket.removeListener("error", fail);
      resolve(socket);
    });
  });
}

function proxyCredentials({ username, password }: URL): { "proxy-authorization"?: string } {
  if (!username && !password) return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}

function proxyFailure(why: string, cause?: unknown) {
  return toolError("unavailable", `The HTTP proxy of this machine ${why}.`, {
    next: "The user can check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.",
    cause,
  });
}

/** Opens a raw TCP connection to an allowed host, for protocols other than HTTP. */
export type OpenSocket = (address: SocketAddress, signal?: AbortSignal) => Promise<Socket>;

interface SocketAddress {
  host: string;
  port: number;
}

/** For the checks of URLs. */
export function urlOf({ host, port }: SocketAddress): URL {
  const url = readUrl(`https://${host.includes(":") ? `[${host}]` : host}:${port}`);
  // Of `host?` the port would be a query, and another one would be checked.
  if (portOf(url) !== port) throw toolError("invalid_input", `${JSON.stringify(host)} is not a host name.`);
  return url;
}

/** Checks the address like every request and connects to exactly that address, through the proxy if there is one. */
export function createOpenSocket(options: NetGuardOptions = {}): OpenSocket {
  const guard = createNetGuard(options);
  return async (address, signal) => {
    const target = await guard.admit(urlOf(address), signal);
    const { addresses, proxy } = target;
    const { port } = address;
    const socket = await (proxy ? dialThroughProxy({ ...target, proxy }) : dialDirectly({ addresses, port }));
    if (signal?.aborted) {
      socket.destroy();
      throw signal.reason;
    }
    return socket;
  };
}

/** Turns a connection failure into a message for a model. Tool errors are returned unchanged. */
export function explainFailure(cause: unknown, url: URL): ToolError {
  const origin = url.origin;
  const found = findToolError(cause);
  if (found) return found;
  const code = errorCode(firstFailure(cause)) ?? "";
  if (/^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO)/.test(code)) {
    return toolError("unavailable", `No secure connection to ${origin}: ${messageOf(cause)}.`, {
      next: "This machine does not trust its certificate. Only the user can change that.",
      cause,
    });
  }
  if (code === "ECONNREFUSED") return toolError("unavailable", `Nothing listens at ${origin}.`, { next: RETRY, cause });
  if (code.startsWith("HPE_") || code.startsWith("UND_ERR_")) {
    return toolError("unavailable", `${origin} closed the connection or does not speak HTTP: ${messageOf(cause)}.`, {
      next: RETRY,
      cause,
    });
  }
  return toolError("unavailable", `The connection to ${origin} failed: ${messageOf(cause)}.`, { next: RETRY, cause });
}

const RETRY = "Check the address, or try again later.";

function findToolError(cause: unknown): ToolError | undefined {
  if (cause instanceof ToolError) return cause;
  return cause instanceof Error && cause.cause instanceof ToolError ? cause.cause : undefined;
}

/** If several addresses were tried, the failure of the first. */
function firstFailure(cause: unknown): unknown {
  return cause instanceof AggregateError ? cause.errors[0] : cause;
}

function messageOf(cause: unknown): string {
  const first = firstFailure(cause);
  const text = errorMessage(first);
  return text
    .replace(/[\u0000-\u001f\u007f]+/g, " ")
    .replace(/\.$/, "")
    .slice(0, 200);
}

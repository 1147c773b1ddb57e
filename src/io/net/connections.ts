import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Pool } from "undici";
import { toolError, ToolError } from "../../core/error.ts";
import { createNetGuard, type NetGuard, type NetGuardOptions, type Target } from "./net-guard.ts";
import { portOf } from "./url-check.ts";

export interface ConnectionOptions {
  guard: NetGuard;
  dial?: Dial;
  /** Certificates in PEM to trust, besides nothing else; those of the system where absent. */
  ca?: string;
  /** To one origin at a time. */
  connections?: number;
}

/** Open connections, kept for each origin together with the addresses that were checked for it. */
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
    // Whatever the dialling did: the other end must be one that may be reached.
    if (!proxy && dial === dialDirectly && !guard.mayReach(unmapped(socket.remoteAddress), url)) {
      socket.destroy();
      throw toolError("denied", `${url.origin} is refused: the connection leads elsewhere than was checked.`);
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
          // The whole exchange has a deadline of its own.
          headersTimeout: 0,
          bodyTimeout: 0,
          maxHeaderSize: 64 * 1024,
          connect: (_options, done) => {
            connect(target).then(
              (socket) => done(null, socket),
              (error: unknown) => done(error as Error, null),
            );
          },
        });
      pools.set(key, pool);
      for (const [oldest, each] of pools) {
        if (pools.size <= MAX_POOLS) break;
        pools.delete(oldest);
        // Those under way end first.
        void each.close();
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

/** A socket that speaks both families names IPv4 peers in the other one's form. */
function unmapped(address = ""): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

const CONNECT_MS = 10_000;

/** Opens a connection to one of the addresses of a target, and to nothing else. */
export type Dial = (target: { addresses: readonly string[]; port: number }) => Promise<Socket>;

/** Several addresses are raced by the system's own rules; the resolver is not asked again. */
const dialDirectly: Dial = ({ addresses, port }) => {
  const [first] = addresses;
  const pinned = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return opened(
    connect({
      // The lookup is called for names alone: a single address is given as itself.
      host: addresses.length === 1 && first !== undefined ? first : "checked.invalid",
      port,
      autoSelectFamily: true,
      lookup: (_host, _options, answer) => answer(null, pinned),
    }),
    "connect",
  );
};

/** A tunnel through a proxy, which the host's own environment names: to the checked address unless it resolves names. */
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
      reject(proxyFailure(`answered with the status ${statusCode}`));
    });
    requested.once("response", ({ statusCode }) => {
      requested.destroy();
      reject(proxyFailure(`answered with the status ${statusCode}`));
    });
    requested.once("timeout", () => requested.destroy(new Error("did not answer in time")));
    requested.once("error", (cause) => reject(proxyFailure(cause.message, cause)));
    requested.end();
  });
}

/** The certificate must be the name's that was asked for, whichever address answers. */
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
    const late = (): void => fail(Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT" }));
    socket.setTimeout(CONNECT_MS, late);
    socket.once("error", fail);
    socket.once(event, () => {
      socket.setTimeout(0);
      socket.removeListener("timeout", late);
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
  return toolError("unavailable", `The proxy of this machine ${why}.`, {
    next: "The user can check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.",
    cause,
  });
}

/** A plain connection to a host that may be reached, for protocols other than HTTP. */
export type OpenSocket = (address: { host: string; port: number }, signal?: AbortSignal) => Promise<Socket>;

/** The address is checked as for every request, and exactly that one connected to; a proxy is asked where one is given. */
export function createOpenSocket(options: NetGuardOptions = {}): OpenSocket {
  const guard = createNetGuard(options);
  return async ({ host, port }, signal) => {
    const target = await guard.admit(`https://${host.includes(":") ? `[${host}]` : host}:${port}`, signal);
    const { addresses, proxy } = target;
    const socket = await (proxy ? dialThroughProxy({ ...target, proxy }) : dialDirectly({ addresses, port }));
    if (signal?.aborted) {
      socket.destroy();
      throw signal.reason;
    }
    return socket;
  };
}

/** What went wrong on the way, for a model; failures that are explained already stay as they are. */
export function explainFailure(cause: unknown, url: URL): ToolError {
  const origin = url.origin;
  const found = findToolError(cause);
  if (found) return found;
  const code = codeOf(cause);
  if (/^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO)/.test(code)) {
    return toolError("unavailable", `No secure connection to ${origin}: ${messageOf(cause)}.`, {
      next: "Its certificate is not trusted here; tell the user.",
      cause,
    });
  }
  if (code === "ECONNREFUSED") return toolError("unavailable", `Nothing answers at ${origin}.`, { next: RETRY, cause });
  if (code.startsWith("HPE_") || code.startsWith("UND_ERR_")) {
    return toolError("unavailable", `${origin} broke off, or does not speak HTTP: ${messageOf(cause)}.`, {
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

/** Of several addresses that were tried, the first one's. */
function codeOf(cause: unknown): string {
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return String((first as { code?: unknown } | null)?.code ?? "");
}

function messageOf(cause: unknown): string {
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  const text = first instanceof Error ? first.message : String(first);
  return text
    .replace(/[\u0000-\u001f\u007f]+/g, " ")
    .replace(/\.$/, "")
    .slice(0, 200);
}

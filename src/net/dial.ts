import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { toolError } from "../core/error.ts";
import type { Target } from "./net-guard.ts";
import { portOf } from "./read-url.ts";

const CONNECT_MS = 10_000;

/** Opens a connection to one of the addresses of a target, and to nothing else. */
export type Dial = (target: { addresses: readonly string[]; port: number }) => Promise<Socket>;

/** Several addresses are raced by the system's own rules; the resolver is not asked again. */
export const dialDirectly: Dial = ({ addresses, port }) => {
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
export function dialThroughProxy({ url, addresses, proxy }: Target & { proxy: URL }): Promise<Socket> {
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
export function secure(socket: Socket, url: URL, ca: string | undefined): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const isName = !/^[\d.]+$|:/.test(host);
  return opened(
    connectTls({
      socket,
      host,
      ...(isName ? { servername: host } : {}),
      ALPNProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { ca }),
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

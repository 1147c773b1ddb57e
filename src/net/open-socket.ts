import type { Socket } from "node:net";
import { dialDirectly, dialThroughProxy } from "./dial.ts";
import { createNetGuard, type NetGuardOptions } from "./net-guard.ts";

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

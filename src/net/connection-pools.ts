import type { Socket } from "node:net";
import type { Pool } from "undici";
import { toolError } from "../core/error.ts";
import { type Dial, dialDirectly, dialThroughProxy, secure } from "./dial.ts";
import type { NetGuard, Target } from "./net-guard.ts";
import { portOf } from "./read-url.ts";

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

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { toolError } from "../core/error.ts";

/** All addresses of a name. Rejects where there are none, or where it cannot be known. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

/** As the system does it, so that its hosts file and search rules count. */
export const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
};

/** What a host stands for: itself, where it is an address. An empty answer or a failure is never taken for a yes. */
export async function resolveHost(
  hostname: string,
  resolver: Resolver,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal)) return [literal];
  const answered = await abortable(resolver(hostname), signal).catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    throw unresolved(hostname, cause);
  });
  if (answered.length === 0) throw unresolved(hostname);
  return answered;
}

function unresolved(hostname: string, cause?: unknown) {
  return toolError("unavailable", `The host "${hostname}" cannot be resolved.`, {
    next: "Check the spelling of the host, or try again later.",
    cause,
  });
}

/** The system's lookup cannot be called off: it is left alone. */
function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

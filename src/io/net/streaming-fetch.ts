import { CloseStack } from "../../core/close-stack.ts";
import { toolError } from "../../core/error.ts";
import { createConnectionPools, type Dial, explainFailure } from "./connections.ts";
import { type Hop, nextHop, reasonToStop, redirectOf } from "./redirects.ts";
import { createNetGuard, type NetGuardOptions } from "./net-guard.ts";
import { readProxyEnvironment } from "./proxy-environment.ts";
import { portOf } from "./url-check.ts";

export interface StreamingNetOptions extends NetGuardOptions {
  /** Max open connections per origin; a stream occupies one while it is open. Default: 256. */
  connections?: number;
  ca?: string;
  /** Connects to a checked address; for tests without network. */
  dial?: Dial;
}

/** The part of the platform's `fetch` that is supported here. */
export type StreamingFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Guarded requests whose responses are streams of any length. The caller sets time limits. */
export interface StreamingNet {
  fetch: StreamingFetch;
  close(): Promise<void>;
}

const MAX_REDIRECTS = 5;
const CONNECTIONS_PER_ORIGIN = 256;

/** The guard checks every hop of a redirect. Credentials are sent only to the origin they were given for. */
export function createStreamingNet(options: StreamingNetOptions = {}): StreamingNet {
  const { connections = CONNECTIONS_PER_ORIGIN, ca, dial, ...policy } = options;
  const guard = createNetGuard(policy);
  const pools = createConnectionPools({ guard, connections, dial, ca });

  async function send(hop: Hop, signal: AbortSignal | null | undefined): Promise<Response> {
    const target = await guard.admit(hop.url, signal ?? undefined);
    const dispatcher = await pools.poolFor(target);
    const { fetch } = await import("undici");
    try {
      // undici declares its own Response type.
      return (await fetch(hop.url, {
        method: hop.method,
        headers: hop.headers,
        redirect: "manual",
        dispatcher,
        body: hop.body,
        signal,
      })) as unknown as Response;
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      throw explainFailure(cause instanceof TypeError && cause.cause ? cause.cause : cause, hop.url);
    }
  }

  return {
    async fetch(url, init = {}) {
      let hop = firstHop(new URL(url), init);
      for (let followed = 0; ; followed++) {
        const response = await send(hop, init.signal);
        const redirect = redirectOf(response.status, response.headers.get("location") ?? undefined, hop);
        if (!redirect || init.redirect === "manual" || reasonToStop(redirect, hop, "any")) return response;
        await response.body?.cancel();
        if (followed >= MAX_REDIRECTS) {
          throw toolError("failed", `${hop.url.origin} redirected more than ${MAX_REDIRECTS} times.`);
        }
        hop = nextHop(redirect, hop);
      }
    },
    close: pools.close,
  };
}

function firstHop(url: URL, { method = "GET", headers, body }: RequestInit): Hop {
  const given = new Headers(headers);
  if (body instanceof URLSearchParams && !given.has("content-type")) {
    given.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
  }
  return {
    url,
    method: method.toUpperCase(),
    headers: Object.fromEntries(given),
    body: body === null || body === undefined ? undefined : readBody(body),
  };
}

/** Streams are refused: a redirect may have to send the body again. */
function readBody(body: NonNullable<RequestInit["body"]>): string | Uint8Array {
  if (typeof body === "string") return body;
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof Uint8Array) return body;
  throw toolError("invalid_input", "The body of a request must be a string or bytes.");
}

/** Connects to MCP servers and models. The configuration names their addresses. */
export interface NamedNet {
  /**
   * A named address may be private: this host and port are allowed, for this fetch only. Addresses that it redirects to,
   * or signs in at, must be public or listed in `network.exceptions`.
   */
  fetchTo(addresses: readonly (string | undefined)[]): StreamingFetch;
  close(): Promise<void>;
}

export function openNamedNet(
  { exceptions = [], proxyResolvesNames }: { exceptions?: readonly string[]; proxyResolvesNames?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): NamedNet {
  const proxies = readProxyEnvironment(env, { resolvesNames: proxyResolvesNames });
  const closing = new CloseStack();
  return {
    fetchTo(addresses) {
      const net = createStreamingNet({ exceptions: [...exceptions, ...addresses.flatMap(hostOf)], proxies });
      closing.push("connections", () => net.close());
      return net.fetch;
    },
    close: () => closing.close(),
  };
}

/** An invalid address is reported when it is used. */
function hostOf(address: string | undefined): string[] {
  if (address === undefined || !URL.canParse(address)) return [];
  const url = new URL(address);
  return url.hostname === "" ? [] : [`${url.hostname}:${portOf(url)}`];
}

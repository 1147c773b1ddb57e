import { type Clock, systemClock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import { checkHeaders } from "./check-headers.ts";
import { createConnectionPools } from "./connection-pools.ts";
import { ACCEPT_ENCODING, decodeContent, encodingsOf } from "./decode-content.ts";
import type { Dial } from "./dial.ts";
import { explainFailure } from "./explain-failure.ts";
import { type Follow, type Hop, nextHop, reasonToStop, type Redirect, redirectOf } from "./follow-redirect.ts";
import { createNetGuard, type NetGuard, type NetGuardOptions, type Target } from "./net-guard.ts";
import { type RawAnswer, sendHop, type SendOptions } from "./send-hop.ts";

export interface GuardedNetOptions extends NetGuardOptions {
  clock?: Clock;
  /** Sent where the request names none. */
  userAgent?: string;
  /** Certificates in PEM that are trusted instead of the system's. */
  ca?: string;
  /** How a checked address is connected to; for tests that have no network. */
  dial?: Dial;
}

export interface GuardedRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** For everything together: resolving, connecting, redirects, and the body to its end. */
  timeoutMs?: number;
  /** Of the body, after its content encodings are undone. */
  maxBytes?: number;
  maxRedirects?: number;
  follow?: Follow;
}

export interface GuardedResponse {
  /** Of the last hop. */
  url: string;
  status: number;
  /** Names in lower case; several values of a name joined by a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** Those that were followed. */
  redirects: Redirect[];
  /** One that was not, and why. */
  notFollowed?: Redirect & { why: string };
}

export type GuardedFetch = (url: string, request?: GuardedRequest) => Promise<GuardedResponse>;

/** The one way out: everything that connects to the world does it through here. */
export interface GuardedNet extends NetGuard {
  fetch: GuardedFetch;
  close(): Promise<void>;
}

const NET_LIMITS = { timeoutMs: 30_000, maxBytes: 10 * 1024 * 1024, maxRedirects: 5 } as const;
const METHODS = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);
const BODILESS = new Set([204, 205, 304]);

export function createGuardedNet(options: GuardedNetOptions = {}): GuardedNet {
  const { clock = systemClock, userAgent = "Haft", ca, dial, ...policy } = options;
  const guard = createNetGuard(policy);
  const pools = createConnectionPools({ guard, ...(dial ? { dial } : {}), ...(ca === undefined ? {} : { ca }) });

  const fetch: GuardedFetch = async (url, request = {}) => {
    const { timeoutMs = NET_LIMITS.timeoutMs, signal } = request;
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    const timer = clock.after(timeoutMs, () => ending.abort(late(url, timeoutMs)));
    try {
      return await exchange(url, request, ending.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", stop);
    }
  };

  async function exchange(url: string, request: GuardedRequest, signal: AbortSignal): Promise<GuardedResponse> {
    const { maxBytes = NET_LIMITS.maxBytes, maxRedirects = NET_LIMITS.maxRedirects, follow = "any" } = request;
    let target = await guard.admit(url, signal);
    let hop: Hop = firstHop(target.url, request);
    const redirects: Redirect[] = [];
    for (;;) {
      let redirect: Redirect | undefined;
      let why: string | undefined;
      const { status, headers, body } = await send(target, hop, {
        signal,
        maxBytes,
        wantsBody(answer) {
          redirect = redirectOf(answer.status, answer.headers["location"], hop);
          why = redirect && reasonToStop(redirect, hop, follow);
          if (hop.method === "HEAD" || BODILESS.has(answer.status)) return false;
          encodingsOf(answer.headers["content-encoding"]);
          return redirect === undefined || why !== undefined;
        },
      });
      if (redirect === undefined || why !== undefined) {
        return {
          url: hop.url.href,
          status,
          headers,
          body: await decodeContent(body, headers["content-encoding"], maxBytes),
          redirects,
          ...(redirect && why !== undefined ? { notFollowed: { ...redirect, why } } : {}),
        };
      }
      redirects.push(redirect);
      if (redirects.length > maxRedirects) throw tooMany(redirects);
      hop = nextHop(redirect, hop);
      target = await guard.admit(hop.url, signal);
    }
  }

  async function send(target: Target, hop: Hop, options: Omit<SendOptions, "headers">): Promise<RawAnswer> {
    const { signal } = options;
    signal.throwIfAborted();
    const pool = await pools.poolFor(target);
    const headers = { "user-agent": userAgent, accept: "*/*", ...hop.headers, "accept-encoding": ACCEPT_ENCODING };
    try {
      return await sendHop(pool, hop, { ...options, headers });
    } catch (cause) {
      // What ended the whole exchange says more than what that did to a connection.
      if (signal.aborted) throw signal.reason;
      throw explainFailure(cause, hop.url);
    }
  }

  return { fetch, admit: guard.admit, mayReach: guard.mayReach, close: pools.close };
}

function firstHop(url: URL, { method = "GET", headers = {}, body }: GuardedRequest): Hop {
  const name = method.toUpperCase();
  if (!METHODS.has(name)) {
    throw toolError("invalid_input", `The method ${JSON.stringify(method.slice(0, 20))} is not one that is sent.`, {
      next: `Use ${[...METHODS].join(", ")}.`,
    });
  }
  if (body !== undefined && (name === "GET" || name === "HEAD")) {
    throw toolError("invalid_input", `A ${name} request has no body.`, { next: "Leave the body out, or use POST." });
  }
  return { url, method: name, headers: checkHeaders(headers), body };
}

/** Without the query, which may hold a key. */
function late(url: string, timeoutMs: number) {
  return toolError("timeout", `${url.replace(/[?#].*$/s, "").slice(0, 200)} did not answer within ${timeoutMs} ms.`, {
    next: "Try again later, or another address.",
  });
}

function tooMany(redirects: readonly Redirect[]) {
  return toolError("failed", `The address was redirected more than ${redirects.length - 1} times.`, {
    next: "It may lead in a circle; try another address.",
    data: { redirects: redirects.map(({ to }) => to).slice(0, 10) },
  });
}

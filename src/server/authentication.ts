import type { IncomingHttpHeaders } from "node:http";
import { BoundedMap } from "../core/bounded-map.ts";
import { ApiError } from "../contracts/errors.ts";
import type { Identity } from "../contracts/identity.ts";
import type { Clock } from "../core/clock.ts";
import { findToken, type TokenStore } from "../store/tokens.ts";

/** What a request presents. Never a part of its address: addresses end up in logs and histories. */
export interface Credentials {
  headers: IncomingHttpHeaders;
  /** Too many wrong tokens of one address have to wait. */
  remoteAddress: string | undefined;
  /** From the subprotocols of a WebSocket, because a browser cannot set a header there. */
  token?: string;
}

export interface AuthenticatorOptions {
  tokens: TokenStore;
  clock: Clock;
  /** Wrong tokens of one address: how many at once, and how long until one of them is forgotten. */
  failures?: FailureLimits;
  /** Of the session. It has the port, because browsers share cookies between the ports of a machine. */
  cookieName(): string;
}

interface FailureLimits {
  burst?: number;
  refillMs?: number;
}

const NEXT = "Send `Authorization: Bearer TOKEN`, or open the console at the address that the server printed.";
const CHALLENGE = { headers: { "www-authenticate": "Bearer" } };

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #failures: WrongTokens;
  /** Of the tokens that were accepted, to check later whether they are still valid. */
  readonly #hashes = new WeakMap<Identity, string>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#failures = new WrongTokens(options.clock, options.failures);
  }

  /** Rejects with `unauthorized` without a valid token. */
  async authenticate({ headers, remoteAddress, token }: Credentials): Promise<Identity> {
    const { tokens, clock, cookieName } = this.#options;
    const bearer = token ?? bearerOf(headers.authorization);
    const presented = bearer ?? cookieOf(headers.cookie, cookieName());
    if (presented === undefined) throw new ApiError("unauthorized", "A token is required", NEXT, CHALLENGE);
    const kind = bearer === undefined ? "session" : "token";
    const stored = await findToken(tokens, clock, presented, kind);
    if (!stored) throw this.wrongToken(remoteAddress);
    const { id, name, scopes, expiresAt, hash } = stored;
    const identity: Identity = { id, name, scopes, kind, expiresAt };
    this.#hashes.set(identity, hash);
    return identity;
  }

  /** Whether the token has neither been revoked nor expired. */
  async isCurrent(identity: Identity): Promise<boolean> {
    const { tokens, clock } = this.#options;
    if (identity.expiresAt !== undefined && identity.expiresAt <= clock.now()) return false;
    const hash = this.#hashes.get(identity);
    return hash !== undefined && (await tokens.find(hash)) !== undefined;
  }

  /** Counts the failure. Arrow: it is passed on. */
  readonly wrongToken = (remoteAddress = ""): ApiError => {
    const waitMs = this.#failures.add(remoteAddress);
    if (waitMs === undefined) return invalidToken();
    const seconds = String(Math.ceil(waitMs / 1000));
    const headers = { "retry-after": seconds, connection: "close" };
    return new ApiError("too_many_requests", "Too many wrong tokens", `Wait ${seconds} seconds.`, { headers });
  };
}

export function invalidToken(): ApiError {
  return new ApiError("unauthorized", "The token is invalid, expired or already used", NEXT, CHALLENGE);
}

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  // Another kind of header is a wrong token: a cookie must not decide instead.
  return /^Bearer ([\w.~+/=-]{1,512})$/i.exec(authorization)?.[1] ?? "";
}

function cookieOf(cookies: string | undefined, name: string): string | undefined {
  for (const part of cookies?.split(";") ?? []) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

const MAX_ADDRESSES = 10_000;

/** Counts wrong tokens by address. A correct token is accepted whatever others at the same address guess. */
class WrongTokens {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #refillMs: number;
  readonly #counts = new BoundedMap<string, { failures: number; at: number }>(MAX_ADDRESSES);

  constructor(clock: Clock, { burst = 10, refillMs = 6000 }: FailureLimits = {}) {
    this.#clock = clock;
    this.#burst = burst;
    this.#refillMs = refillMs;
  }

  /** The milliseconds to wait, if there were too many. */
  add(address: string): number | undefined {
    const at = this.#clock.monotonic();
    const before = this.#counts.get(address);
    const left = before ? Math.max(0, before.failures - (at - before.at) / this.#refillMs) : 0;
    const failures = Math.min(left + 1, this.#burst + 1);
    this.#counts.set(address, { failures, at });
    return failures > this.#burst ? Math.ceil((failures - this.#burst) * this.#refillMs) : undefined;
  }
}

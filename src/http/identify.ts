import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import { HttpError } from "./door-error.ts";
import type { FailureLimit } from "./failure-limit.ts";
import { findToken, type StoredToken, type TokenStore } from "./tokens.ts";
import type { Scope } from "./wire.ts";

/** Who asks: settled by the token alone, whatever the request says. */
export interface Identity {
  id: string;
  name: string;
  scopes: readonly Scope[];
  kind: "session" | "token";
  expiresAt?: number;
  /** Of the token, to look later whether it still counts. */
  hash: string;
}

/** What a request presents. Never a part of its address: addresses end up in logs and histories. */
export interface Credentials {
  headers: IncomingHttpHeaders;
  /** Who is told to wait after too many wrong tokens. */
  address: string;
  /** From a WebSocket's subprotocols, where a browser can set no header. */
  token?: string;
}

export interface IdentifyOptions {
  tokens: TokenStore;
  clock: Clock;
  limit: FailureLimit;
  /** Of the session; it holds the port, because browsers share cookies between the ports of a machine. */
  cookieName: () => string;
}

export type Identify = (credentials: Credentials) => MaybePromise<Identity>;

/** Throws `unauthorized` for whoever has no valid token. */
export function createIdentify({ tokens, clock, limit, cookieName }: IdentifyOptions): Identify {
  return ({ headers, address, token }) => {
    const bearer = token ?? bearerOf(headers.authorization);
    const presented = bearer ?? cookieOf(headers.cookie, cookieName());
    if (presented === undefined) throw new HttpError("unauthorized", "This needs a token", NEXT, CHALLENGE);
    const judge = (found: StoredToken | undefined): Identity => {
      if (!found) throw wrongToken(limit.failed(address));
      const { id, name, scopes, expiresAt, hash } = found;
      const kind = bearer === undefined ? "session" : "token";
      return { id, name, scopes, kind, hash, expiresAt };
    };
    const found = findToken(tokens, clock, presented, bearer === undefined ? "session" : "token");
    return found instanceof Promise ? found.then(judge) : judge(found);
  };
}

/** Whether a token that was accepted before has not been revoked and has not expired. */
export async function isCurrent({ hash, expiresAt }: Identity, tokens: TokenStore, clock: Clock): Promise<boolean> {
  if (expiresAt !== undefined && expiresAt <= clock.now()) return false;
  return (await tokens.find(hash)) !== undefined;
}

export function requireScope(identity: Identity, scope: Scope, what = "This"): void {
  if (identity.scopes.includes(scope)) return;
  throw new HttpError(
    "forbidden",
    `${what} needs the scope "${scope}", and the token "${identity.name}" has ${identity.scopes.join(", ") || "none"}`,
    "Use a token that has it.",
  );
}

export function wrongToken(waitMs: number | undefined): HttpError {
  if (waitMs === undefined)
    return new HttpError("unauthorized", "The token is wrong, used up or expired", NEXT, CHALLENGE);
  const seconds = String(Math.ceil(waitMs / 1000));
  const headers = { "retry-after": seconds, connection: "close" };
  return new HttpError("too_many_requests", "Too many wrong tokens", `Wait ${seconds} seconds.`, { headers });
}

const NEXT = "Send `Authorization: Bearer TOKEN`, or open the console at the address that the server printed.";
const CHALLENGE = { headers: { "www-authenticate": "Bearer" } };

function bearerOf(authorization: string | undefined): string | undefined {
  const match = /^Bearer ([\w.~+/=-]{1,512})$/i.exec(authorization ?? "");
  // A header that is no bearer token is a wrong token: a cookie beside it must not decide instead.
  return authorization === undefined ? undefined : (match?.[1] ?? "");
}

function cookieOf(cookies: string | undefined, name: string): string | undefined {
  for (const part of cookies?.split(";") ?? []) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Scope } from "./wire.ts";

export const SCOPES: readonly Scope[] = ["read", "call", "approve", "admin"];

/** What is kept of a token: never the token itself. */
export interface StoredToken {
  id: string;
  /** Who uses it: the user of the calls that it makes, and the name under its answers. */
  name: string;
  scopes: readonly Scope[];
  /** SHA-256 in hex. The tokens are random, so that nothing slower is needed. */
  hash: string;
  /** `login` can be exchanged for a `session` once, and opens nothing itself. */
  kind: "token" | "session" | "login";
  createdAt: number;
  expiresAt?: number;
}

export interface TokenStore {
  add(token: StoredToken): MaybePromise<void>;
  find(hash: string): MaybePromise<StoredToken | undefined>;
  /** False where there was none: of several who remove one, exactly one is told true. */
  remove(id: string): MaybePromise<boolean>;
  /** Oldest first. */
  list(): MaybePromise<readonly StoredToken[]>;
}

export class MemoryTokenStore implements TokenStore {
  readonly #byHash = new Map<string, StoredToken>();

  add(token: StoredToken): void {
    this.#byHash.set(token.hash, { ...token });
  }

  find(hash: string): StoredToken | undefined {
    return this.#byHash.get(hash);
  }

  remove(id: string): boolean {
    for (const [hash, token] of this.#byHash) if (token.id === id) return this.#byHash.delete(hash);
    return false;
  }

  list(): readonly StoredToken[] {
    return [...this.#byHash.values()].sort((a, b) => a.createdAt - b.createdAt);
  }
}

export interface NewTokenOptions {
  name: string;
  scopes: readonly Scope[];
  kind?: StoredToken["kind"];
  expiresInMs?: number;
  /** One that was made elsewhere, such as an environment variable; a random one where absent. */
  token?: string;
}

/** A token of somebody's own making must not be one that can be guessed. */
const MIN_CHARACTERS = 22;

/** Makes a token, keeps its hash, and gives it away this once. */
export async function issueToken(
  store: TokenStore,
  clock: Clock,
  { name, scopes, kind = "token", expiresInMs, token = randomBytes(32).toString("base64url") }: NewTokenOptions,
): Promise<{ token: string; stored: StoredToken }> {
  if (token.length < MIN_CHARACTERS) {
    throw new TypeError(`A token needs at least ${MIN_CHARACTERS} random characters. Leave it out to have one made.`);
  }
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw new TypeError(`There is no scope "${unknown}". Scopes are: ${SCOPES.join(", ")}.`);
  const createdAt = clock.now();
  const stored: StoredToken = {
    id: randomBytes(9).toString("base64url"),
    name,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    hash: hashToken(token),
    kind,
    createdAt,
    expiresAt: expiresInMs === undefined ? undefined : createdAt + expiresInMs,
  };
  await store.add(stored);
  return { token, stored };
}

/** The stored token behind a presented one; undefined for a wrong, expired or other kind of token. */
export function findToken(
  store: TokenStore,
  clock: Clock,
  presented: string,
  kind: StoredToken["kind"],
): MaybePromise<StoredToken | undefined> {
  const presentedHash = hashToken(presented);
  const judge = (found: StoredToken | undefined): StoredToken | undefined => {
    if (!found || found.kind !== kind || !equal(found.hash, presentedHash)) return undefined;
    return found.expiresAt !== undefined && found.expiresAt <= clock.now() ? undefined : found;
  };
  const found = store.find(presentedHash);
  return found instanceof Promise ? found.then(judge) : judge(found);
}

function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

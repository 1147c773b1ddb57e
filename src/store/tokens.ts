/** Access tokens: what is stored of them, how they are issued and found, and their table. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { Scope } from "../contracts/identity.ts";
import type { Clock } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { SqlDatabase } from "./database.ts";
import { migrate, type Migrations } from "./migrations.ts";
import { type Column, integer, json, optional, table, text } from "./table.ts";

export const SCOPES: readonly Scope[] = Scope.options;

/** Never has the token itself. */
export interface StoredToken {
  id: string;
  /** The user of the calls and answers that are made with it. */
  name: string;
  scopes: readonly Scope[];
  /** SHA-256 in hex. Tokens are random, so a slower hash is not needed. */
  hash: string;
  /** `login` can be exchanged once for a `session`, and has no other use. */
  kind: "token" | "session" | "login";
  createdAt: number;
  expiresAt?: number;
}

export interface TokenStore {
  add(token: StoredToken): MaybePromise<void>;
  find(hash: string): MaybePromise<StoredToken | undefined>;
  /** With the sessions and links that were made with it. Returns whether it existed. If several remove one at the same time, exactly one gets true. */
  remove(id: string): MaybePromise<boolean>;
  /** Oldest first. */
  list(): MaybePromise<readonly StoredToken[]>;
}

export interface NewTokenOptions {
  name: string;
  scopes: readonly Scope[];
  /** Default: `token`. */
  kind?: StoredToken["kind"];
  expiresInMs?: number;
  /** The id of the token that a session or link is made with: it ends with that token. */
  parent?: string;
  /** One that exists already, such as an environment variable. Default: a random one. */
  token?: string;
}

/** A token that a person chose must not be easy to guess. */
const MIN_CHARACTERS = 22;

/**
 * Creates a token and stores its hash. This is the only time that the token itself is returned.
 *
 * @example
 * const { token } = await issueToken(tokens, haft.settings.clock, { name: "ann", scopes: ["call"] });
 */
export async function issueToken(
  store: TokenStore,
  clock: Clock,
  { name, scopes, kind = "token", expiresInMs, parent, token: given }: NewTokenOptions,
): Promise<{ token: string; stored: StoredToken }> {
  const token = given ?? randomBytes(32).toString("base64url");
  if (token.length < MIN_CHARACTERS) {
    throw new TypeError(`A token needs at least ${MIN_CHARACTERS} random characters. Omit it to get a random one.`);
  }
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw new TypeError(`There is no scope "${unknown}". Scopes: ${SCOPES.join(", ")}.`);
  const createdAt = clock.now();
  const stored: StoredToken = {
    id: childPrefix(parent) + newId(given),
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

/** Of a given token, the same in every process. Does not begin with "-", because people type it on a command line. */
function newId(given: string | undefined): string {
  const id =
    given === undefined
      ? randomBytes(9).toString("base64url")
      : hash("sha256", `id ${given}`, "base64url").slice(0, 12);
  return id.replace(/^-/, "_");
}

/** The stored token; undefined if the presented one is wrong, expired or of another kind. */
export async function findToken(
  store: TokenStore,
  clock: Clock,
  presented: string,
  kind: StoredToken["kind"],
): Promise<StoredToken | undefined> {
  const presentedHash = hashToken(presented);
  const found = await store.find(presentedHash);
  if (!found || found.kind !== kind || !equal(found.hash, presentedHash)) return undefined;
  return found.expiresAt !== undefined && found.expiresAt <= clock.now() ? undefined : found;
}

/** The ids of the sessions and links that were made with a token begin with this. */
export function childPrefix(parent: string | undefined): string {
  return parent === undefined ? "" : `${parent}.`;
}

/** The id of the token that a session or link was made with. */
export function parentOf(id: string): string | undefined {
  const end = id.lastIndexOf(".");
  return end < 0 ? undefined : id.slice(0, end);
}

function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

export class MemoryTokenStore implements TokenStore {
  readonly #byHash = new Map<string, StoredToken>();

  add(token: StoredToken): void {
    this.#byHash.set(token.hash, { ...token });
  }

  find(tokenHash: string): StoredToken | undefined {
    return this.#byHash.get(tokenHash);
  }

  remove(id: string): boolean {
    const removed = this.list().filter((token) => token.id === id || token.id.startsWith(childPrefix(id)));
    for (const token of removed) this.#byHash.delete(token.hash);
    return removed.length > 0;
  }

  list(): readonly StoredToken[] {
    return [...this.#byHash.values()].sort((a, b) => a.createdAt - b.createdAt);
  }
}

const scopeList: Column<readonly Scope[]> = {
  ...text(),
  toSql: (scopes) => scopes.join(","),
  fromSql: (list) => SCOPES.filter((scope) => String(list).split(",").includes(scope)),
};
const tokens = table("tokens", {
  id: text("PRIMARY KEY"),
  name: json<string>(),
  scopes: scopeList,
  hash: text("NOT NULL UNIQUE"),
  kind: text<StoredToken["kind"]>(),
  createdAt: integer(),
  expiresAt: optional(integer()),
});

export const TOKEN_MIGRATIONS: Migrations = { name: "tokens", versions: [[tokens.create]] };

/** Tokens in an open database. The table is created if it is missing. */
export async function openTokenStore(database: SqlDatabase, now: number): Promise<TokenStore> {
  await migrate(database, [TOKEN_MIGRATIONS], now);
  return new SqlTokenStore(database);
}

/** Opens the table when it is first used: most commands and requests need no stored token. */
export function openTokensOnUse(database: SqlDatabase, clock: Clock): TokenStore {
  let opened: Promise<TokenStore> | undefined;
  const open = (): Promise<TokenStore> => (opened ??= openTokenStore(database, clock.now()));
  return {
    add: async (token) => (await open()).add(token),
    find: async (tokenHash) => (await open()).find(tokenHash),
    remove: async (id) => (await open()).remove(id),
    list: async () => (await open()).list(),
  };
}

/** Shared by all servers that use the database. */
class SqlTokenStore implements TokenStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async add(token: StoredToken): Promise<void> {
    await this.#database.transaction(
      async (tx) => {
        // Expired tokens have no use, and nothing else removes them.
        await tx.run("DELETE FROM tokens WHERE expires_at < ?", [token.createdAt]);
        await tokens.insert(tx, token);
      },
      { synced: true },
    );
  }

  async find(tokenHash: string): Promise<StoredToken | undefined> {
    const [token] = await tokens.select(this.#database, tokens.keys, "WHERE hash = ?", [tokenHash]);
    return token;
  }

  async remove(id: string): Promise<boolean> {
    const prefix = childPrefix(id);
    const sql = "DELETE FROM tokens WHERE id = ? OR substr(id, 1, ?) = ?";
    return (await this.#database.run(sql, [id, prefix.length, prefix])).changes > 0;
  }

  list(): Promise<readonly StoredToken[]> {
    return tokens.select(this.#database, tokens.keys, "ORDER BY created_at, id");
  }
}

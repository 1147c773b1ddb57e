import { migrate, type Migrations } from "../store/migrations.ts";
import type { SqlDatabase } from "../store/database.ts";
import type { StoredToken, TokenStore } from "./tokens.ts";
import type { Scope } from "./wire.ts";

const TOKEN_MIGRATIONS: Migrations = {
  name: "tokens",
  versions: [
    [
      "CREATE TABLE tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, " +
        "kind TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT)",
    ],
  ],
};

interface TokenRow {
  id: string;
  name: string;
  scopes: string;
  hash: string;
  kind: string;
  created_at: number;
  expires_at: number | null;
}

const COLUMNS = "id, name, scopes, hash, kind, created_at, expires_at";

/** The tokens of a store that is open; its tables are made where they are not there yet. */
export async function openTokenStore(database: SqlDatabase, now: number): Promise<TokenStore> {
  await migrate(database, [TOKEN_MIGRATIONS], now);
  return new SqlTokenStore(database);
}

/** Tokens that outlive the process, and that several servers on one store share. */
class SqlTokenStore implements TokenStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async add({ id, name, scopes, hash, kind, createdAt, expiresAt }: StoredToken): Promise<void> {
    await this.#database.transaction(
      async (tx) => {
        // Nobody else tidies up: what has expired long ago is of no use to anybody.
        await tx.run("DELETE FROM tokens WHERE expires_at < ?", [createdAt]);
        await tx.run(`INSERT INTO tokens (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`, [
          id,
          JSON.stringify(name),
          scopes.join(","),
          hash,
          kind,
          createdAt,
          expiresAt ?? null,
        ]);
      },
      { synced: true },
    );
  }

  find(hash: string): StoredToken | undefined | Promise<StoredToken | undefined> {
    const rows = this.#database.all<TokenRow>(`SELECT ${COLUMNS} FROM tokens WHERE hash = ?`, [hash]);
    const first = (found: TokenRow[]): StoredToken | undefined => (found[0] ? tokenOf(found[0]) : undefined);
    return rows instanceof Promise ? rows.then(first) : first(rows);
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#database.run("DELETE FROM tokens WHERE id = ?", [id])).changes > 0;
  }

  async list(): Promise<readonly StoredToken[]> {
    const rows = await this.#database.all<TokenRow>(`SELECT ${COLUMNS} FROM tokens ORDER BY created_at, id`);
    return rows.map(tokenOf);
  }
}

function tokenOf({ id, name, scopes, hash, kind, created_at, expires_at }: TokenRow): StoredToken {
  return {
    id,
    name: JSON.parse(name) as string,
    scopes: scopes.split(",").filter(Boolean) as Scope[],
    hash,
    kind: kind as StoredToken["kind"],
    createdAt: created_at,
    expiresAt: expires_at === null ? undefined : expires_at,
  };
}

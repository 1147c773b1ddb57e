import type { MaybePromise } from "../core/stage.ts";
import type {
  ServerQuestion,
  ServerQuestionChanges,
  ServerQuestionState,
  ServerQuestionStore,
} from "../mcp/client/elicitation.ts";
import type { StoredSignIn, TokenStore } from "../mcp/client/oauth.ts";
import type { Pin, PinStore } from "../mcp/client/tool-pinning.ts";
import type { SqlDatabase } from "./database.ts";
import type { Owners } from "./process-owners.ts";
import { after, type StoreModule } from "./table.ts";

interface PinRow {
  server: string;
  tool: string;
  hash: string;
  definition: string;
  pinned_at: number;
}

/** Which definitions of MCP servers a person has seen. */
export const pinsModule: StoreModule<PinStore> = {
  migrations: {
    name: "mcp_pins",
    versions: [
      [
        `CREATE TABLE mcp_pins (
           server TEXT NOT NULL,
           tool TEXT NOT NULL,
           hash TEXT NOT NULL,
           definition TEXT NOT NULL,
           pinned_at BIGINT NOT NULL,
           PRIMARY KEY (server, tool)
         )`,
      ],
      ["CREATE TABLE mcp_pins_off (server TEXT NOT NULL, tool TEXT NOT NULL, PRIMARY KEY (server, tool))"],
    ],
  },
  open: ({ database }) => createPinStore(database),
};

function createPinStore(database: SqlDatabase): PinStore {
  return {
    list: (server) =>
      after(
        database.all<PinRow>("SELECT * FROM mcp_pins WHERE server = ? ORDER BY tool", [server]),
        (rows): readonly Pin[] => rows.map(({ pinned_at, ...pin }) => ({ ...pin, pinnedAt: pinned_at })),
      ),
    put: ({ server, tool, hash, definition, pinnedAt }) =>
      after(
        database.run(
          "INSERT INTO mcp_pins (server, tool, hash, definition, pinned_at) VALUES (?, ?, ?, ?, ?) " +
            "ON CONFLICT (server, tool) DO UPDATE SET hash = excluded.hash, definition = excluded.definition, " +
            "pinned_at = excluded.pinned_at",
          [server, tool, hash, definition, pinnedAt],
        ),
        () => undefined,
      ),
    remove: (server, tool) =>
      after(
        tool === undefined
          ? database.run("DELETE FROM mcp_pins WHERE server = ?", [server])
          : database.run("DELETE FROM mcp_pins WHERE server = ? AND tool = ?", [server, tool]),
        () => undefined,
      ),
    switchedOff: (server) =>
      after(
        database.all<{ tool: string }>("SELECT tool FROM mcp_pins_off WHERE server = ?", [server]),
        (rows): readonly string[] => rows.map(({ tool }) => tool).sort(),
      ),
    switchTool: (server, tool, isOn) =>
      after(
        isOn
          ? database.run("DELETE FROM mcp_pins_off WHERE server = ? AND tool = ?", [server, tool])
          : database.run(
              "INSERT INTO mcp_pins_off (server, tool) VALUES (?, ?) ON CONFLICT (server, tool) DO NOTHING",
              [server, tool],
            ),
        () => undefined,
      ),
  };
}

/** Tokens of remote MCP servers: secret, and readable by this user alone as the whole store is. */
export const signInsModule: StoreModule<TokenStore> = {
  migrations: {
    name: "mcp_sign_ins",
    versions: [["CREATE TABLE mcp_sign_ins (server TEXT NOT NULL PRIMARY KEY, sign_in TEXT NOT NULL)"]],
  },
  open: ({ database }) => createSignInStore(database),
};

function createSignInStore(database: SqlDatabase): TokenStore {
  return {
    get: (server) =>
      after(database.all<{ sign_in: string }>("SELECT sign_in FROM mcp_sign_ins WHERE server = ?", [server]), ([row]) =>
        row ? (JSON.parse(row.sign_in) as StoredSignIn) : undefined,
      ),
    set: (server, signIn) =>
      after(
        database.run(
          "INSERT INTO mcp_sign_ins (server, sign_in) VALUES (?, ?) " +
            "ON CONFLICT (server) DO UPDATE SET sign_in = excluded.sign_in",
          [server, JSON.stringify(signIn)],
        ),
        () => undefined,
      ),
    delete: (server) => after(database.run("DELETE FROM mcp_sign_ins WHERE server = ?", [server]), () => undefined),
  };
}

/** What MCP servers ask people, so that every process and every door can answer. */
export const serverQuestionsModule: StoreModule<ServerQuestionStore> = {
  migrations: {
    name: "mcp_questions",
    versions: [
      [
        `CREATE TABLE mcp_questions (
           id TEXT NOT NULL PRIMARY KEY,
           state TEXT NOT NULL,
           asked_at BIGINT NOT NULL,
           owner TEXT NOT NULL,
           record TEXT NOT NULL
         )`,
        "CREATE INDEX mcp_questions_by_state ON mcp_questions (state, asked_at)",
      ],
    ],
  },
  open: ({ database, owners }) => new SqlServerQuestions(database, owners),
};

interface Row {
  record: string;
  owner: string;
}

class SqlServerQuestions implements ServerQuestionStore {
  readonly shared = true;
  readonly #db: SqlDatabase;
  readonly #owners: Owners;

  constructor(db: SqlDatabase, owners: Owners) {
    this.#db = db;
    this.#owners = owners;
  }

  add(question: ServerQuestion, maxOpen: number): MaybePromise<boolean> {
    const { id, state, askedAt } = question;
    return this.#db.transaction<boolean>((tx) =>
      after(tx.lock("mcp_questions"), () =>
        after(
          tx.all<{ open: number }>("SELECT count(*) AS open FROM mcp_questions WHERE state = 'open'"),
          ([counted]) => {
            if ((counted?.open ?? 0) >= maxOpen) return false;
            const written = tx.run(
              "INSERT INTO mcp_questions (id, state, asked_at, owner, record) VALUES (?, ?, ?, ?, ?)",
              [id, state, askedAt, this.#owners.id, JSON.stringify(question)],
            );
            return after(written, () => true);
          },
        ),
      ),
    );
  }

  async get(id: string): Promise<ServerQuestion | undefined> {
    const [row] = await this.#db.all<Row>("SELECT record, owner FROM mcp_questions WHERE id = ?", [id]);
    return row && this.#living(row);
  }

  async list(state: ServerQuestionState | undefined, max: number): Promise<ServerQuestion[]> {
    const newest = "ORDER BY asked_at DESC, id DESC LIMIT ?";
    const rows = await (state === undefined
      ? this.#db.all<Row>(`SELECT record, owner FROM mcp_questions ${newest}`, [max])
      : this.#db.all<Row>(`SELECT record, owner FROM mcp_questions WHERE state = ? ${newest}`, [state, max]));
    const all: ServerQuestion[] = [];
    for (const row of rows.reverse()) all.push(await this.#living(row));
    return all.filter((question) => state === undefined || question.state === state);
  }

  change(
    id: string,
    from: ServerQuestionState,
    changes: ServerQuestionChanges,
  ): MaybePromise<ServerQuestion | undefined> {
    return this.#db.transaction<ServerQuestion | undefined>(
      (tx) =>
        after(
          tx.all<Row>("SELECT record, owner FROM mcp_questions WHERE id = ? AND state = ?", [id, from]),
          ([row]) => {
            if (!row) return undefined;
            // As JSON, so that a key that is undefined is dropped.
            const changed = JSON.stringify({ ...(JSON.parse(row.record) as ServerQuestion), ...changes });
            const written = tx.run("UPDATE mcp_questions SET state = ?, record = ? WHERE id = ? AND state = ?", [
              changes.state,
              changed,
              id,
              from,
            ]);
            // Of two who read the same row, the second finds another state when its turn has come.
            return after(written, ({ changes: rows }) =>
              rows === 1 ? (JSON.parse(changed) as ServerQuestion) : undefined,
            );
          },
        ),
      { synced: true },
    );
  }

  prune(before: number): MaybePromise<void> {
    return after(this.#db.run("DELETE FROM mcp_questions WHERE asked_at < ?", [before]), () => undefined);
  }

  /** The server that asked was connected to a process: where that is gone, nobody waits for the answer. */
  async #living({ record, owner }: Row): Promise<ServerQuestion> {
    const question = JSON.parse(record) as ServerQuestion;
    if (question.state !== "open" || (await this.#owners.isAlive(owner))) return question;
    const note = "The process that it was asked in is gone.";
    return (await this.change(question.id, "open", { state: "cancelled", note })) ?? question;
  }
}

import type { MaybePromise } from "../core/stage.ts";
import type { ServerQuestion, ServerQuestionState } from "../mcp/client/server-question.ts";
import type { ServerQuestionChanges, ServerQuestionStore } from "../mcp/client/server-question-store.ts";
import { after } from "./after.ts";
import type { Owners } from "./owners.ts";
import type { SqlDatabase } from "./sql-database.ts";
import type { StoreModule } from "./store-part.ts";

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

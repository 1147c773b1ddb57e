import { randomBytes } from "node:crypto";
import type {
  ServerQuestion,
  ServerQuestionChanges,
  ServerQuestionState,
  ServerQuestionStore,
} from "../mcp/client/elicitation.ts";
import type { SignInStore, StoredSignIn } from "../mcp/client/oauth.ts";
import type { Pin, PinStore } from "../mcp/client/tool-pinning.ts";
import type { SqlDatabase } from "./database.ts";
import type { Owners } from "./process-owners.ts";
import { integer, json, type RowOf, type StoreModule, table, text } from "./table.ts";

const pins = table(
  "mcp_pins",
  { server: text(), tool: text(), hash: text(), definition: text(), pinnedAt: integer() },
  "PRIMARY KEY (server, tool)",
);
const switchedOff = table("mcp_pins_off", { server: text(), tool: text() }, "PRIMARY KEY (server, tool)");

/** The tool definitions of MCP servers that a person has seen, and the tools that are switched off. */
export const pinsModule: StoreModule<PinStore> = {
  migrations: { name: "mcp_pins", versions: [[pins.create], [switchedOff.create]] },
  open: ({ database }) => new SqlPins(database),
};

class SqlPins implements PinStore {
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  list(server: string): Promise<Pin[]> {
    return pins.select(this.#db, pins.keys, "WHERE server = ? ORDER BY tool", [server]);
  }

  async put(pin: Pin): Promise<void> {
    await pins.upsert(this.#db, pin, ["server", "tool"]);
  }

  async remove(server: string, tool?: string): Promise<void> {
    if (tool === undefined) await this.#db.run("DELETE FROM mcp_pins WHERE server = ?", [server]);
    else await this.#db.run("DELETE FROM mcp_pins WHERE server = ? AND tool = ?", [server, tool]);
  }

  async switchedOff(server: string): Promise<string[]> {
    const rows = await switchedOff.select(this.#db, ["tool"], "WHERE server = ?", [server]);
    return rows.map(({ tool }) => tool).sort();
  }

  async switchTool(server: string, tool: string, isOn: boolean): Promise<void> {
    if (isOn) await this.#db.run("DELETE FROM mcp_pins_off WHERE server = ? AND tool = ?", [server, tool]);
    else await switchedOff.insert(this.#db, { server, tool }, "ON CONFLICT (server, tool) DO NOTHING");
  }
}

const signIns = table("mcp_sign_ins", { server: text("NOT NULL PRIMARY KEY"), signIn: json<StoredSignIn>() });

/** Tokens of remote MCP servers. Like the whole store, readable by this user only. */
export const signInsModule: StoreModule<SignInStore> = {
  migrations: { name: "mcp_sign_ins", versions: [[signIns.create]] },
  open: ({ database }) => ({
    async get(server) {
      const [row] = await signIns.select(database, ["signIn"], "WHERE server = ?", [server]);
      return row?.signIn;
    },
    set: (server, signIn) => signIns.upsert(database, { server, signIn }, ["server"]),
    async delete(server) {
      await database.run("DELETE FROM mcp_sign_ins WHERE server = ?", [server]);
    },
  }),
};

const questions = table("mcp_questions", {
  id: text("NOT NULL PRIMARY KEY"),
  state: text<ServerQuestionState>(),
  askedAt: integer(),
  owner: text(),
  record: json<ServerQuestion>(),
});

/** Questions of MCP servers to people. Every process that shares the store can answer them. */
export const serverQuestionsModule: StoreModule<ServerQuestionStore> = {
  migrations: {
    name: "mcp_questions",
    versions: [[questions.create, "CREATE INDEX mcp_questions_by_state ON mcp_questions (state, asked_at)"]],
  },
  open: ({ database, owners }) => new SqlServerQuestions(database, owners),
};

class SqlServerQuestions implements ServerQuestionStore {
  readonly shared = true;
  readonly #db: SqlDatabase;
  readonly #owners: Owners;

  constructor(db: SqlDatabase, owners: Owners) {
    this.#db = db;
    this.#owners = owners;
  }

  async add(question: ServerQuestion, maxOpen: number): Promise<boolean> {
    const { id, state, askedAt } = question;
    return this.#db.transaction(async (tx) => {
      await tx.lock("mcp_questions");
      const [counted] = await tx.all<{ open: number }>(
        "SELECT count(*) AS open FROM mcp_questions WHERE state = 'open'",
      );
      if ((counted?.open ?? 0) >= maxOpen) return false;
      await questions.insert(tx, { id, state, askedAt, owner: this.#owners.id, record: question });
      return true;
    });
  }

  async get(id: string): Promise<ServerQuestion | undefined> {
    const [row] = await questions.select(this.#db, ["record", "owner"], "WHERE id = ?", [id]);
    return row && this.#cancelIfOrphaned(row);
  }

  async list(state: ServerQuestionState | undefined, max: number): Promise<ServerQuestion[]> {
    const newest = "ORDER BY asked_at DESC, id DESC LIMIT ?";
    const rows = await (state === undefined
      ? questions.select(this.#db, ["record", "owner"], newest, [max])
      : questions.select(this.#db, ["record", "owner"], `WHERE state = ? ${newest}`, [state, max]));
    const all: ServerQuestion[] = [];
    for (const row of rows.reverse()) all.push(await this.#cancelIfOrphaned(row));
    return all.filter((question) => state === undefined || question.state === state);
  }

  async change(
    id: string,
    from: ServerQuestionState,
    changes: ServerQuestionChanges,
  ): Promise<ServerQuestion | undefined> {
    return this.#db.transaction(
      async (tx) => {
        const [row] = await questions.select(tx, ["record"], "WHERE id = ? AND state = ?", [id, from]);
        if (!row) return undefined;
        // If two processes read the same row, the second finds another state here.
        const updated = await tx.all(
          "UPDATE mcp_questions SET state = ?, record = ? WHERE id = ? AND state = ? RETURNING record",
          [changes.state, questions.toSql("record", { ...row.record, ...changes }), id, from],
        );
        return questions.read(["record"], updated)[0]?.record;
      },
      { synced: true },
    );
  }

  async prune(before: number): Promise<void> {
    await this.#db.run("DELETE FROM mcp_questions WHERE asked_at < ?", [before]);
  }

  /** The server was connected to the process that asked: if that process is gone, the answer would reach nobody. */
  async #cancelIfOrphaned({
    record,
    owner,
  }: Pick<RowOf<typeof questions>, "record" | "owner">): Promise<ServerQuestion> {
    if (record.state !== "open" || (await this.#owners.isAlive(owner))) return record;
    const note = "The process that asked this question has ended.";
    return (await this.change(record.id, "open", { state: "cancelled", note })) ?? record;
  }
}

/** Returns the secret key of a purpose. It is created on first use and is the same for all processes of the store. */
export type KeyStore = (purpose: string) => Promise<Uint8Array>;

const KEY_BYTES = 32;

const secretKeys = table("secret_keys", { purpose: text("NOT NULL PRIMARY KEY"), secret: text() });

/** Like the whole store, readable by this user only. */
export const keysModule: StoreModule<KeyStore> = {
  migrations: { name: "secret_keys", versions: [[secretKeys.create]] },
  open:
    ({ database }) =>
    async (purpose) => {
      const created = { purpose, secret: randomBytes(KEY_BYTES).toString("base64") };
      // If several processes create one at once, the first is kept.
      await secretKeys.insert(database, created, "ON CONFLICT (purpose) DO NOTHING");
      const [row] = await secretKeys.select(database, ["secret"], "WHERE purpose = ?", [purpose]);
      return Buffer.from((row ?? created).secret, "base64");
    },
};

import type { MaybePromise } from "../../core/stage.ts";
import { addUse, MAX_TOOLS, type ToolUse, type ToolUseChange, type ToolUseStore } from "../../core/search/tool-use.ts";
import { secretNames } from "../../core/secrets/mask-secrets.ts";
import type { SqlDatabase } from "../database.ts";
import { integer, json, type StoreModule, table, text } from "../table.ts";

const toolUse = table(
  "tool_use",
  {
    workspace: text(),
    userName: json<string>(),
    tool: json<string>(),
    questions: json<readonly string[]>(),
    uses: json<number>(),
    lastUsedAt: integer(),
  },
  "PRIMARY KEY (workspace, user_name, tool)",
);

const RECENT = "CREATE INDEX tool_use_recent ON tool_use (workspace, last_used_at)";

/** The use of tools by workspace. */
export const toolUseModule: StoreModule<(workspace: string) => Promise<ToolUseStore>> = {
  migrations: { name: "tool_use", versions: [[toolUse.create], [RECENT]] },
  open({ database, clock, secretNames: names = [] }) {
    return async (workspace) => {
      const clause = "WHERE workspace = ? ORDER BY last_used_at DESC LIMIT ?";
      const rows = await toolUse.select(database, toolUse.keys, clause, [workspace, MAX_KNOWN]);
      const readAt = clock.now();
      const isFresh = (): boolean => rows.length < MAX_KNOWN && clock.now() - readAt < FRESH_MS;
      const known = (user: string): ToolUse[] | undefined =>
        isFresh() ? rows.filter(({ userName }) => userName === user).reverse() : undefined;
      return new SqlToolUse(database, workspace, { known, names: secretNames(names) });
    };
  },
};

/** Rows that are read when a workspace is opened: the first search of a small store need not wait for them. */
const MAX_KNOWN = 500;
const FRESH_MS = 10_000;

const OF_USER = "WHERE workspace = ? AND user_name = ?";

interface SqlToolUseOptions {
  /** What was read when the workspace was opened. */
  known?: ((user: string) => ToolUse[] | undefined) | undefined;
  /** More names of secrets. */
  names?: ReturnType<typeof secretNames>;
}

/** What calls have taught about tools, in a database that several processes share. */
export class SqlToolUse implements ToolUseStore {
  readonly isLocal: boolean;
  readonly #db: SqlDatabase;
  readonly #workspace: string;
  readonly #names: SqlToolUseOptions["names"];
  #known: SqlToolUseOptions["known"];

  constructor(db: SqlDatabase, workspace: string, { known, names }: SqlToolUseOptions = {}) {
    this.#db = db;
    this.isLocal = !db.isShared;
    this.#workspace = workspace;
    this.#known = known;
    this.#names = names;
  }

  load(user: string): MaybePromise<ToolUse[]> {
    // Once written, the rows of the opening are old.
    return this.#known?.(user) ?? this.#read(user);
  }

  async #read(user: string): Promise<ToolUse[]> {
    const keys = ["tool", "questions", "uses", "lastUsedAt"] as const;
    const clause = `${OF_USER} ORDER BY last_used_at DESC LIMIT ?`;
    const rows = await toolUse.select(this.#db, keys, clause, [...this.#keyOf(user), MAX_TOOLS]);
    return rows.toReversed();
  }

  async add(changes: readonly ToolUseChange[]): Promise<void> {
    this.#known = undefined;
    await this.#db.transaction(async (tx) => {
      // Two processes that add to one row would lose the additions of one of them.
      await tx.lock("tool_use");
      for (const { user, ...added } of changes) {
        const questions = added.questions.map((question) => this.#names?.hideIn(question) ?? question);
        const change = { ...added, questions };
        const key = [...this.#keyOf(user), toolUse.toSql("tool", change.tool)];
        const [known] = await toolUse.select(
          tx,
          ["tool", "questions", "uses", "lastUsedAt"],
          `${OF_USER} AND tool = ?`,
          key,
        );
        const row = { workspace: this.#workspace, userName: user, ...addUse(known, change) };
        await toolUse.upsert(tx, row, ["workspace", "userName", "tool"]);
      }
      for (const user of new Set(changes.map((change) => change.user))) {
        const newest = `SELECT tool FROM tool_use ${OF_USER} ORDER BY last_used_at DESC, tool LIMIT ?`;
        const key = this.#keyOf(user);
        await tx.run(`DELETE FROM tool_use ${OF_USER} AND tool NOT IN (${newest})`, [...key, ...key, MAX_TOOLS]);
      }
    });
  }

  async forget(user: string, tool?: string): Promise<number> {
    this.#known = undefined;
    const key = this.#keyOf(user);
    if (tool === undefined) return (await this.#db.run(`DELETE FROM tool_use ${OF_USER}`, key)).changes;
    const clause = `${OF_USER} AND tool = ?`;
    return (await this.#db.run(`DELETE FROM tool_use ${clause}`, [...key, toolUse.toSql("tool", tool)])).changes;
  }

  #keyOf(user: string): [workspace: string, user: string] {
    return [this.#workspace, JSON.stringify(user)];
  }
}

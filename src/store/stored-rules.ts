import { createHash } from "node:crypto";
import type { RuleList, RuleSource } from "../gate/permit/rules/rule.ts";
import type { SqlDatabase } from "./database.ts";
import { integer, json, type StoreModule, table, text } from "./table.ts";

/** The origin of rules that are kept in the store. */
export const STORED_RULES = "store";

interface StoredRule {
  rule: string;
  list: RuleList;
}

/**
 * Rules that people saved, for all processes of a store on a database server. A store in a file has none: its rules are in
 * `config.yml` of the state folder, which people may edit.
 */
export interface StoredRules {
  /** In the order in which they were saved. `folder`: the workspace of this process. */
  source(folder: string): Promise<RuleSource>;
  /** A rule that is there already stays. */
  add(rule: StoredRule & { by?: string }): Promise<void>;
  /** False if it is not there. */
  remove(rule: StoredRule): Promise<boolean>;
}

/** `id` stands for the list and the rule: an index of PostgreSQL takes no long texts. */
const rules = table("saved_rules", {
  id: text("NOT NULL PRIMARY KEY"),
  list: text<RuleList>(),
  rule: json<string>(),
  savedAt: integer(),
  savedBy: json<string>(),
});

function idOf({ list, rule }: StoredRule): string {
  return createHash("sha256").update(`${list} ${rule.trim()}`).digest("hex");
}

export const storedRulesModule: StoreModule<StoredRules> = {
  migrations: { name: "saved_rules", versions: [[rules.create]] },
  open: ({ database, clock }) => ({
    source: (folder) => readSource(database, folder),
    async add({ rule, list, by = "" }) {
      const row = { id: idOf({ list, rule }), list, rule: rule.trim(), savedAt: clock.now(), savedBy: by };
      await database.transaction((tx) => rules.insert(tx, row, "ON CONFLICT (id) DO NOTHING"), { synced: true });
    },
    remove: async (rule) => (await database.run("DELETE FROM saved_rules WHERE id = ?", [idOf(rule)])).changes > 0,
  }),
};

async function readSource(database: SqlDatabase, folder: string): Promise<RuleSource> {
  const saved = await rules.select(database, ["list", "rule"], "ORDER BY saved_at, id");
  const lists = (["allow", "ask", "deny"] as const).map((list) => [
    list,
    saved.filter((each) => each.list === list).map(({ rule }) => rule),
  ]);
  return { origin: STORED_RULES, folder, ...Object.fromEntries(lists) };
}

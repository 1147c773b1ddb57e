import { createHash } from "node:crypto";
import type { RuleList, RuleSource } from "../gate/permit/rules/rule.ts";
import type { SqlDatabase, SqlTransaction } from "./database.ts";
import { integer, json, type StoreModule, table, text } from "./table.ts";

/** The origin of rules that are kept in the store. */
export const STORED_RULES = "store";

interface StoredRule {
  rule: string;
  list: RuleList;
}

/** Rules that people saved, in a store on a server; otherwise they are in `config.yml` of the state folder. */
export interface StoredRules {
  /** In the order in which they were saved. `folder`: the workspace of this process. */
  source(folder: string): Promise<RuleSource>;
  /** A rule that is there already stays. */
  add(rule: StoredRule & { by?: string }): Promise<void>;
  /** False if it is not there. */
  remove(rule: StoredRule): Promise<boolean>;
  /**
   * Makes these the saved rules and keeps `promotion` (undefined removes it), all or nothing. False if they are not `from` any
   * more, in any order.
   */
  replace(
    rules: readonly StoredRule[],
    options: { from: readonly StoredRule[]; by?: string; promotion: object | undefined },
  ): Promise<boolean>;
  list(): Promise<StoredRule[]>;
  /** What else people have set for the policy, for all processes. */
  readonly settings: PolicySettings;
}

/** Each is JSON. */
interface PolicySettings {
  get<Value>(name: string): Promise<Value | undefined>;
  /** Undefined removes it. */
  set(name: string, value: object | undefined): Promise<void>;
}

/** `id` stands for the list and the rule: an index of PostgreSQL takes no long texts. */
const rules = table("saved_rules", {
  id: text("NOT NULL PRIMARY KEY"),
  list: text<RuleList>(),
  rule: json<string>(),
  savedAt: integer(),
  savedBy: json<string>(),
});

const settings = table("policy_settings", { name: text("NOT NULL PRIMARY KEY"), value: json<object>() });

function idOf({ list, rule }: StoredRule): string {
  return createHash("sha256").update(`${list} ${rule.trim()}`).digest("hex");
}

export const storedRulesModule: StoreModule<StoredRules> = {
  migrations: { name: "saved_rules", versions: [[rules.create], [settings.create]] },
  open: ({ database, clock }) => ({
    source: (folder) => readSource(database, folder),
    async add({ rule, list, by = "" }) {
      const row = { id: idOf({ list, rule }), list, rule: rule.trim(), savedAt: clock.now(), savedBy: by };
      await database.transaction((tx) => rules.insert(tx, row, "ON CONFLICT (id) DO NOTHING"), { synced: true });
    },
    async replace(wanted, { from, by = "", promotion }) {
      return database.transaction(
        async (tx) => {
          await tx.lock("saved_rules");
          const known = new Set((await rules.select(tx, ["id"])).map(({ id }) => id));
          const expected = new Set(from.map(idOf));
          if (known.size !== expected.size || ![...expected].every((id) => known.has(id))) return false;
          const kept = new Set(wanted.map(idOf));
          for (const id of known) if (!kept.has(id)) await tx.run("DELETE FROM saved_rules WHERE id = ?", [id]);
          for (const [at, { list, rule }] of wanted.entries()) {
            const row = { id: idOf({ list, rule }), list, rule: rule.trim(), savedAt: clock.now() + at, savedBy: by };
            await rules.insert(tx, row, "ON CONFLICT (id) DO NOTHING");
          }
          await setSetting(tx, "promotion", promotion);
          return true;
        },
        { synced: true },
      );
    },
    list: () => rules.select(database, ["list", "rule"], "ORDER BY saved_at, id"),
    settings: {
      async get<Value>(name: string) {
        const [row] = await settings.select(database, ["value"], "WHERE name = ?", [name]);
        return row?.value as Value | undefined;
      },
      async set(name, value) {
        await database.transaction((tx) => setSetting(tx, name, value), { synced: true });
      },
    },
    remove: async (rule) => (await database.run("DELETE FROM saved_rules WHERE id = ?", [idOf(rule)])).changes > 0,
  }),
};

async function setSetting(tx: SqlTransaction, name: string, value: object | undefined): Promise<void> {
  await tx.run("DELETE FROM policy_settings WHERE name = ?", [name]);
  if (value) await settings.insert(tx, { name, value });
}

async function readSource(database: SqlDatabase, folder: string): Promise<RuleSource> {
  const saved: StoredRule[] = await rules.select(database, ["list", "rule"], "ORDER BY saved_at, id");
  const lists = (["allow", "ask", "deny"] as const).map((list) => [
    list,
    saved.filter((each) => each.list === list).map(({ rule }) => rule),
  ]);
  return { origin: STORED_RULES, folder, ...Object.fromEntries(lists) };
}

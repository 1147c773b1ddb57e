import { randomBytes } from "node:crypto";
import { changeLocalConfig, type LocalChange, localRulesFile, restoreLocalConfig } from "../config/saved-rules.ts";
import type { UserOptions } from "../config/user-paths.ts";
import type { CallMode } from "../core/call.ts";
import type { ProvenanceMode } from "../core/call-summary.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { errorMessage } from "../core/error.ts";
import type { ToolPermission } from "../core/tool.ts";
import type { PolicyChange, Shadow } from "../gate/permit/history/shadow.ts";
import type { Rule, RuleList } from "../gate/permit/rules/rule.ts";
import type { RuleSet } from "../gate/permit/rules/rule-set.ts";
import { type Haft, runShadow } from "../runtime.ts";
import type { Store } from "../store/store.ts";
import { STORED_RULES } from "../store/stored-rules.ts";

interface ListedRule {
  list: RuleList;
  rule: string;
}

/** What a promotion changes, in the place of saved rules. */
interface PromotionPlan {
  add: ListedRule[];
  remove: ListedRule[];
  defaultMode?: CallMode | undefined;
  defaultPermission?: ToolPermission | undefined;
  provenance?: ProvenanceMode | undefined;
}

/** A policy that was made active as one change, with what takes it back. Plain JSON. */
interface Promotion {
  id: string;
  name: string;
  at: number;
  by?: string | undefined;
  plan: PromotionPlan;
  /** What the file was before, or the saved rules before and after. */
  file?: LocalChange | undefined;
  rows?: { before: ListedRule[]; after: ListedRule[] } | undefined;
}

interface PolicyKeeperOptions {
  haft: Haft;
  store: Pick<Store, "rules" | "database">;
  folder: string;
  user: UserOptions;
  clock: Clock;
  warn(warning: string): void;
  /** A process that ends after one command looks once. */
  isShortLived?: boolean | undefined;
}

/** Other processes see a shadow that was started or stopped after this time. */
const LOOK_MS = 1000;

/** Keeps the shadow policy and the last promotion where all processes of the workspace find them. */
export class PolicyKeeper {
  /** The origin of the rules that can be changed here. */
  readonly origin: string;
  readonly #options: PolicyKeeperOptions;
  #timer: Timer | undefined;
  #isClosed = false;
  #hasWarned = false;

  constructor(options: PolicyKeeperOptions) {
    const { store, folder, user } = options;
    this.#options = options;
    this.origin = store.database.isShared ? STORED_RULES : localRulesFile(folder, user);
  }

  /** Starts the shadow that is kept, and follows it. A shadow that cannot be read is none: it decides nothing. */
  async open(): Promise<void> {
    try {
      await this.shadow();
    } catch (error) {
      if (!this.#hasWarned) this.#options.warn(`The shadow policy cannot be read: ${errorMessage(error)}`);
      this.#hasWarned = true;
    }
    if (this.#isClosed || this.#options.isShortLived) return;
    this.#timer = this.#options.clock.after(LOOK_MS, () => void this.open());
    this.#timer.setRef(false);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** The one that is kept; from now on it runs in this process too. */
  async shadow(): Promise<Shadow | undefined> {
    const { haft, store } = this.#options;
    const shadow = await store.rules.settings.get<Shadow>("shadow");
    await runShadow(haft, shadow);
    return shadow;
  }

  async start(name: string, change: PolicyChange, by?: string): Promise<Shadow> {
    const { clock, store } = this.#options;
    const shadow: Shadow = { id: newId(), name, change, startedAt: clock.now(), startedBy: by };
    await store.rules.settings.set("shadow", shadow);
    await this.shadow();
    return shadow;
  }

  async stop(): Promise<void> {
    await this.#options.store.rules.settings.set("shadow", undefined);
    await this.shadow();
  }

  promotion(): Promise<Promotion | undefined> {
    return this.#options.store.rules.settings.get<Promotion>("promotion");
  }

  /**
   * Everything of the plan or nothing. Undefined if the rules have changed meanwhile. `begin` is called before anything is
   * written, and only if it can be.
   */
  async promote(
    name: string,
    plan: PromotionPlan,
    { by, begin }: { by?: string; begin(): Promise<void> },
  ): Promise<Promotion | undefined> {
    const { clock, folder, store, user, haft } = this.#options;
    const made: Promotion = { id: newId(), name, at: clock.now(), by, plan };
    const { add, remove } = plan;
    if (this.origin !== STORED_RULES) {
      const set: [string[], unknown][] = [
        [["permissions", "defaultMode"], plan.defaultMode],
        [["permissions", "defaultPermission"], plan.defaultPermission],
        [["provenance", "mode"], plan.provenance],
      ];
      const wanted = set.filter(([, value]) => value !== undefined);
      const keep = async (file: LocalChange): Promise<void> => {
        await begin();
        await store.rules.settings.set("promotion", { ...made, file });
      };
      await changeLocalConfig(folder, { add, remove, set: wanted, keep }, user);
      return made;
    }
    const before = await store.rules.list();
    const isRemoved = (each: ListedRule): boolean => remove.some((one) => isSame(one, each));
    const after = [...before.filter((each) => !isRemoved(each)), ...add];
    await begin();
    const promotion: Promotion = { ...made, rows: { before, after } };
    if (!(await store.rules.replace(after, { from: before, by, promotion }))) return undefined;
    haft.policy.rules.replace(await store.rules.source(folder));
    return made;
  }

  /** What must be saved and removed so that the policy becomes the changed one. `blocked`: rules of files that people edit. */
  plan(change: PolicyChange, changed: RuleSet): { plan: PromotionPlan; blocked: Rule[] } {
    const { rules, provenance } = this.#options.haft.policy;
    const [now, then] = [rules.rules(), changed.rules()];
    const isIn = (all: readonly Rule[], rule: Rule): boolean => all.some((each) => isSame(listed(each), listed(rule)));
    const add = then.filter((rule) => !isIn(now, rule)).map(listed);
    const gone = now.filter((rule) => !isIn(then, rule));
    const differs = <Value>(was: Value, is: Value): Value | undefined => (was === is ? undefined : is);
    return {
      plan: {
        add: add.filter((rule, at) => add.findIndex((each) => isSame(each, rule)) === at),
        remove: gone.filter(({ origin }) => origin === this.origin).map(listed),
        defaultMode: differs(rules.defaultMode, changed.defaultMode),
        defaultPermission: differs(rules.defaultPermission, changed.defaultPermission),
        provenance: differs(provenance.settings.mode, change.provenance ?? provenance.settings.mode),
      },
      blocked: gone.filter(({ origin }) => origin !== this.origin),
    };
  }

  /** The state before this promotion, exactly. False if it is not the last one, or if it was changed since. `begin`: as above. */
  async rollback(id: string, { by, begin }: { by?: string; begin(): Promise<void> }): Promise<boolean> {
    const { folder, store, user, haft } = this.#options;
    const { id: last, file, rows } = (await this.promotion()) ?? {};
    if (last !== id || (!file && !rows)) return false;
    if (file) {
      const end = (): Promise<void> => store.rules.settings.set("promotion", undefined);
      if (!(await restoreLocalConfig(folder, file, { ...user, begin, end }))) return false;
    }
    if (rows) {
      const now = await store.rules.list();
      const isIn = (all: readonly ListedRule[], rule: ListedRule): boolean => all.some((each) => isSame(each, rule));
      if (!now.every((rule) => isIn(rows.after, rule)) || !rows.after.every((rule) => isIn(now, rule))) return false;
      await begin();
      if (!(await store.rules.replace(rows.before, { from: rows.after, by, promotion: undefined }))) return false;
      haft.policy.rules.replace(await store.rules.source(folder));
    }
    return true;
  }
}

function listed({ text, list }: Rule): ListedRule {
  return { list, rule: text };
}

function isSame(one: ListedRule, other: ListedRule): boolean {
  return one.list === other.list && one.rule === other.rule;
}

function newId(): string {
  return randomBytes(6).toString("hex");
}

const keepers = new WeakMap<object, PolicyKeeper>();

/** Remembers the keeper of a runtime. */
export function bindKeeper(haft: object, keeper: PolicyKeeper): void {
  keepers.set(haft, keeper);
}

export function keeperOf(haft: object): PolicyKeeper | undefined {
  return keepers.get(haft);
}

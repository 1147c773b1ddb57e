import type { Handlers } from "../../contracts/contract.ts";
import type { store } from "../../contracts/store.ts";
import { toolError } from "../../core/error.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import type { RetentionLimits } from "../../store/retention.ts";
import type { Store } from "../../store/store.ts";
import { hold, readHold, releaseHold } from "../../store/store-hold.ts";
import { engineNamed } from "../../store/store-engines.ts";

export interface StoreApiOptions {
  store: Pick<Store, "database" | "retention">;
  limits: RetentionLimits;
  stateFolder: string;
  record(fact: AuditFact): Promise<void>;
}

/** Restoring is no request: no process may use the store meanwhile. */
export function createStoreApi({
  store: { database, retention },
  limits,
  stateFolder,
  record,
}: StoreApiOptions): Handlers<typeof store> {
  return {
    async check({ signal }) {
      const { engine, place } = database;
      return { engine, place, problems: await database.check(signal), tables: [] };
    },
    async backup() {
      const engine = engineNamed(database.engine);
      if (typeof engine?.backUp !== "function") {
        const program = engine ? `: ${engine.backUp} for ${engine.title}` : "";
        throw toolError("invalid_input", `The store is on a database server (${database.engine})`, {
          next: `Use the backup program of that server${program}.`,
        });
      }
      const backup = await engine.backUp(stateFolder);
      await record({ kind: "note", data: { action: "store_backup", ...backup } });
      return backup;
    },
    prune: ({ body: { days = limits.auditDays, isDryRun } }) =>
      retention.prune({ ...limits, auditDays: days }, { isDryRun }),
    async archive() {
      return { files: await retention.archive() };
    },
    async hold({ body: { why } }) {
      await hold(database, Date.now(), why);
      await record({ kind: "note", data: { action: "store_held", why } });
      return readHold(database);
    },
    async release() {
      await record({ kind: "note", data: { action: "store_released", ...(await readHold(database)) } });
      await releaseHold(database);
      return readHold(database);
    },
    vacuum: () => retention.vacuum(),
  };
}

import type { Handlers } from "../../contracts/contract.ts";
import type { store } from "../../contracts/store.ts";
import { toolError } from "../../core/error.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import { checkInChild } from "../../store/store-check.ts";
import { backUpStore, storeFileOf } from "../../store/store-restore.ts";
import type { RetentionLimits } from "../../store/retention.ts";
import type { Store } from "../../store/store.ts";

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
      const { state, reason = state } = await database.health();
      const known = state === "ok" ? [] : [reason];
      if (database.engine !== "sqlite") {
        return { engine: database.engine, place: "the configured database", problems: known, tables: [] };
      }
      const place = storeFileOf(stateFolder);
      const damage = known.length === 0 ? await checkInChild(place, signal) : undefined;
      return { engine: "sqlite", place, problems: damage === undefined ? known : [damage], tables: [] };
    },
    async backup() {
      if (database.engine !== "sqlite") {
        throw toolError("invalid_input", `The store is on a database server (${database.engine})`, {
          next: "Use the backup program of that server: pg_dump for PostgreSQL.",
        });
      }
      const backup = await backUpStore(stateFolder);
      await record({ kind: "note", data: { action: "store_backup", ...backup } });
      return backup;
    },
    prune: ({ body: { days = limits.auditDays, isDryRun } }) =>
      retention.prune({ ...limits, auditDays: days }, { isDryRun }),
    async archive() {
      return { files: await retention.archive() };
    },
    vacuum: () => retention.vacuum(),
  };
}

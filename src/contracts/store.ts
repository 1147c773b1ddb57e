import { z } from "zod";
import { Count, Time } from "./basics.ts";
import { admin, namedObject, objects } from "./contract.ts";

export const StoreReport = namedObject("StoreReport", {
  /** `sqlite`, or the engine of `store.url`, such as `postgres`. */
  engine: z.string(),
  /** The file, or the address without user and password. */
  place: z.string(),
  bytes: Count.optional(),
  /** Empty if the store is sound. */
  problems: z.array(z.string()),
  /** Rows by table, as far as they were counted. */
  tables: objects({ name: z.string(), rows: Count.optional(), problem: z.string().optional() }),
});
export type StoreReport = z.infer<typeof StoreReport>;

export const StoreBackup = namedObject("StoreBackup", { file: z.string(), bytes: Count });
export type StoreBackup = z.infer<typeof StoreBackup>;

export const PruneRequest = namedObject("PruneRequest", {
  days: z.number().int().min(0).optional().describe("Delete audit entries that are older. Default: as configured"),
  isDryRun: z.boolean().optional().describe("Only count what would be deleted"),
});
export type PruneRequest = z.infer<typeof PruneRequest>;

export const PruneReport = namedObject("PruneReport", {
  auditEntries: Count,
  sessions: Count,
  /** Files that the deleted audit entries were written to. */
  archives: z.array(z.string()),
  /** What the store uses, without free space. */
  bytesBefore: Count,
  bytesAfter: Count,
});
export type PruneReport = z.infer<typeof PruneReport>;

/** What starts by itself, and whether it waits for `release`. */
export const StoreHold = namedObject("StoreHold", {
  heldAt: Time.optional(),
  why: z.string().optional(),
  jobs: Count,
  /** Approved, with no caller that waits. */
  calls: Count,
  schedules: Count,
});
export type StoreHold = z.infer<typeof StoreHold>;

export const store = {
  check: admin("GET /api/store/check", { summary: "Whether the store is sound. Reads all of it", output: StoreReport }),
  backup: admin("POST /api/store/backups", {
    summary: "Write a backup of the store into the state folder of the server",
    output: StoreBackup,
  }),
  prune: admin("POST /api/store/prunings", {
    summary: "Delete what is older or more than `store.retention` allows",
    body: PruneRequest,
    output: PruneReport,
  }),
  archive: admin("POST /api/store/archives", {
    summary: "Write all whole segments of the audit log to files in the state folder",
    output: z.strictObject({ files: z.array(z.string()) }),
  }),
  hold: admin("POST /api/store/hold", {
    summary: "Start no job, no schedule and no approved call of an earlier caller until the store is released",
    body: namedObject("HoldRequest", { why: z.string().max(200).optional() }),
    output: StoreHold,
  }),
  release: admin("POST /api/store/release", {
    summary: "Start what waits in a held store, such as a restored backup",
    output: StoreHold,
  }),
  vacuum: admin("POST /api/store/vacuum", {
    summary: "Give the free space of the store back to the disk. Nothing can be written meanwhile",
    output: z.strictObject({ bytesBefore: Count, bytesAfter: Count }),
  }),
};

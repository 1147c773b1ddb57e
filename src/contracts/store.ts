import { z } from "zod";
import { Count } from "./basics.ts";
import { endpoint, named } from "./contract.ts";

export const StoreReport = named(
  "StoreReport",
  z.strictObject({
    /** `sqlite`, or the engine of `store.url`, such as `postgres`. */
    engine: z.string(),
    /** The file, or the address without user and password. */
    place: z.string(),
    bytes: Count.optional(),
    /** Empty if the store is sound. */
    problems: z.array(z.string()),
    /** Rows by table, as far as they were counted. */
    tables: z.array(z.strictObject({ name: z.string(), rows: Count.optional(), problem: z.string().optional() })),
  }),
);
export type StoreReport = z.infer<typeof StoreReport>;

export const StoreBackup = named("StoreBackup", z.strictObject({ file: z.string(), bytes: Count }));
export type StoreBackup = z.infer<typeof StoreBackup>;

export const store = {
  check: endpoint("GET /api/store/check", {
    summary: "Whether the store is sound. Reads all of it",
    scope: "admin",
    output: StoreReport,
  }),
  backup: endpoint("POST /api/store/backups", {
    summary: "Write a backup of the store into the state folder of the server",
    scope: "admin",
    output: StoreBackup,
  }),
};

import { randomBytes } from "node:crypto";
import type { StoreModule } from "./table.ts";

/** A secret key by its purpose: made at the first asking, the same for everybody who shares the store. */
export type KeyStore = (purpose: string) => Promise<Uint8Array>;

const KEY_BYTES = 32;

/** Secret, and readable by this user alone as the whole store is. */
export const keysModule: StoreModule<KeyStore> = {
  migrations: {
    name: "secret_keys",
    versions: [["CREATE TABLE secret_keys (purpose TEXT NOT NULL PRIMARY KEY, secret TEXT NOT NULL)"]],
  },
  open:
    ({ database }) =>
    async (purpose) => {
      // Of several who make one at once the first counts.
      await database.run("INSERT INTO secret_keys (purpose, secret) VALUES (?, ?) ON CONFLICT (purpose) DO NOTHING", [
        purpose,
        randomBytes(KEY_BYTES).toString("base64"),
      ]);
      const [row] = await database.all<{ secret: string }>("SELECT secret FROM secret_keys WHERE purpose = ?", [
        purpose,
      ]);
      return Buffer.from(row!.secret, "base64");
    },
};

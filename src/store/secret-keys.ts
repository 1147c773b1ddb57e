import { randomBytes } from "node:crypto";
import { type StoreModule, table, text } from "./table.ts";

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

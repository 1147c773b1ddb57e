import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { ENGINES, useEngine } from "../../store/engines.fixture.ts";
import { retentionOf } from "../../store/retention.ts";
import { createStoreApi } from "./store.ts";

describe.each(ENGINES)("the store on $name", (engine) => {
  const { openStore } = useEngine(engine);

  test("is checked and compacted, and backed up or not with the reason", async () => {
    const store = await openStore();
    const stateFolder = temporaryFolder();
    const api = createStoreApi({ store, limits: retentionOf({}), stateFolder, record: async () => undefined });
    const context = { signal: new AbortController().signal } as never;
    const { engine: name, place } = store.database;
    expect(await api.check(context)).toEqual({ engine: name, place, problems: [], tables: [] });
    expect(place).not.toMatch(/@|pass/);
    const { bytesAfter } = await api.vacuum(context);
    expect(bytesAfter).toBeGreaterThan(0);
    // The file of this store is in another folder.
    const backup = Promise.resolve(api.backup(context));
    await expect(backup).rejects.toThrow(store.database.isShared ? /pg_dump for PostgreSQL/ : /no store at/);
  });
});

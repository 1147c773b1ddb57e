import { onTestFinished } from "vitest";
import type { MaybePromise } from "../core/stage.ts";
import { systemClock } from "../core/clock.ts";
import { GroupWriter } from "./group-writer.ts";
import { migrate } from "./migrations.ts";
import { OWNER_MIGRATIONS, Owners } from "./process-owners.ts";
import { IN_MEMORY, openSqlite } from "./sqlite/sqlite.ts";
import type { StoreContext, StoreModule } from "./table.ts";

/** One part of the store, in a database in memory that ends with the test. */
export async function openInMemory<Value>(
  part: StoreModule<Value>,
  { clock = systemClock }: Partial<Pick<StoreContext, "clock">> = {},
): Promise<Awaited<Value>> {
  const database = await openSqlite(IN_MEMORY);
  onTestFinished(async () => {
    await database.close();
  });
  await migrate(database, [OWNER_MIGRATIONS, part.migrations], clock.now());
  const owners = await Owners.enter(database, systemClock);
  onTestFinished(() => owners.leave());
  const writer = new GroupWriter({ database, owner: owners.id, now: () => clock.now() });
  const opened: MaybePromise<Value> = part.open({ database, writer, clock, owners, warn: () => undefined });
  return await opened;
}

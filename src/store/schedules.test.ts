import { describe, expect, test } from "vitest";
import { scheduleFor } from "../jobs/schedule-store.suite.ts";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { OWNER_MIGRATIONS } from "./process-owners.ts";
import { schedulesModule, SqlScheduleStore } from "./schedules.ts";

describe.each(ENGINES)("on $name", (engine) => {
  const { sharedDatabase } = useEngine(engine);

  test("running ones of a process that is gone are taken by one of several processes that look", async () => {
    const database = await sharedDatabase([OWNER_MIGRATIONS, schedulesModule.migrations]);
    const store = (id: string) => new SqlScheduleStore(database, { id, isAlive: (owner) => owner !== "gone" });
    const run = { scheduleId: "s", number: 1, trigger: "time", dueAt: 1, state: "running", missed: 0 } as const;
    await store("gone").add(scheduleFor("s"), 5);
    await store("gone").begin(scheduleFor("s", { revision: 2, runCount: 1 }), run, 5);
    const taken = await Promise.all([store("a").takeLost(), store("b").takeLost(), store("c").takeLost()]);
    expect(taken.flat()).toEqual([run]);
    expect(await store("d").takeLost()).toEqual([]);
  });
});

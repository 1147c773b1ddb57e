import { describe, expect, test } from "vitest";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { migrate } from "./migrations.ts";
import { SqlTaintStore, taintModule } from "./taint.ts";

describe.each(ENGINES)("on $name", (engine) => {
  const { createDatabase } = useEngine(engine);

  test("marks are seen by the next process that opens the store", async () => {
    const open = await createDatabase();
    const first = await open();
    await migrate(first, [taintModule.migrations], 1);
    const mark = { label: "sensitive_data", callId: "c\0", toolName: "read", at: 1 } as const;
    await new SqlTaintStore(first).add("s", [mark], 5);
    expect(await new SqlTaintStore(await open()).marks("s")).toEqual([mark]);
  });
});

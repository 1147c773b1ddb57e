import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { anApproval } from "../calls/approval-store.suite.ts";
import { approvalsModule } from "./approvals.ts";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { migrate } from "./migrations.ts";
import { openSqlite } from "./sqlite.ts";

describe.each(ENGINES)("$name", (engine) => {
  const { createLocation, openStore } = useEngine(engine);

  test("approvals are there after a restart", async () => {
    const location = await createLocation();
    const approval = anApproval();
    await (await openStore(location)).approvals.add(approval, { maxOpen: 1000, maxOpenOfSession: 1000 });
    expect(await (await openStore(location)).approvals.get(approval.id)).toEqual(approval);
  });
});

test("states that an earlier version wrote get today's names, and inputs keep theirs", async () => {
  const folder = temporaryFolder("haft-approvals-");
  const database = await openSqlite(join(folder, "old.db"));
  const { name, versions } = approvalsModule.migrations;
  await migrate(database, [{ name, versions: versions.slice(0, 1) }], 0);
  const old = { open: anApproval(), declined: anApproval() };
  for (const [state, approval] of Object.entries(old)) {
    const record = JSON.stringify({ ...approval, state, input: { state } });
    await database.run(
      "INSERT INTO approvals (id, call_key, state, session, asked_at, record) VALUES (?, ?, ?, '\"\"', 1, ?)",
      [approval.id, approval.callKey, state, record],
    );
  }
  await migrate(database, [{ name, versions }], 0);
  const store = await approvalsModule.open({ database } as never);
  expect(await store.list("pending")).toMatchObject([{ id: old.open.id, state: "pending", input: { state: "open" } }]);
  expect(await store.get(old.declined.id)).toMatchObject({ state: "denied", input: { state: "declined" } });
  expect(await store.change(old.open.id, "pending", { state: "approved" })).toMatchObject({ state: "approved" });
  expect(await store.current(old.open.callKey)).toMatchObject({ state: "approved" });
  await database.close();
});

import { afterAll, describe, expect, test } from "vitest";
import { type StoreFactory, postgresStoreFactory, sqliteStoreFactory } from "../../test/approvals/open-stores.ts";
import { anApproval, describeApprovalStore } from "../calls/approval-store.suite.ts";

describe.each([
  ["SQLite", sqliteStoreFactory],
  ["PostgreSQL", postgresStoreFactory],
] as const)("%s", (name, make) => {
  let shelf: Promise<StoreFactory> | undefined;
  const open = async () => (await (await (shelf ??= make())).open()).approvals;
  afterAll(async () => (await shelf)?.remove());

  describeApprovalStore(name, open);

  test("approvals are there after a restart", async () => {
    const approval = anApproval();
    await (await open()).add(approval, { maxOpen: 1000, maxOpenOfSession: 1000 });
    expect(await (await open()).get(approval.id)).toEqual(approval);
  });
});

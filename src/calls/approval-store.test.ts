import { expect, test } from "vitest";
import { MemoryApprovalStore } from "./approval.ts";
import { anApproval, describeApprovalStore } from "./approval-store.suite.ts";

const shared = new MemoryApprovalStore();
describeApprovalStore("memory", () => shared);

test("memory drops answered questions beyond its capacity, open ones never", () => {
  const store = new MemoryApprovalStore(2);
  const limits = { maxOpen: 10, maxOpenOfSession: 10 };
  const ids = Array.from({ length: 4 }, (_, i) => {
    const approval = anApproval({ callId: `${i}` });
    store.add(approval, limits);
    if (i === 0) store.change(approval.id, "pending", { state: "denied" });
    return approval.id;
  });
  expect(store.list().map(({ id }) => id)).toEqual(ids.slice(1));
});

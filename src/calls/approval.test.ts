import { expect, test } from "vitest";
import { aQuestion } from "./approval.fixture.ts";
import { toApproval } from "./approval.ts";
import { take } from "./stored-call.ts";

test("an approval that became a job has times that can be shown, also while a worker has the job", () => {
  const job = { id: "j", seq: 1, priority: 0, runAt: 5, attempt: 0, attempts: 1, round: 1 };
  const queued = aQuestion({ state: "approved", answeredAt: 5_000, deadline: undefined, job });
  const taken = { ...queued, ...take("me", "worker")(queued, 6_000) };
  for (const row of [queued, taken]) {
    expect(toApproval(row)).toMatchObject({ expiresAt: 5_000, waitsUntil: undefined });
  }
  expect(taken.holder).toBe("me");
});

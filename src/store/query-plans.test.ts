// What a server asks its store again and again must not read everything that ever ended: SQLite chooses indexes by their
// conditions, without knowing how many rows they have.
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openStore } from "./store.ts";

const CALLER = { user: "ada", session: "s" };

test("no query of calls and jobs reads all that ended", async () => {
  const store = await openStore({ stateFolder: temporaryFolder() });
  onTestFinished(() => store.close());
  const all = vi.spyOn(store.database, "all");
  const { calls } = store;
  const { jobs } = calls;
  const before = { createdAt: 1, id: "a" };
  await calls.takeDue({ tools: ["a", "b"], at: 1, max: 10 }, () => undefined);
  for (const isOpen of [true, false, undefined]) {
    await calls.countQuestions({ isOpen });
    for (const of of [undefined, CALLER])
      for (const earlier of [undefined, before]) await calls.questions({ isOpen, of, before: earlier, max: 10 });
  }
  await calls.unfinished();
  await jobs.takers();
  await jobs.takenBy("p");
  await jobs.get("j");
  await jobs.list({}, 1);
  await jobs.list({ before: "j" }, 1);
  await jobs.list({ states: ["queued"], toolName: "a", session: "s" }, 1);

  const asked = all.mock.calls.filter(([sql]) => /FROM calls/i.test(sql));
  expect(asked.length).toBeGreaterThan(15);
  all.mockRestore();
  const plans = [];
  for (const [sql, params] of asked) {
    const steps = await store.database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params);
    plans.push(`${sql}\n${steps.map(({ detail }) => detail).join("; ")}`);
  }
  expect(plans.filter((plan) => /SCAN calls(?! USING)|job_id>/.test(plan))).toEqual([]);
  // Open questions are few, all others are not.
  expect(plans.filter((plan) => /state = 'waiting'[^]*SCAN calls USING INDEX calls_questions/.test(plan))).toEqual([]);
});

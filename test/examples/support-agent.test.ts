import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openExample } from "./open-example.ts";

const QUESTION = "Pay 349 EUR back to ben for order 1002 (coffee machine)";
const refundsIn = (folder: string): unknown[] =>
  readFileSync(join(folder, "refunds.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

test("a refund over the limit is made once, after an approval at the terminal", async () => {
  const example = await openExample("support-agent");
  const run = example.start();
  await run.printed(QUESTION);
  expect(refundsIn(example.folder), "only the small refund was made without approval").toEqual([
    { order: "1001", amount: 18 },
  ]);
  run.type("y");
  const { code, stdout, stderr } = await run.end();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("agent: I am sorry for the trouble. We have sent your money back.\n\nRefunds:");
  expect(refundsIn(example.folder)).toEqual([
    { order: "1001", amount: 18 },
    { order: "1002", amount: 349 },
  ]);
});

test("a refund that is denied from another terminal is not made, and the agent gets the reason", async () => {
  const example = await openExample("support-agent");
  const run = example.start();
  await run.printed(QUESTION);
  const listed = await example.haft("approvals", "list", "--json");
  const { items } = JSON.parse(listed.stdout) as { items: [{ id: string }] };
  const denied = await example.haft("approvals", "deny", items[0].id, "--reason", "the parcel arrived today");
  expect(denied.code, denied.stderr).toBe(0);
  const { code, stdout } = await run.end();
  expect(code).toBe(0);
  expect(stdout).toContain("refund: Permission denied: a person denied this call: the parcel arrived today.");
  expect(stdout).toContain("agent: I am sorry, we cannot refund this order now.");
  expect(refundsIn(example.folder)).toEqual([{ order: "1001", amount: 18 }]);
});

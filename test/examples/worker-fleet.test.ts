import process from "node:process";
import { expect, test } from "vitest";
import { openExample } from "./open-example.ts";

// Starts PostgreSQL and five other processes.
test.runIf(process.env["HAFT_FULL"])("every job ends once, also those of a worker that is killed", async () => {
  const example = await openExample("worker-fleet", { besideHaft: ["pg"] });
  const { code, stdout, stderr } = await example.start().end();
  expect(code, stderr).toBe(0);
  const numbers = Array.from({ length: 12 }, (_, at) => at + 1);
  const rows = Array.from(stdout.matchAll(/'Sent invoice (\d+)' +│ '(\w+)' +│ '(worker-\d)' +│ (\d) /g));
  expect(rows.map(([, number]) => Number(number))).toEqual(numbers);
  expect(new Set(rows.map(([, , status]) => status))).toEqual(new Set(["completed"]));
  const [, killed = ""] = /It was running invoice (.*)\./.exec(stdout) ?? [];
  const lost = rows.filter(([, , , , times]) => times !== "0").map(([, number]) => number);
  const ran = new Set(killed.split(" and "));
  expect(new Set(lost), "the other worker took over what the killed one ran").toEqual(ran);
  expect(stdout).toContain("12 invoices were sent, each once.");
});

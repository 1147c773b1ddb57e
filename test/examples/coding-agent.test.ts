import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { openExample } from "./open-example.ts";

const BEFORE = "sum + price, 0";
const AFTER = "sum + price * quantity, 0";

test("an approved edit makes the tests pass, and undo takes it back", async () => {
  const example = await openExample("coding-agent");
  const file = join(example.folder, "work", "cart.mjs");
  const run = example.start();
  await run.printed("exec asks for permission");
  run.type("y");
  await run.printed("edit asks for permission");
  await run.printed("Type y to approve, or a reason to deny:");
  expect(readFileSync(file, "utf8"), "not before the approval").toContain(BEFORE);
  run.type("y");
  await run.printed("Edited cart.mjs: 1 replacement.");
  expect(readFileSync(file, "utf8")).toContain(AFTER);
  run.type("y"); // the second run of the tests
  await run.printed("agent: `total` ignored the quantity. It is fixed, and the test passes.");
  run.type("y"); // undo
  const { code, stdout, stderr } = await run.end();
  expect(code, stderr).toBe(0);
  expect(stdout.split("cart.mjs is now:\n")[1]).toContain(BEFORE);
  expect(readFileSync(file)).toEqual(readFileSync(join(example.folder, "project", "cart.mjs")));
});

test.runIf(process.env["HAFT_FULL"])("a denied edit changes nothing, and the tests still fail", async () => {
  const example = await openExample("coding-agent");
  const run = example.start();
  for (const line of ["y", "change the test instead", "y", "n"]) run.type(line);
  const { code, stdout, stderr } = await run.end();
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("a person denied this call: change the test instead");
  expect(stdout).toContain("agent: The test still fails.");
  expect(stdout.split("cart.mjs is now:\n")[1]).toContain(BEFORE);
});

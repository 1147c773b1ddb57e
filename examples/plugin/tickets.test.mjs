// Tests the plugin without Haft's processes, configuration or store: node tickets.test.mjs
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createTestHaft, testTool } from "haft/testing";
import plugin from "./tickets.mjs";

let folder;
let haft;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tickets-"));
  cpSync(join(import.meta.dirname, "tickets.json"), join(folder, "tickets.json"));
  haft = createTestHaft({ folder });
  await haft.tools.install(plugin);
});
afterEach(() => rmSync(folder, { recursive: true }));

test("every tool keeps the contract of a tool", async () => {
  const [list, close] = haft.tools.list();
  await testTool(list, { inputs: [{ state: "open" }], badInputs: [{ state: "lost" }], runtime: { folder } });
  await testTool(close, { inputs: [{ id: 1 }], badInputs: [{ id: "one" }], runtime: { folder } });
});

test("a ticket is closed only after approval", async () => {
  const { status, pending } = await haft.execute("close_ticket", { id: 2 });
  assert.equal(status, "pending");
  assert.match(readFileSync(join(folder, "tickets.json"), "utf8"), /"id": 2.*"open"/);

  const result = await haft.approvals.approve(pending.id, "ada");
  assert.equal(result.display, "Closed ticket 2: The printer is out of ink");
  const open = await haft.execute("list_tickets");
  assert.deepEqual(
    open.details.map(({ id }) => id),
    [1],
  );
});

test("an unknown ticket is an error that tells the model what to do next", async () => {
  const { pending } = await haft.execute("close_ticket", { id: 9 });
  const { error } = await haft.approvals.approve(pending.id, "ada");
  assert.equal(error.message, "There is no ticket 9");
  assert.equal(error.next, "Call list_tickets.");
});

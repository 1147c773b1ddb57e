// A call that waits for its approval from another process: how long after the end of the tool the caller, which runs it, and the
// approver, which waits for it, have the result.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { percentile, runChild, SMOKE } from "../harness.mjs";
import { startPostgres } from "../start-postgres.mjs";

export const name = "approval";

const CALLS = SMOKE ? 10 : 200;

export async function run({ report }) {
  const stateFolder = mkdtempSync(join(tmpdir(), "haft-bench-approval-"));
  try {
    await measure("SQLite", { stateFolder }, report);
  } finally {
    rmSync(stateFolder, { recursive: true, force: true });
  }
  const server = await startPostgres();
  try {
    await measure("PostgreSQL", { url: server.url }, report);
  } finally {
    await server.stop();
  }
}

async function measure(engine, location, report) {
  const child = (role) => runChild("time-approval.mjs", [role, JSON.stringify(location), CALLS]);
  const [caller, approver] = await Promise.all([child("caller"), child("approver")]);
  for (const [who, { ms }] of Object.entries({ caller, approver })) {
    const row = `${engine}: from the end of the tool to the result of the ${who}`;
    report({ case: `${row}, p50, wall`, value: percentile(ms, 0.5), unit: "ms" });
    report({ case: `${row}, p95, wall`, value: percentile(ms, 0.95), unit: "ms", atMost: 100 });
  }
}

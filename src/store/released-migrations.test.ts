import { createHash, hash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { callKey } from "../calls/calls.ts";
import { openTokenStore } from "./tokens.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { openStore } from "./store.ts";

/** The statements of all versions that were released before tables were declared with `table()`. Never edited. */
const RELEASED = JSON.parse(
  readFileSync(new URL("released-migrations.fixture.json", import.meta.url), "utf8"),
) as Record<string, string[][]>;

const checksum = (statements: readonly string[]) =>
  createHash("sha256").update(JSON.stringify(statements)).digest("hex");

interface Applied {
  owner: string;
  version: number;
  checksum: string;
}

/** What the database itself reports, without white space. */
async function readSchema(file: string) {
  const database = await openSqlite(file);
  const tables = await database.all<{ name: string; sql: string | null }>(
    "SELECT name, sql FROM sqlite_master WHERE name <> 'haft_migrations' ORDER BY name",
  );
  const applied = await database.all<Applied>("SELECT owner, version, checksum FROM haft_migrations ORDER BY owner");
  await database.close();
  return { tables: tables.map(({ name, sql }) => `${name}: ${sql?.replace(/\s+/g, "")}`), applied };
}

/** A store as the released version created it. */
async function createReleased(file: string): Promise<void> {
  const database = await openSqlite(file);
  await database.run(
    "CREATE TABLE haft_migrations (owner TEXT NOT NULL, version BIGINT NOT NULL, checksum TEXT NOT NULL, " +
      "applied_at BIGINT NOT NULL, PRIMARY KEY (owner, version))",
  );
  for (const [owner, versions] of Object.entries(RELEASED)) {
    for (const [at, statements] of versions.entries()) {
      for (const sql of statements) await database.run(sql);
      const row = [owner, at + 1, checksum(statements), 1];
      await database.run("INSERT INTO haft_migrations VALUES (?, ?, ?, ?)", row);
    }
  }
  await database.close();
}

async function openAndClose(folder: string): Promise<string> {
  const store = await openStore({ stateFolder: folder });
  await openTokenStore(store.database, 1);
  await store.close();
  return join(folder, "haft.db");
}

test("a new store has the tables and the checksums that the released version created", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "released.db");
  await createReleased(file);
  const [old, now] = [await readSchema(file), await readSchema(await openAndClose(temporaryFolder()))];
  expect(now.applied).toEqual(expect.arrayContaining(old.applied));
  // What later versions changed.
  const changed = [
    ...[
      "approvals",
      "journal",
      "calls",
      "call_previews",
      "sqlite_autoindex_call_previews",
      "sqlite_autoindex_approvals",
      "sqlite_autoindex_journal",
      "sqlite_autoindex_calls",
    ],
    ...["owners", "store_hold", "sqlite_autoindex_store_hold"],
    ...["jobs:", "jobs_log", "jobs_lines", "jobs_key", "jobs_queued", "jobs_delayed", "jobs_running", "jobs_change"],
    ...["audit_open", "audit_running", "audit_tool", "audit_segments", "sqlite_autoindex_audit_open"],
    ...[
      "audit_index",
      "audit_counts",
      "audit_callers",
      "sqlite_autoindex_audit_callers",
      "audit_checkpoint",
      "audit_kind",
      "audit_words",
      "sqlite_autoindex_audit_counts",
    ],
    ...["todos", "sqlite_autoindex_todos", "saved_rules", "sqlite_autoindex_saved_rules"],
    ...["provenance", "sqlite_autoindex_provenance"],
    ...["sqlite_autoindex_jobs", "programs", "sqlite_autoindex_programs"],
    ...["tool_use:", "tool_use_recent:", "sqlite_autoindex_tool_use"],
    ...["grants:", "grants_open:", "sqlite_autoindex_grants"],
    ...["limit_counters", "sqlite_autoindex_limit_counters"],
    ...["policy_settings", "sqlite_autoindex_policy_settings"],
    ...["seen_files:", "undo_changes:", "undo_state:", "undo_groups:", "sqlite_autoindex_undo_groups"],
  ];
  const unchanged = (line: string) => !changed.some((name) => line.startsWith(name));
  expect(now.tables.filter(unchanged)).toEqual(old.tables.filter(unchanged));
});

test("a store of the released version opens, and later versions are applied to it", async () => {
  const folder = temporaryFolder();
  const file = await openAndClose(folder);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  await createReleased(file);
  const database = await openSqlite(file);
  const caller = { session: "s", depth: 0 };
  const facts = { toolName: "t", toolVersion: "1", reason: "", verdict: { decision: "ask" }, hash: "h", binding: {} };
  const made = { name: "t", options: {}, isDirect: false };
  const times = { askedAt: 5, expiresAt: 9 };
  const record = JSON.stringify({
    id: "a",
    callId: "c",
    callKey: "k",
    state: "open",
    caller,
    ...facts,
    made,
    ...times,
  });
  await database.run("INSERT INTO approvals VALUES ('a', 'k', 'open', '\"s\"', 5, ?)", [record]);
  await database.run(
    "INSERT INTO undo_changes (workspace, seq, at, call_id, root_call, session, tool, kind, path, to_path, old_state, " +
      "next_state, old_hash, next_hash, abandoned) VALUES ('/w', 1, 2, 'c', 'c', '', 'edit', 'write', '/w/a', '', " +
      `'{"kind":"absent"}', '{"kind":"other"}', '', 'h', 1)`,
  );
  const call = { name: "run_code@1.0.0", input: { code: "1" }, options: { id: "p", caller }, verdict: {} };
  const program = { call, state: { output: [], calls: 1, lastStep: 1, approvals: ["a"] }, engine: "e", savedAt: 7 };
  await database.run("INSERT INTO programs VALUES ('\"key\"', NULL, '[\"a\"]', ?, ?, 7)", [
    JSON.stringify(program),
    gzipSync("memory"),
  ]);
  // Sent with an id and without a session, as over HTTP.
  const alone = { ...program, call: { ...call, options: { id: "q", caller: { user: "ada" } } } };
  await database.run("INSERT INTO programs VALUES ('\"other\"', NULL, '[\"b\"]', ?, ?, 7)", [
    JSON.stringify(alone),
    gzipSync("memory"),
  ]);
  await database.close();
  const store = await openStore({ stateFolder: folder });
  const keys = await store.database.all("SELECT key FROM calls WHERE state = 'suspended' ORDER BY call_id");
  expect(keys).toEqual([
    { key: hash("sha256", callKey(caller, "p")) },
    { key: hash("sha256", callKey({ user: "ada" }, "q")) },
  ]);
  const waiting = (await store.programs.list()).find(({ approvals }) => approvals.includes("a"));
  expect(waiting?.approvals).toEqual(["a"]);
  const { id = "" } = waiting ?? {};
  const read = { callId: "p", toolName: "run_code", toolVersion: "1.0.0", input: { code: "1" }, caller };
  expect(await store.programs.get(id)).toMatchObject({ call: read, state: { lastStep: 1 }, savedAt: 7 });
  expect(await store.calls.get(id)).toMatchObject({ callId: "p", toolName: "run_code", state: "suspended", caller });
  expect(await store.calls.questions({ max: 9 })).toMatchObject([
    { id: "a", state: "waiting", caller: { session: "s" } },
  ]);
  const [change] = await store.undo("/w").list();
  expect(change).toEqual({
    id: "1",
    order: 1,
    at: 2,
    callId: "c",
    tool: "edit",
    kind: "write",
    path: "/w/a",
    old: { kind: "absent" },
    next: { kind: "other" },
    abandoned: true,
  });
  await store.close();
});

test.each([undefined, "key"])(
  "a job of the released version whose call had begun does not run again (idempotency key: %s)",
  async (idempotencyKey) => {
    const folder = temporaryFolder();
    const file = await openAndClose(folder);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
    await createReleased(file);
    const database = await openSqlite(file);
    const addJob = async (id: string, state: string): Promise<void> => {
      const call = {
        ...{ callId: id, toolName: "tool", toolVersion: "1", input: {}, caller: { depth: 0 }, options: {} },
        ...{ idempotent: false, idempotencyKey: idempotencyKey && `${idempotencyKey} of ${id}` },
      };
      const fixed = JSON.stringify({ call, createdAt: 1, attempts: 1, round: 1 });
      await database.run(
        "INSERT INTO jobs (id, state, tool, session, priority, run_at, owner, attempt, lost, change, changed_by, fixed) " +
          `VALUES (?, ?, '"tool"', 'null', 0, 1, 'gone', 1, 0, 1, 'gone', ?)`,
        [id, state, fixed],
      );
      if (state === "queued") return;
      const key = hash("sha256", callKey(call.caller, call.idempotencyKey ?? `job:${id}`));
      await database.run("INSERT INTO journal VALUES (?, 'f', 'gone', 2, NULL, NULL)", [key]);
    };
    await addJob("job_begun", "running");
    await addJob("job_waits", "queued");
    await database.close();
    const store = await openStore({ stateFolder: folder });
    expect(await store.jobs.get("job_begun")).toMatchObject({
      state: "unknown",
      result: { error: { code: "unknown_outcome" } },
    });
    expect(await store.jobs.get("job_waits")).toMatchObject({ state: "queued" });
    await store.close();
  },
);

import { randomUUID } from "node:crypto";
import { describe } from "vitest";
import { describeCallStore } from "../calls/call-store.suite.ts";
import { describeGrants } from "../calls/grants.suite.ts";
import { describeLimits } from "../calls/limits.suite.ts";
import { programStoreSuite } from "../code/program-store.suite.ts";
import { describeAuditLog } from "../gate/audit-log.suite.ts";
import { describeProvenanceStore } from "../gate/permit/provenance/provenance-store.suite.ts";
import { describeTaintStore } from "../gate/permit/taint-store.suite.ts";
import { undoStoreSuite } from "../io/files/undo-store.suite.ts";
import { describeScheduleStore } from "../jobs/schedule-store.suite.ts";
import { pinStoreSuite } from "../mcp/client/pin-store.suite.ts";
import { serverQuestionStoreSuite } from "../mcp/client/server-question-store.suite.ts";
import { describeSessionStore } from "../models/agent/session-store.suite.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { describeToolUseStore } from "../core/search/tool-use-store.suite.ts";
import { describeArtifactStore } from "../tools/artifacts/artifact-store.suite.ts";
import { callsModule } from "./calls.ts";
import { describeSqlDatabase } from "./database.suite.ts";
import { type EngineUnderTest } from "./engines.fixture.ts";
import { OWNER_MIGRATIONS } from "./process-owners.ts";
import { programsModule, SqlProgramStore } from "./programs.ts";
import { schedulesModule, SqlScheduleStore } from "./schedules.ts";
import { sessionsModule, SqlSessions } from "./sessions.ts";
import type { StoreLocation } from "./store.ts";
import { provenanceModule, SqlProvenanceStore } from "./provenance.ts";
import { SqlTaintStore, taintModule } from "./taint.ts";
import { SqlToolUse, toolUseModule } from "./discovery/tool-use.ts";
import { describeTokenStore } from "./tokens.suite.ts";
import { openTokenStore } from "./tokens.ts";
import { SqlUndo, undoModule } from "./undo.ts";

/** All behaviour that a store engine must have: its own, and that of every table on it. Jobs are in jobs.test.ts. */
export const ENGINE_SUITES: Readonly<Record<string, (engine: EngineUnderTest) => void>> = {
  database: (engine) => describeSqlDatabase("the engine", () => engine.createDatabase()),
  calls(engine) {
    let location: Promise<StoreLocation> | undefined;
    const open = async () => engine.openStore(await (location ??= engine.createLocation()));
    describeCallStore("the store", async () => (await open()).calls);
    describeGrants("the store", async () => (await open()).calls);
    describeLimits("the store", async () => (await open()).calls);
  },
  artifacts: (engine) => describeArtifactStore("the store", async () => (await engine.openStore()).artifacts),
  audit: (engine) => describeAuditLog("the store", async () => (await engine.openStore()).audit),
  pins: (engine) => pinStoreSuite("the store", async () => (await engine.openStore()).pins),
  questions: (engine) => serverQuestionStoreSuite("the store", async () => (await engine.openStore()).serverQuestions),
  tokens: (engine) =>
    describeTokenStore("the store", async () => openTokenStore(await (await engine.createDatabase())(), 0)),
  taint: (engine) =>
    describeTaintStore("the store", async () => {
      const database = await engine.sharedDatabase([taintModule.migrations]);
      await database.run("DELETE FROM taint_marks");
      return new SqlTaintStore(database);
    }),
  provenance: (engine) =>
    describeProvenanceStore("the store", async () => {
      const database = await engine.sharedDatabase([provenanceModule.migrations]);
      await database.run("DELETE FROM provenance");
      return new SqlProvenanceStore(database);
    }),
  toolUse: (engine) =>
    describeToolUseStore("the store", async (workspace) => {
      const database = await engine.sharedDatabase([toolUseModule.migrations]);
      await database.run("DELETE FROM tool_use WHERE workspace = ?", [workspace]);
      return new SqlToolUse(database, workspace);
    }),
  undo: (engine) =>
    undoStoreSuite("the store", async ({ maxBytes, clock }) => {
      const database = await engine.sharedDatabase([undoModule.migrations]);
      return new SqlUndo(database, { workspace: randomUUID(), clock, limits: { maxBytes } });
    }),
  schedules: (engine) =>
    describeScheduleStore("the store", async () => {
      const database = await engine.sharedDatabase([OWNER_MIGRATIONS, schedulesModule.migrations]);
      for (const table of ["schedules", "schedules_runs", "schedules_beat"]) await database.run(`DELETE FROM ${table}`);
      return new SqlScheduleStore(database, { id: "me", isAlive: (id) => id === "me" });
    }),
  sessions: (engine) =>
    describeSessionStore(
      "the store",
      async () => {
        const database = await engine.sharedDatabase([sessionsModule.migrations]);
        for (const table of ["sessions", "session_entries", "session_inbox"])
          await database.run(`DELETE FROM ${table}`);
        const alive = new Set(["one", "two"]);
        const open = (id: string) =>
          new SqlSessions({ database, clock: createFakeClock(), owners: { id, isAlive: (other) => alive.has(other) } });
        return { store: open("one"), another: open("two"), die: () => alive.delete("one") };
      },
      { isShared: true },
    ),
  programs: (engine) =>
    describe("programs", () => {
      programStoreSuite(async () => {
        const database = await engine.sharedDatabase([
          OWNER_MIGRATIONS,
          callsModule.migrations,
          programsModule.migrations,
        ]);
        await database.run("DELETE FROM programs");
        return new SqlProgramStore({ database });
      });
    }),
};

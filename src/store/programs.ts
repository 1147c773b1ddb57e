import { hash, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { ProgramStore, StoredProgram } from "../code/code-runner.ts";
import type { StoredCall } from "../calls/stored-call.ts";
import { type CallData, readCallData } from "../core/call.ts";
import { canonicalJson } from "../core/json.ts";
import { pendingResult } from "../core/result.ts";
import { calls, toRow } from "./calls.ts";
import type { MigrationStep } from "./migrations.ts";
import { NOT_HELD } from "./store-hold.ts";
import { bytes, integer, json, optional, type StoreContext, type StoreModule, table, text } from "./table.ts";

type ProgramRecord = Omit<StoredProgram, "id" | "state"> & { state: Omit<StoredProgram["state"], "snapshot"> };

/** Of earlier versions: with a key of its own and an owner, which the row of the call says now. */
const earlierPrograms = table("programs", {
  key: json<string>("PRIMARY KEY"),
  owner: optional(text()),
  approvals: json<readonly string[]>(),
  program: json<ProgramRecord>(),
  snapshot: bytes(),
  savedAt: integer(),
});

const programs = table("programs", {
  id: text("PRIMARY KEY"),
  approvals: json<readonly string[]>(),
  program: json<ProgramRecord>(),
  snapshot: bytes(),
  savedAt: integer(),
});

/** Gives every waiting program of an earlier version a row that is suspended. */
const adoptEarlierPrograms: MigrationStep = {
  name: "adopt programs",
  async run(tx) {
    const found = earlierPrograms.read(
      ["approvals", "program", "snapshot", "savedAt"],
      await tx.all("SELECT approvals, program, snapshot, saved_at FROM programs_earlier"),
    );
    for (const { approvals, program, snapshot, savedAt } of found) {
      const row = rowOf(readCallData(program.call), approvals, savedAt);
      await calls.insert(tx, toRow(row, 1), "ON CONFLICT DO NOTHING");
      await programs.insert(tx, { id: row.id, approvals, program, snapshot, savedAt });
    }
  },
};

/** Applied after those of `calls`. */
export const programsModule: StoreModule<ProgramStore> = {
  migrations: {
    name: "programs",
    versions: [
      [earlierPrograms.create],
      [
        "ALTER TABLE programs RENAME TO programs_earlier",
        programs.create,
        adoptEarlierPrograms,
        "DROP TABLE programs_earlier",
      ],
    ],
  },
  open: (context) => new SqlProgramStore(context),
};

const compress = promisify(gzip);
const expand = promisify(gunzip);

/** Waiting programs, in a database that several processes share. */
export class SqlProgramStore implements ProgramStore {
  readonly #db: StoreContext["database"];

  constructor({ database }: Pick<StoreContext, "database">) {
    this.#db = database;
  }

  async save({ id, state: { snapshot, ...state }, ...rest }: StoredProgram): Promise<void> {
    const row = {
      id,
      approvals: state.approvals,
      program: { ...rest, state },
      // A memory image is mostly zeros: the fastest level is enough.
      snapshot: await compress(snapshot, { level: 1 }),
      savedAt: rest.savedAt,
    };
    await this.#db.transaction((tx) => programs.upsert(tx, row, ["id"]), { synced: true });
  }

  async get(id: string): Promise<StoredProgram | undefined> {
    const [row] = await programs.select(this.#db, ["program", "snapshot"], "WHERE id = ?", [id]);
    if (!row) return undefined;
    const { program, snapshot } = row;
    return {
      ...program,
      call: readCallData(program.call),
      id,
      state: { ...program.state, snapshot: await expand(snapshot) },
    };
  }

  list(): Promise<{ id: string; approvals: readonly string[] }[]> {
    return programs.select(this.#db, ["id", "approvals"], `WHERE ${NOT_HELD}`);
  }

  async remove(id: string): Promise<void> {
    await this.#db.run("DELETE FROM programs WHERE id = ?", [id]);
  }
}

function rowOf(call: CallData, approvals: readonly string[], savedAt: number): StoredCall {
  const { callId, toolName, toolVersion, input, caller } = call;
  const { session, agent, user } = caller;
  // That version took an id alone for a key, also without a session.
  const { idempotencyKey = call.options.idempotencyKey ?? callId } = call;
  const key = idempotencyKey || undefined;
  const result = pendingResult(
    { callId, toolName, startedAt: savedAt },
    { kind: "approval", id: approvals[0] ?? "" },
    "The program waits for a person, and continues by itself after the answer.",
  );
  return {
    id: `apr_${randomUUID().replaceAll("-", "").slice(0, 24)}`,
    callId,
    key: key === undefined ? undefined : hash("sha256", JSON.stringify([session, agent, user, key])),
    fingerprint: hash("sha256", canonicalJson([toolName, toolVersion, input])),
    toolName,
    caller,
    state: "suspended",
    epoch: 1,
    lost: 0,
    repeatable: true,
    result,
    createdAt: savedAt,
    begunAt: savedAt,
  };
}

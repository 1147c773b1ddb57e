import { resolve } from "node:path";
import type { StoreHold, StoreReport } from "../../contracts/store.ts";
import { describeHold } from "../../store/store-hold.ts";
import { stateFolderOf } from "../../io/files/state-folder.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { safeLine } from "../output.ts";

/** No tools, no MCP servers, no jobs. */
const STORE_ONLY = { only: [], connectsMcp: false, runsJobs: false };

/** Works without opening the store: these commands are for stores that cannot be opened. */
async function findStore({ folder, terminal }: Pick<Invocation, "folder" | "terminal">) {
  const { env } = terminal;
  const { loadConfig } = await import("../../config/load-config.ts");
  const url = await loadConfig({ folder, env }).then(
    ({ value }) => value.store.url,
    // A broken configuration must not keep anybody from the store's file.
    () => undefined,
  );
  const { engineOf } = await import("../../store/store-engines.ts");
  return engineOf(url === undefined ? { stateFolder: stateFolderOf(folder, { env }) } : { url });
}

function useProgram(title: string, program: string): UsageError {
  return new UsageError(`The store is in ${title}: use ${program}.`);
}

const check = defineCommand({
  examples: [
    ["haft store check", "reads the whole store; exits with 1 if it is damaged"],
    ["haft store check --json", "for a program"],
  ],
  uses: ["store"],
  async run({ url, connect, output, ...invocation }) {
    let report: StoreReport;
    if (url === undefined) {
      const { engine, place } = await findStore(invocation);
      report = { engine: engine.name, ...(await engine.check(place)) };
    } else report = await (await connect(STORE_ONLY)).store.check();
    output.data(report, ({ place, bytes, tables, problems }) => [
      `${safeLine(place)}${bytes === undefined ? "" : `, ${bytes} bytes`}`,
      ...showColumns(
        tables.map(({ name, rows, problem }) => [
          name,
          rows === undefined ? safeLine(problem ?? "unknown") : `${rows} rows`,
        ]),
        { paint: output.paint },
      ),
      ...(problems.length === 0 ? ["The store is sound."] : problems.map((problem) => `Damaged: ${safeLine(problem)}`)),
    ]);
    if (report.problems.length === 0) return EXIT.done;
    const { engineNamed } = await import("../../store/store-engines.ts");
    if (typeof engineNamed(report.engine)?.restore === "function") {
      output.info("`haft store restore` builds a new store from the readable parts. The damaged file is kept.");
    }
    return EXIT.failed;
  },
});

const backup = defineCommand({
  examples: [
    ["haft store backup", "into `backups` in the state folder; servers can keep running"],
    ["haft store backup /mnt/backup/haft.db", "into this file, which must not exist"],
  ],
  operands: [{ name: "FILE", isOptional: true, completes: "file" }],
  uses: ["store"],
  async run({ operands: [file], url, connect, output, ...invocation }) {
    if (url !== undefined && file !== undefined) {
      throw new UsageError("A server writes its backup into its own state folder.", "Leave FILE out.");
    }
    const made =
      url === undefined ? await makeBackup(invocation, file) : await (await connect(STORE_ONLY)).store.backup();
    output.data(made, ({ file: written, bytes }) => [`${safeLine(written)}, ${bytes} bytes`]);
  },
});

async function makeBackup(invocation: Pick<Invocation, "folder" | "terminal">, file: string | undefined) {
  const { engine, place } = await findStore(invocation);
  if (typeof engine.backUp === "string") throw useProgram(engine.title, engine.backUp);
  return engine.backUp(place, pathOf(invocation, file));
}

/** Relative to the folder in which the command is run, not to `--folder`. */
function pathOf({ terminal }: Pick<Invocation, "terminal">, file: string | undefined): string | undefined {
  return file === undefined ? undefined : resolve(terminal.cwd, file);
}

const restore = defineCommand({
  examples: [
    ["haft store restore", "a new store with everything that is readable; the old file is kept"],
    ["haft store restore backup.db", "from a backup"],
    ["haft store restore --empty", "an empty store"],
  ],
  operands: [{ name: "BACKUP", isOptional: true, completes: "file" }],
  options: { empty: { type: "flag", about: "Begin with an empty store" } },
  notes: ["Stop servers and workers of the folder first. Calls that are not in the new store may run again."],
  async run({ operands: [file], options: { empty }, url, output, ...invocation }) {
    if (url !== undefined) throw new UsageError("A store is restored on its own machine, without --url.");
    if (file !== undefined && empty) throw new UsageError("Give a backup or --empty, not both.");
    const { engine, place } = await findStore(invocation);
    if (typeof engine.restore === "string") throw useProgram(engine.title, engine.restore);
    const result = await engine.restore(place, { backup: pathOf(invocation, file), isEmpty: empty });
    output.data(result, ({ file: restored, kept, tables }) => [
      ...showColumns(
        tables
          .filter(({ rows, isIncomplete }) => rows > 0 || isIncomplete)
          .map(({ name, rows, isIncomplete }) => [name, `${rows} rows`, isIncomplete ? "some could not be read" : ""]),
        { paint: output.paint },
      ),
      `${safeLine(restored)} is ready.`,
      ...(kept === undefined ? [] : [`The old store is ${safeLine(kept)}.`]),
    ]);
  },
});

const prune = defineCommand({
  examples: [
    ["haft store prune", "apply `store.retention` of the configuration; a server does so every hour"],
    ["haft store prune --days 30", "audit entries that are older than 30 days"],
    ["haft store prune --dry-run", "only counts them"],
  ],
  options: {
    days: { type: "number", value: "N", about: "Delete audit entries that are older than N days" },
    "dry-run": { type: "flag", about: "Only count what would be deleted" },
  },
  notes: ["Audit entries are deleted in whole segments of 10,000. The rest can still be verified."],
  uses: ["store"],
  async run({ options: { days, "dry-run": isDryRun }, connect, output }) {
    const report = await (await connect(STORE_ONLY)).store.prune({ days, isDryRun });
    output.data(report, ({ auditEntries, sessions, archives, bytesBefore, bytesAfter }) => [
      `${isDryRun ? "Would delete" : "Deleted"} ${auditEntries} audit entries and ${sessions} sessions.`,
      ...archives.map((file) => `Archived: ${safeLine(file)}`),
      `The store uses ${megabytes(bytesAfter)}${isDryRun ? "" : `, ${megabytes(bytesBefore)} before`}.`,
    ]);
  },
});

const archive = defineCommand({
  examples: [["haft store archive", "writes whole segments of the audit log to files in the state folder"]],
  notes: ["A segment has 10,000 entries. Archived entries stay in the store until they are pruned."],
  uses: ["store"],
  async run({ connect, output }) {
    const report = await (await connect(STORE_ONLY)).store.archive();
    output.data(report, ({ files }) =>
      files.length === 0 ? ["Nothing to archive: there is no complete segment."] : files.map((file) => safeLine(file)),
    );
  },
});

const hold = defineCommand({
  examples: [["haft store hold", "before you start a server on a copy of the data: nothing in it runs by itself"]],
  options: { why: { type: "text", value: "TEXT", about: "Shown where the store is used" } },
  uses: ["store"],
  async run({ options: { why }, connect, output }) {
    output.data(await (await connect(STORE_ONLY)).store.hold({ why }), showHold);
  },
});

const release = defineCommand({
  examples: [["haft store release", "jobs, schedules and approved calls of a restored backup run from now on"]],
  notes: ["First cancel what has run since the backup: `haft jobs cancel`, `haft schedules remove`."],
  uses: ["store"],
  async run({ connect, output }) {
    output.data(await (await connect(STORE_ONLY)).store.release(), showHold);
  },
});

function showHold(held: StoreHold): string[] {
  return [describeHold(held) ?? "The store is not held: what waits in it runs."];
}

const vacuum = defineCommand({
  examples: [["haft store vacuum", "shrink the file after pruning; nothing can be written meanwhile"]],
  uses: ["store"],
  async run({ connect, output }) {
    const report = await (await connect(STORE_ONLY)).store.vacuum();
    output.data(report, ({ bytesBefore, bytesAfter }) => [
      `The store takes ${megabytes(bytesAfter)}, ${megabytes(bytesBefore)} before.`,
    ]);
  },
});

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

export const commands = { check, backup, restore, prune, archive, vacuum, hold, release };

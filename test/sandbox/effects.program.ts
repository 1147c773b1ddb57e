// A process that runs one command after its preview was approved, or asks about it:
// `program run|ask|kill WORKSPACE STATE COMMAND [POINT]`. At `recorded3` the third change is recorded, and the process kills itself.
import { join } from "node:path";
import { openHaft } from "../../src/host.ts";
import { createUndo } from "../../src/io/files/undo.ts";
import { createMemoryUndo, type FileChange } from "../../src/io/files/undo-store.ts";
import { createHaft } from "../../src/runtime.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { SqlUndo } from "../../src/store/undo.ts";
import { openWorkspace } from "../../src/workspace.ts";

const [, , mode, folder = "", stateFolder = "", command = "", point] = process.argv;
const call = { id: "call-1", caller: { session: "s1" } };

class KilledJournal extends SqlUndo {
  #changes = 0;

  override async before(change: FileChange): Promise<string> {
    const id = await super.before(change);
    this.#changes += 1;
    if (point === `recorded${this.#changes}`) process.kill(process.pid, "SIGKILL");
    return id;
  }
}

if (mode === "ask") {
  const { haft, close } = await openHaft(folder, { stateFolder, home: folder, approvalWaitMs: false });
  const result = await haft.execute("exec", { command }, call);
  process.stdout.write(JSON.stringify(result));
  await close();
} else {
  const journal =
    mode === "kill"
      ? new KilledJournal(await openSqlite(join(stateFolder, "haft.db")), { workspace: folder, clock: Date.now })
      : createMemoryUndo();
  const workspace = openWorkspace(folder, { journal, stateFolder });
  const shown: unknown[] = [];
  const approver = async ({ preview }: { preview?: unknown }): Promise<{ approved: true }> => {
    shown.push(preview);
    return { approved: true };
  };
  const haft = createHaft({ workspace, approver });
  const result = await haft.execute("exec", { command }, call);
  const undone = await createUndo({ files: workspace.files, store: journal }).undoCall("call-1");
  process.stdout.write(JSON.stringify({ uid: process.geteuid?.(), shown, result, undone }));
  await haft.shutdown();
}

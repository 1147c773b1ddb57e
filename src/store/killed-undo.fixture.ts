// A process that undoes one call and kills itself at a point: `program WORKSPACE DATABASE POINT`, for example `journalled2`.
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { createUndo } from "../io/files/undo.ts";
import type { FileChange, UndoRun } from "../io/files/undo-store.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { SqlUndo } from "./undo.ts";

const [, , workspace = "", database = "", point] = process.argv;
let seen = 0;
const pass = (name: string): void => {
  if (`${name}${seen}` === point) process.kill(process.pid, "SIGKILL");
};

class KilledUndo extends SqlUndo {
  override async before(change: FileChange): Promise<string> {
    seen += 1;
    pass("before");
    const id = await super.before(change);
    pass("journalled");
    return id;
  }

  override async endUndo(id: string, state: UndoRun["state"]): Promise<void> {
    pass("end");
    await super.endUndo(id, state);
  }
}

const store = new KilledUndo(await openSqlite(database), { workspace, clock: Date.now });
const files = createFiles(createPathPolicy({ workspace }), { journal: store });
await createUndo({ files, store }).undoCall("c1");
process.stdout.write(String(seen));

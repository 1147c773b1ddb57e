// A process that undoes one call and kills itself at a point: `program WORKSPACE DATABASE POINT`, for example `journalled2`.
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { createUndo } from "../io/files/undo.ts";
import type { UndoStore } from "../io/files/undo-store.ts";
import { openSqlite } from "./sqlite.ts";
import { createSqlUndo } from "./undo.ts";

const [, , workspace = "", database = "", point] = process.argv;
const sql = createSqlUndo(await openSqlite(database), { workspace, clock: Date.now });
let seen = 0;
const pass = (name: string): void => {
  if (`${name}${seen}` === point) process.kill(process.pid, "SIGKILL");
};
const store: UndoStore = {
  ...sql,
  before: async (change) => {
    seen += 1;
    pass("before");
    const id = await sql.before(change);
    pass("journalled");
    return id;
  },
  endUndo: (id, state) => {
    pass("end");
    return sql.endUndo(id, state);
  },
};
const files = createFiles(createPathPolicy({ workspace }), { journal: store });
await createUndo({ files, store }).undoCall("c1");
process.stdout.write(String(seen));

// A process that makes one patch, deletes a folder and kills itself at a point: `program WORKSPACE DATABASE POINT`. Points:
// `recorded3` (the third change is recorded and not made), `writing3` (it is being made), `begun1`, `ended2` (of a group). It waits at `paused3`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChangeGroup, FileChange, GroupEnd } from "../io/files/undo-store.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { createHaft } from "../runtime.ts";
import { createApplyPatchTool } from "../tools/files/apply-patch.ts";
import { createDeleteFileTool } from "../tools/files/delete-file.ts";
import { createReadLedger } from "../tools/files/read-before-edit.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { SqlUndo } from "./undo.ts";

const [, , folder = "", database = "", point] = process.argv;
let changes = 0;
let groups = 0;
const kill = (): void => void process.kill(process.pid, "SIGKILL");

class KilledJournal extends SqlUndo {
  override async before(change: FileChange): Promise<string> {
    const id = await super.before(change);
    changes += 1;
    if (point === `recorded${changes}`) kill();
    if (point === `paused${changes}`) {
      process.stdout.write("paused");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    }
    // The temporary file is created by then; renaming it takes longer.
    if (point === `writing${changes}`) setImmediate(kill);
    return id;
  }

  override async beginGroup(group: ChangeGroup): Promise<void> {
    await super.beginGroup(group);
    groups += 1;
    if (point === `begun${groups}`) kill();
  }

  override async endGroup(id: string, end: GroupEnd): Promise<void> {
    await super.endGroup(id, end);
    if (point === `ended${groups}`) kill();
  }
}

const journal = new KilledJournal(await openSqlite(database), { workspace: folder, clock: Date.now });
const files = createFiles(createPathPolicy({ workspace: folder }), { journal });
const tools = [createApplyPatchTool({ files, reads: createReadLedger() }), createDeleteFileTool({ files })];
const haft = createHaft({ tools, rules: { allow: tools.map(({ name }) => name) } });

async function call(tool: string, input: unknown): Promise<void> {
  const result = await haft.execute(tool, input);
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
}

const at = Number(readFileSync(join(folder, "file-1"), "utf8"));
const next = at + 1;
const lines = ["*** Begin Patch"];
for (let n = 1; n <= 5; n += 1) lines.push(`*** Update File: file-${n}`, `-${at}`, `+${next}`);
lines.push(`*** Delete File: old-${at}`, `*** Add File: old-${next}`, `+${next}`);
lines.push(`*** Update File: moved-${at}`, `*** Move to: deep/${next}/moved`, `-${at}`, `+${next}`);
lines.push(`*** Add File: moved-${next}`, `+${next}`, "*** End Patch");
await call("apply_patch", { patch: lines.join("\n") });
await call("delete_file", { path: "deep", recursive: true });
process.stdout.write(`${changes}`);

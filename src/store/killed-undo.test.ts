import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleProgram } from "../../test/setup/bundle-program.ts";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { createUndo } from "../io/files/undo.ts";
import { migrate } from "./migrations.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { SqlUndo, undoModule } from "./undo.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
let base: string;

let program: string;

beforeAll(async () => {
  base = temporaryFolder("haft-killed-undo-");
  program = await bundleProgram("src/store/killed-undo.fixture.ts", join(base, "out"));
}, 60_000);

async function open(workspace: string, file: string) {
  const database = await openSqlite(file);
  await migrate(database, [undoModule.migrations], 0);
  const store = new SqlUndo(database, { workspace, clock: Date.now });
  const files = createFiles(createPathPolicy({ workspace }), { journal: store });
  return { database, store, files, undo: createUndo({ files, store }) };
}

function picture(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .filter((name) => !name.includes(".haft-tmp-"))
    .map((name) => {
      const path = join(folder, name);
      const stat = statSync(path);
      return `${name} ${(stat.mode & 0o7777).toString(8)} ${stat.isDirectory() ? "folder" : readFileSync(path, "utf8")}`;
    });
}

/** A call that writes, makes, moves, replaces and deletes; answers what was there before it. */
async function makeCall(workspace: string, file: string): Promise<string[]> {
  mkdirSync(join(workspace, "d"), { recursive: true });
  for (const name of ["a", "b", "c", "d/e"]) writeFileSync(join(workspace, name), `old ${name}`);
  const before = picture(workspace);
  const { database, files } = await open(workspace, file);
  const call = files.narrow(undefined, { callId: "c1", session: "s" });
  await call.writeFileAtomic("a", Buffer.from("new"));
  await call.writeFileAtomic("a", Buffer.from("newer"));
  await call.writeFileAtomic("made/f", Buffer.from("f"));
  await call.move("b", "c", { overwrite: true });
  await call.deleteDirectory("d", { recursive: true });
  await database.close();
  return before;
}

describe("an undo that is killed", () => {
  it("is finished by the next one, wherever it was killed", async () => {
    const original = join(base, "original");
    const before = await makeCall(join(original, "ws"), join(original, "haft.db"));
    const workspace = join(base, "ws");
    const file = join(base, "haft.db");
    // The journal names real paths: every round plays in the same folder.
    const again = async () => {
      for (const path of [workspace, file, `${file}-wal`, `${file}-shm`])
        rmSync(path, { recursive: true, force: true });
      await makeCall(workspace, file);
    };
    const child = (point: string) =>
      spawnSync(process.execPath, [program, workspace, file, point], { encoding: "utf8" });
    await again();
    const changed = picture(workspace);
    const whole = child("never");
    expect(picture(workspace)).toEqual(before);
    const steps = Number(whole.stdout);
    expect(steps).toBeGreaterThan(6);
    const points = [`end${steps}`];
    for (let step = 1; step <= steps; step += 1) points.push(`before${step}`, `journalled${step}`);
    for (const point of points) {
      await again();
      const killed = child(point);
      expect([point, killed.signal, killed.stderr]).toEqual([point, "SIGKILL", ""]);
      const { database, undo, store } = await open(workspace, file);
      expect(await store.undos()).toMatchObject([{ state: "running" }]);
      expect([point, await undo.recover()]).toMatchObject([point, [{ callIds: ["c1"], state: "done" }]]);
      expect([point, picture(workspace)]).toEqual([point, before]);
      // And it can be had again, as after any undo.
      await undo.undoCall((await store.undos())[0]!.id);
      expect([point, picture(workspace)]).toEqual([point, changed]);
      await database.close();
    }
  }, 120_000);

  it("is said to stand where it stands, when somebody changed the files meanwhile", async () => {
    const workspace = join(base, "ws2");
    const file = join(base, "haft2.db");
    await makeCall(workspace, file);
    spawnSync(process.execPath, [program, workspace, file, "journalled4"]);
    cpSync(join(root, "LICENSE"), join(workspace, "a"));
    for (const name of readdirSync(join(workspace, "d"))) writeFileSync(join(workspace, "d", name), "mine");
    const { database, undo } = await open(workspace, file);
    const [recovered] = await undo.recover();
    expect(recovered).toMatchObject({ state: "stuck", why: expect.stringContaining("d/e") });
    expect(await undo.recover()).toEqual([]);
    await database.close();
  }, 60_000);
});

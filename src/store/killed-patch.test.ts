import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleProgram } from "../../test/setup/bundle-program.ts";
import { childEnd, childOutput, killChild } from "../../test/setup/child-end.ts";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openHaft } from "../host.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { createUndo } from "../io/files/undo.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { openStore } from "./store.ts";
import { SqlUndo } from "./undo.ts";

let base: string;
let program: string;

beforeAll(async () => {
  base = temporaryFolder("haft-killed-patch-");
  program = await bundleProgram("src/store/killed-patch.fixture.ts", join(base, "out"));
}, 60_000);

interface Place {
  workspace: string;
  stateFolder: string;
  database: string;
}

async function prepare(name: string): Promise<Place> {
  const [workspace, stateFolder] = [join(base, name, "ws"), join(base, name, "state")];
  mkdirSync(workspace, { recursive: true });
  for (const file of ["file-1", "file-2", "file-3", "file-4", "file-5", "old-0", "moved-0"]) {
    writeFileSync(join(workspace, file), "0\n");
  }
  await (await openStore({ stateFolder })).close();
  return { workspace, stateFolder, database: join(stateFolder, "haft.db") };
}

/** The numbers of the patches that the files show. One number: all are in the same state. */
function look({ workspace }: Place): { states: Set<string>; temporary: string[] } {
  const names = readdirSync(workspace, { recursive: true, encoding: "utf8" });
  const states = new Set<string>();
  for (const name of names.filter((each) => /^(?:file|old|moved)-\d+$/.test(each))) {
    states.add(readFileSync(join(workspace, name), "utf8").trim());
    if (!name.startsWith("file")) states.add(name.split("-")[1]!);
  }
  // The folder is complete (`deep`, `deep/7`, `deep/7/moved`) or absent.
  if (names.includes("deep")) states.add(names.find((name) => name.endsWith("/moved"))?.split("/")[1] ?? "incomplete");
  return { states, temporary: names.filter((name) => name.includes(".haft-tmp-")) };
}

async function killAt({ workspace, database }: Place, point: string): Promise<void> {
  const child = spawn(process.execPath, [program, workspace, database, point], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect([point, (await childEnd(child)).signal]).toEqual([point, "SIGKILL"]);
}

/** What a host does when it starts. Returns its warnings. */
async function recover({ workspace, database: file }: Place): Promise<string[]> {
  const warnings: string[] = [];
  const database = await openSqlite(file);
  const warn = (warning: string): unknown => warnings.push(warning);
  const store = new SqlUndo(database, { workspace, clock: Date.now, warn });
  const files = createFiles(createPathPolicy({ workspace }), { journal: store });
  await createUndo({ files, store }).recover();
  await database.close();
  return warnings;
}

async function openAndCloseHost({ workspace, stateFolder }: Place): Promise<readonly string[]> {
  const env = { PATH: process.env["PATH"] };
  const { warnings, close } = await openHaft(workspace, { only: [], stateFolder, home: base, env });
  await close();
  return warnings;
}

const ROLLED_BACK = expect.stringMatching(/was killed while (?:apply_patch|delete_file) .*was rolled back/);

/** The patch makes 12 changes, the deletion of the folder 3. */
const CHANGES = 15;
const GROUP_POINTS = ["begun1", "ended1", "begun2", "ended2"];
const ALL_POINTS = [
  ...GROUP_POINTS,
  ...Array.from({ length: CHANGES }, (_, n) => [`recorded${n + 1}`, `writing${n + 1}`]).flat(),
];
const FEW_POINTS = ["begun1", "writing1", "recorded3", "writing5", "writing7", "recorded9", "writing12", "recorded14"];
const POINTS = process.env["HAFT_FULL"] === "1" ? ALL_POINTS : FEW_POINTS;

interface Seen {
  /** How often the files were in the state of two patches. */
  halves: number;
  /** How often there was a temporary file. */
  strays: number;
  warnings: number;
}

async function killAndRecover(place: Place, points: readonly string[]): Promise<Seen> {
  const seen = { halves: 0, strays: 0, warnings: 0 };
  for (const point of points) {
    // Of an earlier patch that was complete.
    rmSync(join(place.workspace, "deep"), { recursive: true, force: true });
    await killAt(place, point);
    const before = look(place);
    const warnings = await recover(place);
    const { states, temporary } = look(place);
    expect({ point, states: [...states], temporary }).toEqual({ point, states: [expect.anything()], temporary: [] });
    if (before.temporary.length > 0) seen.strays += 1;
    if (before.states.size > 1) seen.halves += 1;
    seen.warnings += warnings.length;
  }
  return seen;
}

describe("changes of several files that kill -9 interrupted", () => {
  it("are rolled back at the next start, and no temporary file stays", async () => {
    const places = await Promise.all([prepare("one"), prepare("two")]);
    const lanes = places.map((place, lane) =>
      killAndRecover(
        place,
        POINTS.filter((_, n) => n % 2 === lane),
      ),
    );
    const seen = await Promise.all(lanes);
    const sum = (count: keyof Seen) => seen.reduce((total, lane) => total + lane[count], 0);
    // Otherwise this test shows nothing.
    expect(sum("halves")).toBeGreaterThan(3);
    expect(sum("strays")).toBeGreaterThan(1);
    expect(sum("warnings")).toBeGreaterThanOrEqual(sum("halves"));
  }, 600_000);

  it("are rolled back by a host, which says so and records it", async () => {
    const place = await prepare("host");
    await killAt(place, "recorded4");
    expect(look(place).states.size).toBe(2);
    expect(await openAndCloseHost(place)).toContainEqual(ROLLED_BACK);
    expect(look(place)).toEqual({ states: new Set(["0"]), temporary: [] });
    expect(await openAndCloseHost(place)).not.toContainEqual(ROLLED_BACK);
    const store = await openStore({ stateFolder: place.stateFolder });
    expect(await store.audit.query({ kind: "undo" })).toMatchObject({ entries: [{ data: { state: "taken_back" } }] });
    await store.close();
  }, 60_000);

  it("stay if somebody changed one of the files meanwhile, and the files are named", async () => {
    const place = await prepare("conflict");
    await killAt(place, "recorded4");
    writeFileSync(join(place.workspace, "file-1"), "mine\n");
    expect(await recover(place)).toContainEqual(expect.stringMatching(/could not be rolled back: .*file-1/));
    expect(readFileSync(join(place.workspace, "file-1"), "utf8")).toBe("mine\n");
    expect(await recover(place)).toEqual([]);
  }, 60_000);

  it("are left alone while their process lives", async () => {
    const place = await prepare("alive");
    const child = spawn(process.execPath, [program, place.workspace, place.database, "paused2"], { stdio: "pipe" });
    await childOutput(child);
    expect(await recover(place)).toEqual([]);
    expect(look(place).states.size).toBe(2);
    await killChild(child);
    expect(await recover(place)).toContainEqual(ROLLED_BACK);
    expect(look(place).states.size).toBe(1);
  }, 60_000);
});
